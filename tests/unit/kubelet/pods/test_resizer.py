"""In-place resize of pods on a simulated node."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.client.base import PatchType
from podling.machinery.conditions import find
from podling.machinery.quantity import parse
from podling.runtime.base import LinuxResources
from tests.support.kubelet_node import NODE, SimNode, condition, pod


def sized(cpu: str = "1", memory: str = "1Gi", **container: Any) -> list[dict[str, Any]]:
    amounts = {"cpu": cpu, "memory": memory}
    resources = {"requests": amounts, "limits": amounts}
    return [{"name": "app", "image": "app:1", "resources": resources, **container}]


async def resize(node: SimNode, name: str = "web", cpu: str = "1", memory: str = "1Gi") -> None:
    amounts = {"cpu": cpu, "memory": memory}
    containers = [{"name": "app", "resources": {"requests": amounts, "limits": amounts}}]
    await node.client.patch(
        Pod,
        name,
        {"spec": {"containers": containers}},
        "default",
        patch_type=PatchType.STRATEGIC,
        subresource="resize",
    )


async def limits_of(node: SimNode) -> LinuxResources:
    (container,) = await node.runtime.list_containers()
    assert container.resources is not None
    return container.resources


async def test_running_container_grows_in_place(node: SimNode) -> None:
    await node.create(pod(containers=sized()))
    await node.pass_time(5)
    before = await node.get()
    assert (await limits_of(node)).memory_limit == 1 << 30
    await resize(node, cpu="2", memory="2Gi")
    await node.pass_time(1)
    found = await limits_of(node)
    assert (found.cpu_shares, found.cpu_quota, found.memory_limit) == (2048, 200000, 2 << 30)
    after = await node.get()
    (status,) = after.status.container_statuses
    assert status.restart_count == 0
    assert status.container_id == before.status.container_statuses[0].container_id
    assert status.allocated_resources == {"cpu": "2", "memory": "2Gi"}
    assert status.resources is not None
    assert status.resources.limits == {"cpu": "2", "memory": "2Gi"}
    assert condition(after, "PodResizeInProgress") == "absent"
    assert after.status.observed_generation == 2
    assert [recorded.split(":")[0] for recorded in await node.events() if recorded.startswith("Resize")] == [
        "ResizeCompleted",
        "ResizeStarted",
    ]


async def test_resize_policy_may_restart_the_container(node: SimNode) -> None:
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    await node.create(pod(containers=sized(resizePolicy=policy)))
    await node.pass_time(5)
    await resize(node, cpu="2")
    await node.pass_time(1)
    assert (await node.get()).status.container_statuses[0].restart_count == 0
    await resize(node, cpu="2", memory="2Gi")
    await node.pass_time(1)
    found = await node.get()
    (status,) = found.status.container_statuses
    assert (status.restart_count, status.state.running is not None) == (1, True)
    assert status.allocated_resources == {"cpu": "2", "memory": "2Gi"}
    assert "Killing: Container app resize requires restart" in await node.events()
    assert condition(found, "PodResizeInProgress") == "absent"


async def test_resize_that_has_become_infeasible_keeps_the_old_resources(node: SimNode) -> None:
    await node.create(pod("first", containers=sized("2")))
    await node.create(pod("second", containers=sized("1")))
    await node.pass_time(5)
    await resize(node, "second", cpu="3")
    await node.pass_time(1)
    assert condition(await node.get("second"), "PodResizePending") == "True Deferred"
    await node.stop()
    smaller = replace(node.deps.config, capacity={**node.deps.config.capacity, "cpu": "2"})
    node.deps = replace(node.deps, config=smaller)
    await node.restart()
    await node.pass_time(30)
    found = await node.get("second")
    assert condition(found, "PodResizePending") == "True Infeasible"
    assert found.status.container_statuses[0].allocated_resources["cpu"] == "1"
    assert any(recorded.startswith("ResizeInfeasible") for recorded in await node.events("second"))


async def test_resize_is_deferred_until_resources_are_free(node: SimNode) -> None:
    await node.create(pod("first", containers=sized("2")))
    await node.create(pod("second", containers=sized("1")))
    await node.pass_time(5)
    await resize(node, "second", cpu="3")
    await node.pass_time(1)
    found = await node.get("second")
    assert condition(found, "PodResizePending") == "True Deferred"
    assert found.status.resize == "", "conditions have taken the place of this field"
    (status,) = found.status.container_statuses
    assert status.allocated_resources["cpu"] == "1"
    await node.pass_time(30)
    await node.delete("first")
    await node.pass_time(3)
    found = await node.get("second")
    assert condition(found, "PodResizePending") == "absent"
    assert found.status.container_statuses[0].allocated_resources["cpu"] == "3"


@pytest.mark.parametrize("whole", [False, True])
async def test_full_memory_does_not_hinder_a_resize_of_cpu(node: SimNode, whole: bool) -> None:
    """A page cache fills the memory up to the limit; only a lower one has to wait."""
    used = {"usage": [{"memoryBytes": 1 << 30}]}
    subject = pod(resources=pod_level("1Gi"), script=used) if whole else pod(containers=sized(), script=used)
    await node.create(subject)
    await node.pass_time(5)
    amounts = {"cpu": "2", "memory": "1Gi"}
    resources = {"requests": amounts, "limits": amounts}
    change = {"resources": resources} if whole else {"containers": [{"name": "app", "resources": resources}]}
    kind = PatchType.STRATEGIC
    await node.client.patch(Pod, "web", {"spec": change}, "default", patch_type=kind, subresource="resize")
    await node.pass_time(1)
    assert (await limits_of(node)).cpu_quota == 200000
    assert condition(await node.get(), "PodResizeInProgress") == "absent"


async def test_pods_memory_limit_never_falls_below_the_use_of_all_containers(node: SimNode) -> None:
    """Each of them may use less than its own limit, which stays."""
    own = {"requests": {"cpu": "1", "memory": "400Mi"}, "limits": {"cpu": "1", "memory": "900Mi"}}
    containers = [{"name": name, "image": "app:1", "resources": own} for name in ("app", "side")]
    used = {name: {"usage": [{"memoryBytes": 800 << 20}]} for name in ("app", "side")}

    def whole(memory: str) -> dict[str, Any]:
        return {"requests": {"cpu": "2", "memory": "800Mi"}, "limits": {"cpu": "2", "memory": memory}}

    await node.create(pod(containers=containers, scripts=used, resources=whole("2Gi")))
    await node.pass_time(5)
    change, kind = {"spec": {"resources": whole("1Gi")}}, PatchType.STRATEGIC
    await node.client.patch(Pod, "web", change, "default", patch_type=kind, subresource="resize")
    for restarts in (False, True):
        if restarts:
            await node.restart()
        await node.pass_time(30)
        found = await node.get()
        assert condition(found, "PodResizeInProgress") == "True Error"
        assert found.status.resources is not None
        assert found.status.resources.limits["memory"] == "2Gi"


@pytest.mark.parametrize("amount", ["1e30", "16Ei", "9223372036854775807000", "9E"])
async def test_huge_limits_are_the_largest_that_the_kernel_knows(node: SimNode, amount: str) -> None:
    """Their requests are small, so they fit any node."""
    small = {"cpu": "1m", "memory": "1Mi"}
    before = {"requests": small, "limits": {"cpu": "1", "memory": "1Gi"}}
    await node.create(pod(containers=[{"name": "app", "image": "app:1", "resources": before}]))
    await node.pass_time(5)
    for limits, wanted in (
        ({"cpu": amount, "memory": amount}, ((1 << 44) - 1, parse(amount).value)),
        ({"cpu": "1", "memory": "1Gi"}, (100000, 1 << 30)),
    ):
        change = {
            "spec": {"containers": [{"name": "app", "resources": {"requests": small, "limits": limits}}]}
        }
        kind = PatchType.STRATEGIC
        await node.client.patch(Pod, "web", change, "default", patch_type=kind, subresource="resize")
        await node.pass_time(1)
        found = await limits_of(node)
        assert (found.cpu_quota, found.memory_limit) == wanted
        assert condition(await node.get(), "PodResizeInProgress") == "absent"


async def test_other_text_of_the_same_amounts_is_no_resize(node: SimNode) -> None:
    await node.create(pod(containers=sized()))
    await node.pass_time(5)
    before = await node.get()
    await resize(node, cpu="1000m", memory="1024Mi")
    await node.pass_time(1)
    assert await node.get() == before
    assert not [told for told in await node.events() if told.startswith("Resize")]


async def test_resize_is_deferred_while_the_node_would_not_admit_the_pod(node: SimNode) -> None:
    """The node decides about a resize as about a new pod (``canAdmitPod``); it tries again after a while."""
    labels = {"disk": "ssd"}
    await node.client.patch(Node, NODE, {"metadata": {"labels": labels}})
    await node.create(pod(containers=sized(), nodeSelector=labels))
    await node.pass_time(5)
    await node.client.patch(Node, NODE, {"metadata": {"labels": {"disk": "hdd"}}})
    await node.pass_time(15)
    await resize(node, cpu="2")
    await node.pass_time(1)
    pending = find((await node.get()).status.conditions, "PodResizePending")
    assert pending is not None
    text = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    assert (pending.reason, pending.message) == ("Deferred", text)
    assert (await limits_of(node)).cpu_quota == 100000
    await node.client.patch(Node, NODE, {"metadata": {"labels": labels}})
    await node.pass_time(200)
    assert condition(await node.get(), "PodResizePending") == "absent"
    assert (await limits_of(node)).cpu_quota == 200000
    assert node.kubelet.pod_view.metrics.deferred_accepted == {"periodic_retry": 1}


async def test_deferred_resize_can_be_taken_back(node: SimNode) -> None:
    await node.create(pod("first", containers=sized("3")))
    await node.create(pod("second", containers=sized("1")))
    await node.pass_time(5)
    await resize(node, "second", cpu="3")
    await node.pass_time(1)
    assert condition(await node.get("second"), "PodResizePending") == "True Deferred"
    await resize(node, "second", cpu="1")
    await node.pass_time(1)
    assert condition(await node.get("second"), "PodResizePending") == "absent"


async def test_memory_limit_never_falls_below_the_use(node: SimNode) -> None:
    used = {"usage": [{"memoryBytes": 800 << 20}, {"after": 60, "memoryBytes": 100 << 20}]}
    await node.create(pod(containers=sized(), script=used))
    await node.pass_time(5)
    await resize(node, memory="512Mi")
    await node.pass_time(1)
    found = await node.get()
    assert condition(found, "PodResizeInProgress") == "True Error"
    (status,) = found.status.container_statuses
    assert status.allocated_resources["memory"] == "512Mi"
    assert status.resources is not None
    assert status.resources.limits["memory"] == "1Gi"
    assert any("attempting to set pod memory limit (536870912) below" in told for told in await node.events())
    await node.pass_time(90)
    assert condition(await node.get(), "PodResizeInProgress") == "absent"
    assert (await limits_of(node)).memory_limit == 512 << 20


def seen(of: Pod, type_: str) -> tuple[str | None, int] | None:
    """Return a condition's reason, and the generation that it is about."""
    found = find(of.status.conditions, type_)
    return (found.reason, found.observed_generation) if found is not None else None


