"""Pods and volumes of a class that binds late: the scheduler chooses both, and waits for the binding."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.core_v1 import (
    LocalVolumeSource,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    Volume,
    VolumeNodeAffinity,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.storage_v1 import CSIDriver, CSIDriverSpec, CSIStorageCapacity, StorageClass
from podling.controllers.volumes.volume_binder import VolumeBinderController
from podling.scheduler.configuration.files import configuration_of
from podling.scheduler.configuration.types import API_VERSION, KIND
from podling.scheduler.plugins.volume_binding import SELECTED_NODE
from podling.testing import ControlPlane
from tests.support.control_loops import running as controllers_running
from tests.support.workloads import claim, volume
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, get, join, node_of, pod, scheduler_for, told

DRIVER = "disks.example.com"
QUICK = [{"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}]}]


@pytest.fixture
async def alone(cluster: ControlPlane) -> AsyncIterator[ControlPlane]:
    """Two nodes, and a scheduler that waits half a minute for a binding."""
    for name in ("a", "b"):
        await join(cluster, scheduling.node(name))
    document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": QUICK}
    async with scheduler_for(cluster.client_for(SCHEDULER), configuration_of(document, "test")):
        yield cluster


@pytest.fixture
async def working(alone: ControlPlane) -> AsyncIterator[ControlPlane]:
    """``alone``, and the binder of volumes."""
    async with controllers_running(alone.client, VolumeBinderController):
        yield alone


async def late(cluster: ControlPlane, provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> None:
    metadata = ObjectMeta(name="late")
    await cluster.client.create(
        StorageClass(
            metadata=metadata,
            provisioner=provisioner,
            volume_binding_mode="WaitForFirstConsumer",
            **more,
        )
    )


def local(name: str, node: str, size: str = "1Gi") -> PersistentVolume:
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))
    return volume(
        name,
        size,
        host_path=None,
        local=LocalVolumeSource(path="/disk"),
        storage_class_name="late",
        node_affinity=VolumeNodeAffinity(required=selector),
    )


def user(name: str, *claims: str, **spec: Any) -> Pod:
    volumes = tuple(
        Volume(name=each, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=each))
        for each in claims
    )
    return pod(name, cpu="1", volumes=volumes, **spec)


async def bound_to(cluster: ControlPlane, name: str) -> str:
    found = await cluster.client.get(PersistentVolumeClaim, name, "default")
    return found.spec.volume_name if found.status.phase == "Bound" else ""


async def test_pod_goes_to_the_node_of_a_free_volume(working: ControlPlane) -> None:
    await late(working)
    await working.client.create(local("on-b", "b"))
    await working.client.create(claim("data", storage_class_name="late"))
    await working.advance(seconds=1)
    await working.client.create(user("p", "data"))
    await working.advance(seconds=5)
    assert (await node_of(working, "p"), await bound_to(working, "data")) == ("b", "on-b")
    assert (await get(working, "p")).status.nominated_node_name == ""
    assert await told(working, "p") == ["Normal Scheduled Successfully assigned default/p to b"]


async def test_pods_of_one_moment_get_different_volumes(working: ControlPlane) -> None:
    await late(working)
    for name in ("a", "b"):
        await working.client.create(local(f"on-{name}", name))
    await working.advance(seconds=1)
    for name in ("x", "y", "z"):
        await working.client.create(claim(name, storage_class_name="late"))
        await working.client.create(user(name, name))
    await working.advance(seconds=5)
    placed = {name: (await node_of(working, name), await bound_to(working, name)) for name in ("x", "y", "z")}
    assert sorted(placed.values()) == [("", ""), ("a", "on-a"), ("b", "on-b")]
    [waiting] = [name for name, place in placed.items() if place == ("", "")]
    event = (await told(working, waiting))[-1]
    assert "2 node(s) didn't find available persistent volumes to bind" in event


async def test_claims_of_a_pod_get_volumes_of_one_node(working: ControlPlane) -> None:
    await late(working)
    for name, node, size in (("a1", "a", "2Gi"), ("b1", "b", "1Gi"), ("b2", "b", "2Gi")):
        await working.client.create(local(name, node, size))
    await working.client.create(claim("large", size="2Gi", storage_class_name="late"))
    await working.client.create(claim("small", storage_class_name="late"))
    await working.client.create(user("p", "large", "small"))
    await working.advance(seconds=5)
    assert await node_of(working, "p") == "b"
    assert (await bound_to(working, "large"), await bound_to(working, "small")) == ("b2", "b1")


async def test_volume_that_comes_later_wakes_the_pod(working: ControlPlane) -> None:
    await late(working)
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data"))
    await working.advance(seconds=20)
    assert await node_of(working, "p") == ""
    await working.client.create(local("on-a", "a"))
    await working.advance(seconds=5)
    assert await node_of(working, "p") == "a"


async def provisioned(cluster: ControlPlane, name: str) -> None:
    """Make the volume of a claim, like a provisioner."""
    found = await cluster.client.get(PersistentVolumeClaim, name, "default")
    made = local(f"made-{name}", found.metadata.annotations[SELECTED_NODE])
    await cluster.client.create(made)
    await cluster.client.patch(
        PersistentVolume,
        f"made-{name}",
        {"spec": {"claimRef": {"namespace": "default", "name": name, "uid": found.metadata.uid}}},
    )


async def test_pod_waits_until_its_volume_is_provisioned(working: ControlPlane) -> None:
    await late(working, DRIVER)
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data", node_selector={"kubernetes.io/hostname": "b"}))
    await working.advance(seconds=10)
    asked = await working.client.get(PersistentVolumeClaim, "data", "default")
    assert asked.metadata.annotations[SELECTED_NODE] == "b"
    assert asked.metadata.annotations["volume.kubernetes.io/storage-provisioner"] == DRIVER
    waiting = await get(working, "p")
    assert (waiting.spec.node_name, waiting.status.nominated_node_name) == ("", "b")
    await provisioned(working, "data")
    await working.advance(seconds=5)
    assert (await node_of(working, "p"), await bound_to(working, "data")) == ("b", "made-data")


async def test_failed_provisioning_is_tried_on_another_node(working: ControlPlane) -> None:
    await late(working, DRIVER)
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data"))
    await working.advance(seconds=5)
    await working.client.patch(
        PersistentVolumeClaim, "data", {"metadata": {"annotations": {SELECTED_NODE: None}}}, "default"
    )
    await working.advance(seconds=10)
    text = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
    assert await told(working, "p") == [f"Warning FailedScheduling {text}"]
    await provisioned(working, "data")
    await working.advance(seconds=5)
    assert await node_of(working, "p")


async def made_on(cluster: ControlPlane, node: str) -> None:
    """Bind the claim ``data`` to a volume that can be used on one node."""
    found = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    reference = {"namespace": "default", "name": "data", "uid": found.metadata.uid}
    await cluster.client.create(local("made", node))
    await cluster.client.patch(PersistentVolume, "made", {"spec": {"claimRef": reference}})


@pytest.mark.parametrize(
    ("happens", "text"),
    [
        ("made elsewhere", 'pv "made" node affinity doesn\'t match node "b": no matching NodeSelectorTerms'),
        ("node goes", 'failed to get node "b": node "b" not found'),
        ("claim goes", 'failed to check provisioning pvc: could not find "default/data"'),
        ("another node", 'provisioning failed for PVC "data"'),
    ],
)
async def test_binding_that_cannot_succeed_is_given_up(
    working: ControlPlane, happens: str, text: str
) -> None:
    """The cases of upstream's ``TestCheckBindings`` and ``TestBindPodVolumes`` that fail."""
    await late(working, DRIVER)
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data", node_selector={"kubernetes.io/hostname": "b"}))
    await working.advance(seconds=5)
    match happens:
        case "made elsewhere":
            await made_on(working, "a")
        case "node goes":
            await working.client.delete(Node, "b")
        case "claim goes":
            await working.client.delete(PersistentVolumeClaim, "data", "default")
        case _:
            other = {"metadata": {"annotations": {SELECTED_NODE: "a"}}}
            await working.client.patch(PersistentVolumeClaim, "data", other, "default")
    await working.advance(seconds=2)
    failed = f'Warning FailedScheduling running PreBind plugin "VolumeBinding": binding volumes: {text}'
    assert failed in await told(working, "p")


