"""Advanced StatefulSets whose claims become larger, beside an API server in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from podling.api.storage_v1 import StorageClass
from podling.machinery.encoding import codec
from podling.testing import running
from podling_kruise.extension import KruiseExtension
from podling_kruise.statefulset.controller import AdvancedStatefulSetController
from tests.support.advanced_sets import StatefulSets, rolling, stateful
from tests.support.clone_sets import LABELS, api_of

GROWING = {"type": "OnPodRollingUpdate"}


def claims(storage: str = "1Gi", name: str = "data", storage_class: str = "large") -> list[dict[str, Any]]:
    """Return one claim template."""
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage}},
        "storageClassName": storage_class,
    }
    return [{"metadata": {"name": name}, "spec": spec}]


def growing_set(**spec: Any) -> dict[str, Any]:
    """Return a StatefulSet whose claims become larger with its pods."""
    containers = [{"name": "main", "image": "web:1"}]
    template = {"metadata": {"labels": LABELS}, "spec": {"nodeName": "nowhere", "containers": containers}}
    made = {"podManagementPolicy": "Parallel", "volumeClaimUpdateStrategy": GROWING, **spec}
    return stateful(template=template, volumeClaimTemplates=claims(), updateStrategy=rolling(), **made)


@asynccontextmanager
async def claims_cluster() -> AsyncIterator[StatefulSets]:
    """Run the controller over a class whose volumes can grow, and one whose cannot."""
    factory = KruiseExtension().controllers()[AdvancedStatefulSetController.name]
    async with api_of(StatefulSets) as found, running(found.plane.client, factory):
        for name, grows in (("large", True), ("fixed", False)):
            plain = {"metadata": {"name": name}, "provisioner": "x", "allowVolumeExpansion": grows}
            await found.client.create(codec.from_plain(plain, StorageClass))
        yield found
