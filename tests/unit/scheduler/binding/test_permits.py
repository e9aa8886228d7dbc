"""Permission of plugins: pods that wait for it, time out, are rejected, preempted or deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import numpy as np
import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Pod, PodSchedulingGate
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.api.storage_v1 import StorageClass
from podling.machinery.pods import condition
from podling.scheduler import plugin_registry
from podling.scheduler.binding.permits import PermitRejected, Preempted, WaitingPod
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis
from podling.scheduler.framework import Handle, ObjectChange, Plugin, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Attempt, Refusal, Victims
from podling.scheduler.scheduler import Scheduler
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, get, join, node_of, pod, scheduler_for, told
from tests.unit.scheduler.scheduling import facts
from tests.unit.scheduler.test_configured_scheduler import configuration
from tests.unit.scheduler.test_metrics import samples


class TestWaitingPod:
    async def test_pod_waits_until_every_plugin_has_allowed_it(self) -> None:
        waiting = WaitingPod(facts(), "n", {"a": 10, "b": 20})
        clock.call_later(3, waiting.allow, "b")
        clock.call_later(5, waiting.allow, "a")
        started = clock.monotonic()
        await waiting.decision()
        assert clock.monotonic() - started == 5

    async def test_first_plugin_whose_time_is_over_rejects_the_pod(self) -> None:
        waiting = WaitingPod(facts(), "n", {"a": 90, "b": 20})
        waiting.allow("x")
        assert waiting.pending_plugins == {"a", "b"}
        with pytest.raises(PermitRejected) as rejected:
            await waiting.decision()
        assert str(rejected.value) == "rejected due to timeout after waiting 20s at plugin b"
        assert rejected.value.plugin == "b"

    async def test_first_decision_about_a_pod_stands(self) -> None:
        waiting = WaitingPod(facts(), "n", {"a": 10})
        waiting.allow("a")
        waiting.reject("a", "no")
        assert not waiting.preempt()
        await waiting.decision()

    async def test_preempted_pod_is_not_rejected(self) -> None:
        waiting = WaitingPod(facts(), "n", {"a": 10})
        assert waiting.preempt()
        with pytest.raises(Preempted, match="preempted"):
            await waiting.decision()


class Guard(Plugin):
    """Makes pods wait as their labels say; a pod that need not wait has all others allowed."""

    name = "Guard"
    wakes_on_objects = frozenset({"StorageClass"})
    made: ClassVar[list[Guard]] = []

    def __init__(self, args: Any = None) -> None:
        super().__init__(args)
        self.handle: Handle | None = None
        self.is_open = False
        self.made.append(self)

    def start(self, handle: Handle) -> None:
        self.handle = handle

    def pre_enqueue(self, pod: PodFacts) -> str:
        if pod.labels.get("gate") == "broken" and not self.is_open:
            raise ValueError("bug")
        return "closed" if pod.labels.get("gate") and not self.is_open else ""

    def permit(self, pod: PodFacts, node: str, cache: Cache) -> float | None:
        if "wait" in pod.labels:
            return float(pod.labels["wait"])
        assert self.handle is not None
        for waiting in self.handle.waiting_pods():
            waiting.allow(self.name)
        return None

    def post_filter(self, attempt: Attempt, diagnosis: Diagnosis) -> Victims | Refusal:
        if attempt.pod.labels.get("preempt") == "broken":
            raise ValueError("bug")
        return Refusal("not here")

    def pre_score(self, pod: PodFacts, cache: Cache, rows: Rows) -> bool:
        return pod.labels.get("score") != "skip"

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        names = [cache.name_of(row) for row in rows.tolist()]
        if "points" not in pod.labels:
            return None
        return np.array([int(pod.labels["points"]) * (name == "n") for name in names], np.int64)

    def wakes_for_object(self, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
        return True


GUARDED = {"plugins": {"multiPoint": {"enabled": [{"name": "Guard", "weight": 1000}]}}}


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = EntryPoint("Guard", f"{__name__}:Guard", plugin_registry.GROUP)
    monkeypatch.setattr(plugin_registry, "_installed", lambda: (found,))
    monkeypatch.setattr(Guard, "made", [])


class TestPermit:
    @pytest.fixture(autouse=True)
    async def guarded(self, cluster: ControlPlane) -> Any:
        """Run a scheduler with the plugin, and one node with capacity for two pods."""
        for value in (1, 10):
            await cluster.client.create(PriorityClass(metadata=ObjectMeta(name=f"p{value}"), value=value))
        await join(cluster, scheduling.node("n", cpu="2"))
        async with scheduler_for(cluster.client_for(SCHEDULER), configuration(GUARDED)):
            yield

    async def test_waiting_pod_holds_its_node_and_is_bound_when_allowed(self, cluster: ControlPlane) -> None:
        await cluster.client.create(pod("a", labels={"wait": "60"}))
        await cluster.advance(seconds=5)
        assert await node_of(cluster, "a") == ""
        assert (await get(cluster, "a")).status.nominated_node_name == "n"
        await cluster.client.create(pod("big", cpu="2"))
        await cluster.advance(seconds=1)
        assert "Insufficient cpu" in (await told(cluster, "big"))[0]
        await cluster.client.create(pod("b"))
        await cluster.advance(seconds=1)
        assert [await node_of(cluster, name) for name in ("a", "b")] == ["n", "n"]

    @pytest.mark.parametrize(("label", "kept"), [("", ""), ("broken", "gone")])
    async def test_error_while_preempting_leaves_the_pod_unschedulable(
        self, cluster: ControlPlane, label: str, kept: str
    ) -> None:
        gates = (PodSchedulingGate(name="g"),)
        never = PriorityClass(metadata=ObjectMeta(name="never"), value=1, preemption_policy="Never")
        await cluster.client.create(never)
        labels = {"preempt": label}
        await cluster.client.create(
            pod("a", "9", labels=labels, priority_class_name="never", scheduling_gates=gates)
        )
        nominated = {"status": {"nominatedNodeName": "gone"}}
        await cluster.client.patch(Pod, "a", nominated, "default", subresource="status")
        await cluster.client.patch(Pod, "a", {"spec": {"schedulingGates": None}}, "default")
        await cluster.advance(seconds=1)
        no = "preemption: not eligible due to preemptionPolicy=Never."
        text = "bug" if label else f"{no}, not here"
        text = f"0/1 nodes are available: 1 Insufficient cpu. {text}"
        await _assert_condition(cluster, "a", "Unschedulable", text)
        assert (await get(cluster, "a")).status.nominated_node_name == kept

    async def test_pod_whose_time_is_over_gives_its_node_back(self, cluster: ControlPlane) -> None:
        await cluster.client.create(pod("a", cpu="2", labels={"wait": "10"}))
        await cluster.advance(seconds=1)
        await cluster.client.create(pod("b", cpu="2"))
        await cluster.advance(seconds=15)
        text = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Guard."
        assert (await told(cluster, "a"))[0] == f"Warning FailedScheduling {text}"
        assert await node_of(cluster, "b") == "n"

    async def test_deleted_pod_gives_its_node_back(self, cluster: ControlPlane) -> None:
        await cluster.client.create(pod("a", cpu="2", labels={"wait": "600"}))
        await cluster.client.create(pod("b", cpu="2"))
        await cluster.advance(seconds=1)
        await cluster.client.delete(Pod, "a", "default", grace_seconds=0)
        await cluster.advance(seconds=5)
        assert await node_of(cluster, "b") == "n"
        assert await told(cluster, "a") == ["Warning FailedScheduling 0/1 nodes are available: 1 removed."]

    async def test_pod_that_is_being_deleted_gives_its_node_back(self, cluster: ControlPlane) -> None:
        """A case of upstream's ``TestUpdatePod``: a finalizer keeps a pod that cannot be bound any more."""
        made = pod("a", cpu="2", labels={"wait": "600"})
        kept = structs.replace(made.metadata, finalizers=("example.com/keep",))
        await cluster.client.create(structs.replace(made, metadata=kept))
        await cluster.client.create(pod("b", cpu="2"))
        await cluster.advance(seconds=1)
        await cluster.client.delete(Pod, "a", "default", grace_seconds=0)
        await cluster.advance(seconds=5)
        assert await node_of(cluster, "b") == "n"
        assert await told(cluster, "a") == [
            "Warning FailedScheduling 0/1 nodes are available: 1 removed.",
            "Warning FailedScheduling skip schedule deleting pod: default/a",
        ]

    async def test_waiting_victim_of_a_preemption_is_tried_again_not_deleted(
        self, cluster: ControlPlane
    ) -> None:
        await cluster.client.create(pod("low", cpu="2", labels={"wait": "600"}, priority_class_name="p1"))
        await cluster.advance(seconds=1)
        await cluster.client.create(pod("high", cpu="2", priority_class_name="p10"))
        await cluster.advance(seconds=5)
        assert await node_of(cluster, "high") == "n"
        low = await get(cluster, "low")
        assert low.metadata.deletion_timestamp is None
        assert condition(low, "DisruptionTarget") is None
        events = await told(cluster, "low")
        assert "Warning FailedScheduling waiting on permit for pod: preempted" in events
        assert any("1 Insufficient cpu." in event for event in events), "it is tried again"
        assert any(event.startswith("Normal Preempted Preempted by pod ") for event in events)

    async def test_change_while_a_pod_waits_is_not_missed(self, cluster: ControlPlane) -> None:
        await cluster.client.create(pod("a", labels={"wait": "5"}))
        await cluster.advance(seconds=2)
        await cluster.client.create(StorageClass(metadata=ObjectMeta(name="new"), provisioner="x"))
        await cluster.advance(seconds=5)
        first = [event for event in await told(cluster, "a") if "rejected due to timeout" in event]
        assert first
        assert (await get(cluster, "a")).status.nominated_node_name == "n", "it waits for the second time"
        await cluster.advance(seconds=20)
        assert (await get(cluster, "a")).status.nominated_node_name == "", "no change, no third attempt"

    @pytest.mark.parametrize("gate", ["closed", "broken"])
    async def test_gate_of_a_plugin_opens_with_any_change(self, cluster: ControlPlane, gate: str) -> None:
        await cluster.client.create(pod("a", labels={"gate": gate}))
        await cluster.advance(seconds=5)
        assert await node_of(cluster, "a") == ""
        [guard] = Guard.made
        guard.is_open = True
        await join(cluster, scheduling.node("m"))
        await cluster.advance(seconds=2)
        assert await node_of(cluster, "a") != ""

    async def test_plugin_activates_a_pod_that_waits(self, cluster: ControlPlane) -> None:
        made = await cluster.client.create(pod("a", labels={"gate": "closed"}))
        await cluster.advance(seconds=5)
        [guard] = Guard.made
        guard.is_open = True
        assert guard.handle is not None
        guard.handle.activate([made.metadata.uid or "", "unknown"])
        await cluster.advance(seconds=1)
        assert await node_of(cluster, "a") == "n"