@pytest.mark.parametrize(
    ("happens", "text"),
    [
        ("volume is given back", 'ClaimRef got reset for pv "on-b"'),
        ("volume goes", 'failed to check binding: could not find "on-b"'),
        ("claim goes", 'failed to check binding: could not find "default/data"'),
        ("nothing", "context deadline exceeded"),
    ],
)
async def test_promise_that_is_not_kept_is_given_up(alone: ControlPlane, happens: str, text: str) -> None:
    """The same for a volume that was there; no controller completes the binding."""
    await late(alone)
    await alone.client.create(local("on-b", "b"))
    free = {"status": {"phase": "Available"}}
    await alone.client.patch(PersistentVolume, "on-b", free, subresource="status")
    await alone.client.create(claim("data", storage_class_name="late"))
    await alone.advance(seconds=1)
    await alone.client.create(user("p", "data"))
    await alone.advance(seconds=5)
    promised = await alone.client.get(PersistentVolume, "on-b")
    assert promised.spec.claim_ref is not None
    assert (promised.spec.claim_ref.name, await told(alone, "p")) == ("data", [])
    match happens:
        case "volume is given back":
            await alone.client.patch(PersistentVolume, "on-b", {"spec": {"claimRef": None}})
        case "volume goes":
            await alone.client.delete(PersistentVolume, "on-b")
        case "claim goes":
            await alone.client.delete(PersistentVolumeClaim, "data", "default")
        case _:
            await alone.advance(seconds=25)
    await alone.advance(seconds=2)
    failed = f'Warning FailedScheduling running PreBind plugin "VolumeBinding": binding volumes: {text}'
    assert failed in await told(alone, "p")