async def test_progress_is_about_the_generation_that_was_granted(node: SimNode) -> None:
    """The pending condition is about the newest (``TestHandlePodResourcesResizeMultipleConditions``)."""
    used = {"usage": [{"memoryBytes": 800 << 20}]}
    await node.create(pod(containers=sized(), script=used))
    await node.create(pod("other", containers=sized("2")))
    await node.pass_time(5)
    await resize(node, memory="512Mi")
    await node.pass_time(1)
    error = ("Error", 2)
    assert (seen(await node.get(), "PodResizeInProgress"), seen(await node.get(), "PodResizePending")) == (
        error,
        None,
    )
    for restarts in (False, True):
        await resize(node, cpu="3" if not restarts else "4", memory="512Mi")
        await node.pass_time(1)
        if restarts:
            await node.restart()
            await node.pass_time(1)
        found = await node.get()
        generation = found.metadata.generation
        assert seen(found, "PodResizeInProgress") == error
        assert seen(found, "PodResizePending") == ("Deferred", generation)
    await resize(node, memory="512Mi")
    await node.pass_time(1)
    found = await node.get()
    assert (seen(found, "PodResizeInProgress"), seen(found, "PodResizePending")) == (error, None)
    await resize(node, cpu="2", memory="1Gi")
    await node.pass_time(1)
    found = await node.get()
    assert (seen(found, "PodResizeInProgress"), seen(found, "PodResizePending")) == (None, None)
    assert found.status.observed_generation == 6


