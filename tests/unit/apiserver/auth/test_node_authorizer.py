"""The node authorizer: a kubelet reads the objects that pods on its node refer to, and no others."""

from __future__ import annotations

import pytest

from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import (
    ConfigMap,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Secret,
    SecretVolumeSource,
    Volume,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.authz import attributes_of
from podling.client.local import LocalClient
from podling.client.requests import ListOptions, Target, User
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.store.hub import DEFAULT_CAPACITY
from podling.testing import ControlPlane
from tests.support.control_loops import pod

KUBELET = User("system:node:n1", ("system:nodes", "system:authenticated"))
UNRELATED = "no relationship found between node 'n1' and this object"


def secret(name: str) -> Secret:
    return Secret(metadata=ObjectMeta(name=name, namespace="default"))


async def refusal(kubelet: LocalClient, name: str) -> str:
    """Why the kubelet may not read a Secret; empty when it may."""
    try:
        await kubelet.get(Secret, name, "default")
    except ApiError as error:
        return str(error)
    return ""


async def test_a_secret_is_read_by_nodes_whose_pods_need_it(cluster: ControlPlane) -> None:
    kubelet = cluster.client_for(KUBELET)
    await cluster.client.create(secret("needed"))
    said = (
        'secrets "needed" is forbidden: User "system:node:n1" cannot get resource "secrets" in API group "" '
        f'in the namespace "default": {UNRELATED}'
    )
    assert await refusal(kubelet, "needed") == said
    volumes = (Volume(name="v", secret=SecretVolumeSource(secret_name="needed")),)
    for name, node in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        await cluster.client.create(pod(name, node=node, volumes=volumes))
    assert await refusal(kubelet, "needed") == ""
    await cluster.client.delete(Pod, "a", "default", grace_seconds=0)
    assert await refusal(kubelet, "needed") == ""
    await cluster.client.delete(Pod, "b", "default", grace_seconds=0)
    assert await refusal(kubelet, "needed") == said


async def test_no_change_is_missed_when_many_happen_at_once(cluster: ControlPlane) -> None:
    kubelet, store = cluster.client_for(KUBELET), cluster.store
    await cluster.client.create(secret("needed"))
    volumes = (Volume(name="v", secret=SecretVolumeSource(secret_name="needed")),)
    await cluster.client.create(pod("a", node="n1", volumes=volumes))
    entry = cluster.backend.reads.entry(Target(resource_of(Pod), "default", "a"))
    for number in range(DEFAULT_CAPACITY + 1):  # written to the store directly, so no reader runs in between
        await store.put(f"{entry.key}{number}", lambda _: entry.value, expect=0)
    assert UNRELATED in await refusal(kubelet, "needed")
    await cluster.advance(seconds=1)
    assert await refusal(kubelet, "needed") == ""


async def test_a_volume_is_read_through_its_claim(cluster: ControlPlane) -> None:
    source = PersistentVolumeClaimVolumeSource(claim_name="claim")
    volumes = (Volume(name="v", persistent_volume_claim=source),)
    await cluster.client.create(pod("a", node="n1", volumes=volumes))
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "claim", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeName": "disk",
            "resources": {"requests": {"storage": "1"}},
        },
    }
    await cluster.client.create(codec.convert(claim, PersistentVolumeClaim)[0])
    kubelet = cluster.client_for(KUBELET)
    for name, code in (("disk", 404), ("another", 403)):
        with pytest.raises(ApiError) as error:
            await kubelet.get(PersistentVolume, name)
        assert error.value.code == code


@pytest.mark.parametrize(
    ("verb", "target", "selector", "why"),
    [
        ("list", Target(resource_of(Secret)), "", "can only read namespaced object of this type"),
        ("list", Target(resource_of(Secret), "default"), "", "No Object name found"),
        ("list", Target(resource_of(Secret), "default"), "metadata.name=x", UNRELATED),
        (
            "delete",
            Target(resource_of(ConfigMap), "default", "x"),
            "",
            "can only read resources of this type",
        ),
        ("list", Target(resource_of(PersistentVolume)), "", "can only get individual resources of this type"),
        ("list", Target(resource_of(Pod)), "", None),  # by the role podling:node-network
        ("watch", Target(resource_of(Pod)), "spec.nodeName=n1", None),
        ("deletecollection", Target(resource_of(Pod)), "spec.nodeName=n1", ""),
        ("list", Target(resource_of(Node)), "", None),  # by the role podling:node-network
        (
            "get",
            Target(resource_of(Node), "", "n2"),
            "",
            "node 'n1' cannot read 'n2', only its own Node object",
        ),
        ("watch", Target(resource_of(Node)), "metadata.name=n1", None),
        ("delete", Target(resource_of(Node), "", "n1"), "", ""),
        (
            "get",
            Target(resource_of(Lease), "kube-node-lease", "n2"),
            "",
            "can only access node lease with the same name as the requesting node",
        ),
        (
            "create",
            Target(resource_of(Lease), "default"),
            "",
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        ("create", Target(resource_of(Lease), "kube-node-lease"), "", None),
    ],
)
async def test_rights_of_a_kubelet_by_kind(
    cluster: ControlPlane, verb: str, target: Target, selector: str, why: str | None
) -> None:
    decision = cluster.server.authorizer.decide(KUBELET, attributes_of(verb, target, selector))
    assert decision.allowed == (why is None)
    assert decision.reason.startswith(why or "")


async def test_pods_without_references_can_be_read_until_deleted(cluster: ControlPlane) -> None:
    kubelet = cluster.client_for(KUBELET)
    for name in ("a", "b"):
        await cluster.client.create(pod(name, node="n1"))
        assert (await kubelet.get(Pod, name, "default")).metadata.name == name
    for name in ("a", "b"):
        await cluster.client.delete(Pod, name, "default", grace_seconds=0)
    assert UNRELATED in await refusal(kubelet, "any")


async def test_kubelet_reads_only_pods_of_its_own_node(cluster: ControlPlane) -> None:
    for name, node in (("mine", "n1"), ("theirs", "n2"), ("nobodys", "")):
        await cluster.client.create(pod(name, node=node))
    kubelet, codes = cluster.client_for(KUBELET), {}
    for name in ("mine", "theirs", "nobodys", "gone"):
        try:
            await kubelet.get(Pod, name, "default")
        except ApiError as error:
            codes[name] = error.code
    assert codes == {"theirs": 403, "nobodys": 403, "gone": 404}


async def test_kubelet_may_list_by_its_node_name(cluster: ControlPlane) -> None:
    await cluster.client.create(pod("a", node="n1"))
    target, options = Target(resource_of(Pod)), ListOptions(field_selector="spec.nodeName=n1")
    assert len((await cluster.backend.list(target, KUBELET, options)).items) == 1
