"""Pods whose plugins fail or refuse them: the cases of upstream's ``TestSchedulerScheduleOne``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

from podling import clock
from podling.api.core_v1 import Pod, PodSchedulingGate
from podling.client.base import Client
from podling.machinery.pods import condition
from podling.scheduler import plugin_registry
from podling.scheduler.cache import Cache
from podling.scheduler.framework import Hopeless, Plugin, Refused, Rejected, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.scheduler import Scheduler
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, get, join, kill, node_of, pod, scheduler_for, told
from tests.unit.scheduler.test_configured_scheduler import configuration
from tests.unit.scheduler.test_metrics import samples

PREFLIGHT = "PreBindPreFlight"


class Faulty(Plugin):
    """Fails at the extension point that a pod's label names, or refuses the pod there.

    One exclusive pod has a reservation at a time, and takes ten seconds before it is bound.
    """

    name = "Faulty"
    reserved: ClassVar[set[str]] = set()

    @staticmethod
    def _pass(point: str, pod: PodFacts, refusal: type[Exception] = Refused) -> None:
        if pod.labels.get("fails") == point:
            raise ValueError("bug")
        if pod.labels.get("refused") == point:
            raise refusal(f"rejected on {point}")

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        self._pass("PreFilter", pod, Hopeless)
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        self._pass("Filter", pod)
        return ()

    def pre_score(self, pod: PodFacts, cache: Cache, rows: Rows) -> bool:
        self._pass("PreScore", pod)
        return True

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        self._pass("Score", pod)
        return None

    def reserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        if "exclusive" in pod.labels and self.reserved:
            raise Refused("another pod is exclusive")
        self.reserved.add(pod.name)
        self._pass("Reserve", pod)

    def unreserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        self.reserved.discard(pod.name)

    def permit(self, pod: PodFacts, node: str, cache: Cache) -> float | None:
        self._pass("Permit", pod)
        return None

    def takes_time(self, pod: PodFacts, node: str, cache: Cache) -> bool:
        self._pass(PREFLIGHT, pod)
        return "PreBind" in pod.labels.values()

    async def pre_bind(self, pod: PodFacts, node: str, cache: Cache, client: Client) -> None:
        if "exclusive" in pod.labels:
            await clock.sleep(10)
        self._pass("PreBind", pod)

    async def bind(self, pod: PodFacts, node: str, client: Client) -> bool:
        self._pass("Bind", pod)
        return False


FAULTY = {
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Faulty"}]},
        "bind": {"disabled": [{"name": "*"}], "enabled": [{"name": "Faulty"}, {"name": "DefaultBinder"}]},
    }
}


@pytest.fixture
async def faulty(cluster: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scheduler]:
    """Run a scheduler with the plugin, and two nodes with capacity for one pod each."""
    found = EntryPoint("Faulty", f"{__name__}:Faulty", plugin_registry.GROUP)
    monkeypatch.setattr(plugin_registry, "_installed", lambda: (found,))
    monkeypatch.setattr(Faulty, "reserved", set())
    for name in ("m", "n"):
        await join(cluster, scheduling.node(name, cpu="1"))
    async with scheduler_for(cluster.client_for(SCHEDULER), configuration(FAULTY)) as scheduler:
        yield scheduler


async def attempt(cluster: ControlPlane, labels: dict[str, str]) -> None:
    """Let a pod be tried that is nominated to a node which is gone."""
    gates = (PodSchedulingGate(name="g"),)
    await cluster.client.create(pod("p", labels=labels, scheduling_gates=gates))
    nominated = {"status": {"nominatedNodeName": "gone"}}
    await cluster.client.patch(Pod, "p", nominated, "default", subresource="status")
    await cluster.client.patch(Pod, "p", {"spec": {"schedulingGates": None}}, "default")
    await cluster.advance(seconds=0.5)


async def assert_reported(cluster: ControlPlane, reason: str, text: str) -> None:
    found = await get(cluster, "p")
    scheduled = condition(found, "PodScheduled")
    assert scheduled is not None
    assert (scheduled.status, scheduled.reason, scheduled.message) == ("False", reason, text)
    assert found.status.nominated_node_name == ""
    assert await told(cluster, "p") == [f"Warning FailedScheduling {text}"]


async def assert_nothing_is_held(cluster: ControlPlane) -> None:
    """Assert that two other pods get the nodes at once."""
    assert Faulty.reserved == set()
    for name in ("a", "b"):
        await cluster.client.create(pod(name))
    await cluster.advance(seconds=0.2)
    assert sorted([await node_of(cluster, name) for name in ("a", "b")]) == ["m", "n"]


async def assert_error(cluster: ControlPlane, scheduler: Scheduler, text: str) -> None:
    await assert_reported(cluster, "SchedulerError", text)
    assert samples(scheduler, "pending_pods")[("backoff",)] == 1
    assert samples(scheduler, "schedule_attempts_total") == {("error", "default-scheduler"): 1}
    await assert_nothing_is_held(cluster)


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ("PreFilter", 'running PreFilter plugin "Faulty": bug'),
        ("Filter", 'running "Faulty" filter plugin: bug'),
        ("PreScore", 'running PreScore plugin "Faulty": bug'),
        ("Score", 'running Score plugins: plugin "Faulty" failed with: bug'),
        ("Reserve", 'running Reserve plugin "Faulty": bug'),
        ("Permit", 'running Permit plugin "Faulty": bug'),
        (PREFLIGHT, 'running PreBindPreFlight "Faulty": bug'),
    ],
)
async def test_error_is_reported_and_tried_again_after_a_back_off(
    cluster: ControlPlane, faulty: Scheduler, point: str, text: str
) -> None:
    await attempt(cluster, {"fails": point})
    await assert_error(cluster, faulty, text)


@pytest.mark.usefixtures("failures_expected")
@pytest.mark.parametrize("point", ["PreBind", "Bind"])
async def test_error_while_binding_is_an_error_of_the_attempt_too(
    cluster: ControlPlane, faulty: Scheduler, point: str
) -> None:
    await attempt(cluster, {"fails": point})
    await assert_error(cluster, faulty, f'running {point} plugin "Faulty": bug')


@pytest.mark.parametrize("point", ["PreBind", "Bind"])
async def test_refusal_after_the_decision_is_an_error(
    cluster: ControlPlane, faulty: Scheduler, point: str
) -> None:
    await attempt(cluster, {"refused": point})
    await assert_error(cluster, faulty, f'running {point} plugin "Faulty": rejected on {point}')


@pytest.mark.parametrize(
    ("point", "text"),
    [
        (
            "PreFilter",
            "0/2 nodes are available: rejected on PreFilter. preemption: 0/2 nodes are available: "
            "2 Preemption is not helpful for scheduling.",
        ),
        ("Reserve", "0/1 nodes are available: 1 rejected on Reserve."),
        ("Permit", "0/1 nodes are available: 1 rejected on Permit."),
    ],
)
async def test_refused_pod_waits_for_a_change(
    cluster: ControlPlane, faulty: Scheduler, point: str, text: str
) -> None:
    await attempt(cluster, {"refused": point})
    await assert_reported(cluster, "Unschedulable", text)
    assert samples(faulty, "pending_pods")[("unschedulable",)] == 1
    assert samples(faulty, "unschedulable_pods") == {("Faulty", "default-scheduler"): 1}
    await assert_nothing_is_held(cluster)


@pytest.mark.usefixtures("faulty")
async def test_reservation_of_a_deleted_pod_helps_others_when_it_ends(cluster: ControlPlane) -> None:
    """Upstream's ``handleAssumedPodDeletion``: the pod leaves the cache before its reservation ends."""
    for name in ("a", "b"):
        await cluster.client.create(pod(name, labels={"exclusive": "yes"}))
        await cluster.advance(seconds=1)
    await kill(cluster, "a")
    await cluster.advance(seconds=6)
    assert Faulty.reserved == {"a"}
    await cluster.advance(seconds=20)
    assert await node_of(cluster, "b") != ""