async def test_events_show_the_resources_and_the_reason(node: SimNode) -> None:
    """Messages are those of ``pkg/kubelet/events/event.go``."""
    await node.create(pod("other", containers=sized("2")))
    used = {"usage": [{"memoryBytes": 800 << 20}]}
    side = {"name": "side", "image": "app:1", "restartPolicy": "Always"}
    await node.create(pod(containers=sized(), script=used, initContainers=[side]))
    await node.pass_time(5)
    await resize(node, cpu="3")
    await node.pass_time(1)
    await resize(node, memory="512Mi")
    await node.pass_time(1)
    await resize(node, memory="2Gi")
    await node.pass_time(1)

    def message(what: str, cpu: str, memory: str, generation: int, error: str = "") -> str:
        amounts = f'{{"cpu":"{cpu}","memory":"{memory}"}}'
        own = f'{{"name":"app","resources":{{"limits":{amounts},"requests":{amounts}}}}}'
        side = '"initContainers":[{"name":"side","resources":{}}]'
        more = f',"error":"{error}"' if error else ""
        return f'Pod resize {what}: {{{side},"containers":[{own}],"generation":{generation}{more}}}'

    short = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    usage = f"attempting to set container memory limit ({512 << 20}) below current usage ({800 << 20})"
    assert [told for told in await node.events() if told.startswith("Resize")] == [
        f"ResizeCompleted: {message('completed', '1', '2Gi', 4)}",
        f"ResizeDeferred: {message('Deferred', '3', '1Gi', 2, short)}",
        f"ResizeError: {message('error', '1', '512Mi', 3, usage)}",
        f"ResizeStarted: {message('started', '1', '2Gi', 4)}",
        f"ResizeStarted: {message('started', '1', '512Mi', 3)}",
    ]


