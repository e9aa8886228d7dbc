"""One pod on every node that should have it: placed, kept, replaced."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from podling.api.apps_v1 import (
    ControllerRevision,
    DaemonSet,
    DaemonSetStatus,
    DaemonSetUpdateStrategy,
)
from podling.api.core_v1 import (
    Node,
    Pod,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.workloads.daemonset import DaemonSetController
from podling.controllers.workloads.daemonset_rules import (
    node_of,
)
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, make_ready, running, set_phase, told
from tests.unit.controllers.workloads.daemonsets import daemon_set, rolling


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    for name in ("n1", "n2", "n3"):
        await add_node(cluster.client, name)
    async with running(cluster.client, DaemonSetController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def start(cluster: ControlPlane, wanted: DaemonSet) -> None:
    await cluster.client.create(wanted)
    await cluster.advance(seconds=1)


async def status(cluster: ControlPlane) -> DaemonSetStatus:
    return (await cluster.client.get(DaemonSet, "agent", "default")).status


async def pods(cluster: ControlPlane) -> list[tuple[str, str]]:
    """Return the nodes that pods run on or are meant for, with their images."""
    found = (await cluster.client.list(Pod, "default")).items
    return sorted((node_of(each), each.spec.containers[0].image or "") for each in found)


async def use(cluster: ControlPlane, image: str) -> None:
    held = await cluster.client.get(DaemonSet, "agent", "default")
    container = structs.replace(held.spec.template.spec.containers[0], image=image)
    spec = structs.replace(held.spec.template.spec, containers=(container,))
    template = structs.replace(held.spec.template, spec=spec)
    await cluster.client.update(structs.replace(held, spec=structs.replace(held.spec, template=template)))
    await cluster.advance(seconds=1)


ON_EVERY_NODE = [("n1", "agent:1"), ("n2", "agent:1"), ("n3", "agent:1")]


@pytest.mark.usefixtures("manager")
async def test_every_node_gets_one_pod(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set())
    assert await pods(cluster) == ON_EVERY_NODE
    await make_ready(cluster.client)
    await cluster.advance(seconds=1)
    now = await status(cluster)
    assert (now.desired_number_scheduled, now.current_number_scheduled, now.number_ready) == (3, 3, 3)
    assert (now.updated_number_scheduled, now.number_available, now.number_unavailable) == (3, 3, 0)


@pytest.mark.usefixtures("manager")
async def test_pods_come_and_go_with_nodes(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set())
    await add_node(cluster.client, "n4")
    await cluster.advance(seconds=1)
    assert ("n4", "agent:1") in await pods(cluster)
    await cluster.client.delete(Node, "n4")
    await cluster.advance(seconds=1)
    assert await pods(cluster) == ON_EVERY_NODE


@pytest.mark.usefixtures("manager")
async def test_a_label_decides(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set(node_selector={"disk": "ssd"}))
    assert await pods(cluster) == []
    await cluster.client.patch(Node, "n2", {"metadata": {"labels": {"disk": "ssd"}}})
    await cluster.advance(seconds=1)
    assert await pods(cluster) == [("n2", "agent:1")]
    await cluster.client.patch(Node, "n2", {"metadata": {"labels": {"disk": None}}})
    await cluster.advance(seconds=1)
    assert await pods(cluster) == []
    assert (await status(cluster)).desired_number_scheduled == 0


@pytest.mark.usefixtures("manager")
async def test_failed_pod_is_replaced_and_reported(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set())
    failed = (await cluster.client.list(Pod, "default")).items[0]
    await set_phase(cluster.client, failed.metadata.name or "", "Failed")
    await cluster.advance(seconds=1)
    assert await pods(cluster) == ON_EVERY_NODE
    what = f"default/{failed.metadata.name} on node {node_of(failed)}"
    text = f"Found failed daemon pod {what}, will try to kill it"
    assert f"Warning FailedDaemonPod agent: {text}" in await told(cluster.client)


@pytest.mark.usefixtures("manager")
async def test_an_update_replaces_one_after_the_other(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set())
    await make_ready(cluster.client)
    await cluster.advance(seconds=1)
    await use(cluster, "agent:2")
    counts = []
    for _ in range(4):
        counts.append([image for _, image in await pods(cluster)].count("agent:2"))
        await make_ready(cluster.client)
        await cluster.advance(seconds=1)
    assert counts == [1, 2, 3, 3]
    assert (await status(cluster)).updated_number_scheduled == 3


@pytest.mark.usefixtures("manager")
async def test_an_update_that_is_broken_stops_at_the_first_node(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set())
    await make_ready(cluster.client)
    await cluster.advance(seconds=1)
    await use(cluster, "agent:broken")
    await cluster.advance(minutes=10)
    assert sorted(image for _, image in await pods(cluster)) == ["agent:1", "agent:1", "agent:broken"]


@pytest.mark.usefixtures("manager")
async def test_with_a_surge_the_new_pod_comes_first(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set(strategy=rolling(max_surge=1, max_unavailable=0)))
    await make_ready(cluster.client)
    await cluster.advance(seconds=1)
    await use(cluster, "agent:2")
    assert len(await pods(cluster)) == 4
    for _ in range(6):
        await make_ready(cluster.client)
        await cluster.advance(seconds=1)
        ready = (await status(cluster)).number_ready
        assert ready == 3, "no node is ever without a ready pod"
    assert [image for _, image in await pods(cluster)] == ["agent:2"] * 3


@pytest.mark.usefixtures("manager")
async def test_on_delete_strategy_waits_for_deletion(cluster: ControlPlane) -> None:
    await start(cluster, daemon_set(strategy=DaemonSetUpdateStrategy(type="OnDelete")))
    await make_ready(cluster.client)
    await use(cluster, "agent:2")
    await cluster.advance(minutes=5)
    assert await pods(cluster) == ON_EVERY_NODE
    first = (await cluster.client.list(Pod, "default")).items[0]
    await cluster.client.delete(Pod, first.metadata.name or "", "default")
    await cluster.advance(seconds=1)
    assert [image for _, image in await pods(cluster)].count("agent:2") == 1


async def revisions(cluster: ControlPlane) -> list[ControllerRevision]:
    found = (await cluster.client.list(ControllerRevision, "default")).items
    return sorted(found, key=lambda each: each.revision)


@pytest.mark.usefixtures("manager")
async def test_revision_names_its_hash_and_the_cause_of_the_change(cluster: ControlPlane) -> None:
    wanted = daemon_set()
    cause = {"kubernetes.io/change-cause": "first roll-out"}
    metadata = structs.replace(wanted.metadata, annotations=cause)
    await cluster.client.create(structs.replace(wanted, metadata=metadata))
    await cluster.advance(seconds=1)
    made = (await revisions(cluster))[0].metadata
    pod = (await cluster.client.list(Pod, "default")).items[0]
    digest = pod.metadata.labels["controller-revision-hash"]
    assert made.labels == {"app": "agent", "controller-revision-hash": digest}
    generation = {"deprecated.daemonset.template.generation": "1"}
    assert (made.name, made.annotations) == (f"agent-{digest}", {**cause, **generation})


@pytest.mark.usefixtures("manager")
async def test_revision_of_an_earlier_release_gets_its_label_and_pods_stay(cluster: ControlPlane) -> None:
    """Earlier releases wrote the hash under the label of stateful sets."""
    await cluster.client.create(daemon_set())
    await cluster.advance(seconds=1)
    before = (await cluster.client.list(Pod, "default")).items[0].metadata
    made = (await revisions(cluster))[0].metadata
    digest = made.labels["controller-revision-hash"]
    labels = {"controller-revision-hash": None, "controller.kubernetes.io/hash": digest}
    await cluster.client.patch(
        ControllerRevision, made.name or "", {"metadata": {"labels": labels}}, "default"
    )
    await cluster.advance(seconds=1)
    assert (await revisions(cluster))[0].metadata.labels["controller-revision-hash"] == digest
    assert (await cluster.client.list(Pod, "default")).items[0].metadata.uid == before.uid


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize("finalizers", [(), ("example.com/hold",)])
async def test_revisions_that_hold_the_same_become_one_and_pods_stay(
    cluster: ControlPlane, finalizers: tuple[str, ...]
) -> None:
    await start(cluster, daemon_set())
    await make_ready(cluster.client)
    before = (await cluster.client.list(Pod, "default")).items
    made = (await revisions(cluster))[0]
    held = structs.replace(made, metadata=structs.replace(made.metadata, finalizers=finalizers))
    await cluster.client.update(held)
    await cluster.advance(seconds=5)
    double = ObjectMeta(
        name="agent-restored",
        namespace="default",
        labels={"app": "agent", "controller-revision-hash": "restored"},
        owner_references=made.metadata.owner_references,
    )
    await cluster.client.create(ControllerRevision(metadata=double, data=made.data, revision=7))
    await cluster.advance(seconds=5)
    assert len(await revisions(cluster)) == 2  # the set is looked at again when something else changes
    await cluster.client.patch(DaemonSet, "agent", {"metadata": {"labels": {"tier": "a"}}}, "default")
    await cluster.advance(seconds=5)
    after = (await cluster.client.list(Pod, "default")).items
    assert [pod.metadata.uid for pod in after] == [pod.metadata.uid for pod in before]
    assert {pod.metadata.labels["controller-revision-hash"] for pod in after} == {"restored"}
    left = [each for each in await revisions(cluster) if each.metadata.deletion_timestamp is None]
    assert [each.metadata.name for each in left] == ["agent-restored"]
    await cluster.client.delete(Pod, after[0].metadata.name or "", "default")
    await cluster.advance(seconds=5)
    assert await pods(cluster) == ON_EVERY_NODE