async def test_volume_of_a_claim_may_be_seen_late(working: ControlPlane) -> None:
    await late(working, DRIVER)
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data", node_selector={"kubernetes.io/hostname": "b"}))
    await working.advance(seconds=5)
    await working.client.patch(PersistentVolumeClaim, "data", {"spec": {"volumeName": "made"}}, "default")
    await working.advance(seconds=5)
    assert (await told(working, "p"), await node_of(working, "p")) == ([], "")
    await made_on(working, "b")
    await working.advance(seconds=20)
    assert await node_of(working, "p") == "b"


async def test_binding_that_takes_too_long_is_given_up(working: ControlPlane) -> None:
    await late(working, DRIVER)
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data"))
    await working.advance(seconds=32)
    text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    assert (await told(working, "p"))[0] == f"Warning FailedScheduling {text}"


async def test_deleted_pod_gives_its_promised_volume_back(working: ControlPlane) -> None:
    await late(working, DRIVER)
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data"))
    await working.advance(seconds=5)
    await working.client.delete(Pod, "p", "default", grace_seconds=0)
    await working.client.create(user("q"))
    await working.advance(seconds=5)
    assert await node_of(working, "q")
    assert await told(working, "p") == [
        'Warning FailedScheduling running PreBind plugin "VolumeBinding": binding volumes: '
        'pod does not exist any more: pod "p" not found'
    ]


async def test_provisioner_makes_volumes_in_its_topologies_only(working: ControlPlane) -> None:
    inside = TopologySelectorLabelRequirement(key="kubernetes.io/hostname", values=("b",))
    await late(working, DRIVER, allowed_topologies=(TopologySelectorTerm(match_label_expressions=(inside,)),))
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(user("p", "data"))
    await working.advance(seconds=5)
    assert (await get(working, "p")).status.nominated_node_name == "b"


async def test_node_without_reported_capacity_is_rejected(working: ControlPlane) -> None:
    await late(working, DRIVER)
    spec = CSIDriverSpec(storage_capacity=True)
    await working.client.create(CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=spec))
    for name, size in (("a", "1Mi"), ("b", "10Gi")):
        await working.client.create(
            CSIStorageCapacity(
                metadata=ObjectMeta(name=name, namespace="default"),
                storage_class_name="late",
                node_topology=LabelSelector(match_labels={"kubernetes.io/hostname": name}),
                capacity=size,
            )
        )
    await working.client.create(claim("data", storage_class_name="late"))
    await working.client.create(claim("huge", size="100Gi", storage_class_name="late"))
    await working.client.create(user("p", "data"))
    await working.client.create(user("q", "huge"))
    await working.advance(seconds=5)
    assert (await get(working, "p")).status.nominated_node_name == "b"
    [event] = await told(working, "q")
    assert "2 node(s) did not have enough free storage" in event
