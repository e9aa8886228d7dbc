"""Writes of objects without a namespace."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap, Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane


def config_map(name: str = "", labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels or {}), data=data)


def status_of(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str, str]:
    return error.value.code, error.value.reason, str(error.value)


async def test_cluster_scoped_objects_have_no_namespace(cluster: ControlPlane) -> None:
    made = await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    assert made.metadata.namespace == ""
    names = [each.metadata.name for each in (await cluster.client.list(Namespace)).items]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system", "team"]
