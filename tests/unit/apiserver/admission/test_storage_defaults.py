"""Storage: claims that may grow, and finalizers that protect volumes and claims."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import (
    PersistentVolume,
    PersistentVolumeClaim,
)
from podling.api.storage_v1 import StorageClass
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.manifests import obj

WHY = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
    "support resize"
)


async def grow(cluster: ControlPlane, claim: str, phase: str = "Bound") -> None:
    """Create a claim of 1Gi with the fields of ``claim``, then request 2Gi."""
    for name, more in (("elastic", "allowVolumeExpansion: true"), ("fixed", "")):
        text = f"metadata: {{name: {name}}}\nprovisioner: example.com/x\n{more}"
        await cluster.client.create(obj(StorageClass, text))
    made = obj(PersistentVolumeClaim, claim)
    await cluster.client.create(made)
    bound = {"status": {"phase": phase}}
    await cluster.client.patch(PersistentVolumeClaim, "c", bound, "default", subresource="status")
    more_room = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    await cluster.client.patch(PersistentVolumeClaim, "c", more_room, "default")


def of_class(field: str = "", annotations: str = "") -> str:
    metadata = f"metadata: {{name: c, namespace: default, annotations: {{{annotations}}}}}"
    size = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"
    return f"{metadata}\nspec: {{{size}, storageClassName: '{field}'}}"


async def test_class_that_allows_expansion_lets_a_claim_grow(cluster: ControlPlane) -> None:
    await grow(cluster, of_class("elastic"))


async def test_class_in_the_beta_annotation_lets_a_claim_grow(cluster: ControlPlane) -> None:
    annotations = "volume.beta.kubernetes.io/storage-class: elastic"
    await grow(cluster, of_class(annotations=annotations).replace(", storageClassName: ''", ""))


@pytest.mark.parametrize(
    ("field", "phase", "why"),
    [
        ("fixed", "Bound", WHY),
        ("", "Bound", WHY),
        ("gone", "Bound", WHY),
        ("elastic", "Pending", "spec is immutable after creation except resources.requests"),
    ],
)
async def test_claim_that_cannot_be_resized_is_refused(
    cluster: ControlPlane, field: str, phase: str, why: str
) -> None:
    with pytest.raises(ApiError) as error:
        await grow(cluster, of_class(field), phase)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("thing", "finalizer"),
    [
        (
            obj(
                PersistentVolumeClaim,
                "metadata: {name: c, namespace: default, finalizers: [example.com/own]}\n"
                "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
            ),
            "kubernetes.io/pvc-protection",
        ),
        (
            obj(
                PersistentVolume,
                "metadata: {name: v, finalizers: [example.com/own]}\n"
                "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}}",
            ),
            "kubernetes.io/pv-protection",
        ),
    ],
)
async def test_volumes_and_claims_get_the_protection_finalizer(
    full_cluster: ControlPlane, thing: Any, finalizer: str
) -> None:
    made = await full_cluster.client.create(thing)
    assert made.metadata.finalizers == ("example.com/own", finalizer)
