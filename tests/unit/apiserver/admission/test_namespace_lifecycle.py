"""NamespaceLifecycle: namespaces that must exist, end, or stay."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    Namespace,
)
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod, refusal_of_pod


async def test_a_namespace_must_exist(full_cluster: ControlPlane) -> None:
    assert await refusal_of_pod(full_cluster, "metadata: {namespace: ghost}") == (
        404,
        'namespaces "ghost" not found',
    )


async def test_terminating_namespace_takes_no_new_objects(full_cluster: ControlPlane) -> None:
    await full_cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    await full_cluster.client.delete(Namespace, "team")
    with pytest.raises(ApiError) as caught:
        await create_pod(full_cluster, "metadata: {namespace: team}")
    assert str(caught.value) == (
        'pods "web" is forbidden: unable to create new content in namespace team because it is being '
        "terminated"
    )
    assert caught.value.status.details is not None
    (cause,) = caught.value.status.details.causes
    assert (cause.reason, cause.message, cause.field_) == (
        "NamespaceTerminating",
        "namespace team is being terminated",
        "metadata.namespace",
    )


async def test_system_namespaces_cannot_be_deleted(full_cluster: ControlPlane) -> None:
    with pytest.raises(ApiError, match='namespaces "kube-system" is forbidden: this namespace may not be'):
        await full_cluster.client.delete(Namespace, "kube-system")
