"""Mirror pods: a kubelet creates them for its own static pods alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.local import LocalClient
from podling.machinery.errors import ApiError
from tests.support.manifests import obj


async def mirror(kubelet: LocalClient, owner: dict[str, Any] | None, spec: str = "") -> None:
    """Create a mirror of a static pod; ``owner`` overrides fields of the correct owner reference."""
    node = await kubelet.get(Node, "n1")
    right = {"api_version": "v1", "kind": "Node", "name": "n1", "uid": node.metadata.uid, "controller": True}
    owners = () if owner is None else (OwnerReference(**{**right, **owner}),)
    pod = obj(Pod, f"spec: {{nodeName: n1, containers: [{{name: c, image: i}}]{spec}}}")
    annotations = {"kubernetes.io/config.mirror": "hash"}
    metadata = ObjectMeta(name="m", namespace="default", annotations=annotations, owner_references=owners)
    await kubelet.create(structs.replace(pod, metadata=metadata))


async def test_mirror_of_a_static_pod_is_created(kubelet: LocalClient) -> None:
    await mirror(kubelet, {})


@pytest.mark.parametrize(
    ("owner", "spec", "why"),
    [
        (None, "", 'node "n1" can only create pods with an owner reference set to itself'),
        ({"name": "n2"}, "", 'node "n1" can only create pods with an owner reference set to itself'),
        (
            {"controller": None},
            "",
            'node "n1" can only create pods with a controller owner reference set to itself',
        ),
        (
            {"block_owner_deletion": True},
            "",
            'node "n1" must not set blockOwnerDeletion on an owner reference',
        ),
        ({"uid": "other"}, "", "node n1 UID mismatch: expected other got "),
        (
            {},
            ", volumes: [{name: v, secret: {secretName: s}}]",
            'node "n1" can not create pods that reference secrets',
        ),
        (
            {},
            ", volumes: [{name: v, persistentVolumeClaim: {claimName: s}}]",
            'node "n1" can not create pods that reference persistentvolumeclaims',
        ),
    ],
)
async def test_incorrect_mirror_pods_are_refused(
    kubelet: LocalClient, owner: dict[str, Any] | None, spec: str, why: str
) -> None:
    with pytest.raises(ApiError) as error:
        await mirror(kubelet, owner, spec)
    assert f'pods "m" is forbidden: {why}' in str(error.value)