async def test_grant_survives_a_kubelet_restart(node: SimNode) -> None:
    await node.create(pod("first", containers=sized("3")))
    await node.create(pod("second", containers=sized("1")))
    await node.pass_time(5)
    await resize(node, "second", cpu="3")
    await node.pass_time(1)
    await node.restart()
    await node.pass_time(5)
    found = await node.get("second")
    assert condition(found, "PodResizePending") == "True Deferred"
    assert found.status.container_statuses[0].allocated_resources["cpu"] == "1"
    assert (await node.get("first")).status.phase == "Running"


def pod_level(memory: str) -> dict[str, dict[str, str]]:
    return {"requests": {"cpu": "1", "memory": memory}, "limits": {"cpu": "1", "memory": memory}}


async def test_pod_as_a_whole_is_resized(node: SimNode) -> None:
    """Its containers have no limits of their own, so they have the pod's."""
    await node.create(pod(resources=pod_level("1Gi")))
    await node.pass_time(5)
    before = await node.get()
    assert before.status.allocated_resources == {"cpu": "1", "memory": "1Gi"}
    assert (await limits_of(node)).memory_limit == 1 << 30
    change = {"spec": {"resources": pod_level("2Gi")}}
    await node.client.patch(
        Pod, "web", change, "default", patch_type=PatchType.STRATEGIC, subresource="resize"
    )
    await node.pass_time(1)
    after = await node.get()
    assert (await limits_of(node)).memory_limit == 2 << 30
    assert after.status.allocated_resources == {"cpu": "1", "memory": "2Gi"}
    assert after.status.resources is not None
    assert after.status.resources.limits == {"cpu": "1", "memory": "2Gi"}
    assert condition(after, "PodResizeInProgress") == "absent"


async def test_deferred_resize_of_higher_priority_comes_first(node: SimNode) -> None:
    for name, priority in (("high", 1000), ("low", 10)):
        await node.client.create(PriorityClass(metadata=ObjectMeta(name=name), value=priority))
        await node.create(pod(name, containers=sized(), priorityClassName=name))
    await node.create(pod("large", containers=sized("2")))
    await node.pass_time(5)
    for name in ("low", "high"):
        await resize(node, name, cpu="3")
        await node.pass_time(1)
        assert condition(await node.get(name), "PodResizePending") == "True Deferred"
    await node.delete("large", 0)
    await node.pass_time(5)
    assert condition(await node.get("high"), "PodResizePending") == "absent"
    assert condition(await node.get("low"), "PodResizePending") == "True Deferred"


async def test_resizes_are_counted(node: SimNode) -> None:
    counted = node.kubelet.pod_view.metrics
    await node.create(pod("first", containers=sized("2")))
    await node.create(pod("second", containers=sized("1")))
    await node.pass_time(5)
    assert (counted.started_pods, counted.started_containers) == (2, {"container": 2})
    await resize(node, "second", cpu="3")
    await node.pass_time(1)
    wanted = {("increase", requirement, "cpu"): 1 for requirement in ("requests", "limits")}
    assert counted.requested_resizes == wanted
    assert (counted.deferred_accepted, counted.resize_milliseconds.counts) == ({}, {})
    await node.delete("first", 0)
    await node.pass_time(3)
    assert counted.deferred_accepted == {"pods_removed": 1}
    assert sum(counted.resize_milliseconds.counts["true"]) == 1
    await resize(node, "second", cpu="1")
    await node.create(pod("third", containers=sized("1")))
    await node.pass_time(3)
    await resize(node, "second", cpu="4")
    await node.pass_time(1)
    await resize(node, "second", cpu="2")
    await node.pass_time(1)
    assert counted.deferred_accepted == {"pods_removed": 1, "pod_updated": 1}
    await resize(node, "second", cpu="4")
    await node.pass_time(1)
    assert condition(await node.get("second"), "PodResizePending") == "True Deferred"
    await resize(node, "second", cpu="3")
    await node.pass_time(1)
    await resize(node, "third", cpu="2")
    await node.pass_time(1)
    await resize(node, "second", cpu="2")
    await node.pass_time(3)
    assert counted.deferred_accepted == {"pods_removed": 1, "pod_updated": 2, "pod_resized": 1}
    assert counted.infeasible_resizes == {}