async def test_pods_of_all_profiles_wait_together(cluster: ControlPlane) -> None:
    """Upstream's ``TestFrameworkHandler_IterateOverWaitingPods``: the plugin of one profile sees all."""
    await join(cluster, scheduling.node("n"))
    names = ("one", "two", "three")
    profiles = [{"schedulerName": name, **GUARDED} for name in names]
    async with scheduler_for(cluster.client_for(SCHEDULER), configuration(*profiles)):
        for name in names[:2]:
            await cluster.client.create(pod(name, labels={"wait": "600"}, scheduler_name=name))
        await cluster.advance(seconds=5)
        assert [await node_of(cluster, name) for name in names[:2]] == ["", ""]
        for guard in Guard.made:
            assert guard.handle is not None
            assert sorted(each.facts.name for each in guard.handle.waiting_pods()) == ["one", "two"]
        await cluster.client.create(pod("three", scheduler_name="three"))
        await cluster.advance(seconds=1)
        assert [await node_of(cluster, name) for name in names] == ["n", "n", "n"]


class TestPreScore:
    @pytest.fixture(autouse=True)
    async def guarded(self, cluster: ControlPlane) -> AsyncIterator[Scheduler]:
        for name in ("m", "n"):
            await join(cluster, scheduling.node(name))
        async with scheduler_for(cluster.client_for(SCHEDULER), configuration(GUARDED)) as scheduler:
            yield scheduler

    async def test_scores_count_unless_skipped(self, cluster: ControlPlane) -> None:
        names: Sequence[str] = [f"p{number}" for number in range(3)]
        for name in names:
            await cluster.client.create(pod(name, labels={"points": "100"}))
            await cluster.advance(seconds=1)
        assert [await node_of(cluster, name) for name in names] == ["n", "n", "n"]
        await cluster.client.create(pod("free", labels={"points": "100", "score": "skip"}))
        await cluster.advance(seconds=1)
        assert await node_of(cluster, "free") == "m"

    async def test_score_out_of_range_is_an_error(self, cluster: ControlPlane, guarded: Scheduler) -> None:
        await cluster.client.create(pod("a", labels={"points": "101"}))
        await cluster.advance(seconds=0.5)
        text = (
            'applying score defaultWeights on Score plugins: plugin "Guard" returns an invalid score 101, it '
            "should in the range of [0, 100] after normalizing"
        )
        await _assert_condition(cluster, "a", "SchedulerError", text)
        assert samples(guarded, "schedule_attempts_total") == {("error", "default-scheduler"): 1}
        assert samples(guarded, "scheduling_algorithm_duration_seconds_count") == {(): 1}
        points = samples(guarded, "framework_extension_point_duration_seconds_count")
        assert points["Score", "Error", "default-scheduler"] == 1


async def _assert_condition(cluster: ControlPlane, name: str, reason: str, message: str) -> None:
    found = condition(await get(cluster, name), "PodScheduled")
    assert found is not None
    assert (found.status, found.reason, found.message) == ("False", reason, message)
