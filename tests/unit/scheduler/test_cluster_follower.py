"""Changes of pods, and the other pods that they wake: the cases of upstream's ``eventhandlers_test``."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Event, Pod, PodSchedulingGate
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import get, join, kill, node_of, pod


async def nominate(cluster: ControlPlane, name: str, node: str | None) -> None:
    status = {"status": {"nominatedNodeName": node}}
    await cluster.client.patch(Pod, name, status, "default", subresource="status")


async def failures(cluster: ControlPlane, name: str) -> int:
    """Return how often a pod was tried in vain."""
    events = (await cluster.client.list(Event, "default")).items
    about = [event for event in events if event.involved_object.name == name]
    return sum(event.count for event in about if event.reason == "FailedScheduling")


class TestNominations:
    """``TestEventHandlers_MoveToActiveOnNominatedNodeUpdate``: a nominated pod is too large for any node."""

    @pytest.fixture
    async def kept_away(self, running: ControlPlane) -> ControlPlane:
        """Return a cluster whose only free node is nominated for another pod."""
        await running.client.create(
            PriorityClass(metadata=ObjectMeta(name="patient"), value=50, preemption_policy="Never")
        )
        await join(running, scheduling.node("n", cpu="2"))
        await join(running, scheduling.node("m", cpu="2", unschedulable=True))
        gates = (PodSchedulingGate(name="g"),)
        await running.client.create(pod("large", "9", priority_class_name="patient", scheduling_gates=gates))
        await nominate(running, "large", "n")
        await running.client.patch(Pod, "large", {"spec": {"schedulingGates": None}}, "default")
        await running.advance(seconds=2)
        await running.client.create(pod("low", priority_class_name="p1"))
        await running.advance(seconds=20)
        assert (await get(running, "large")).status.nominated_node_name == "n"
        assert await node_of(running, "low") == ""
        return running

    @pytest.mark.parametrize("how", ["moved", "cleared", "deleted"])
    async def test_pods_of_lower_priority_are_tried_when_it_ends(
        self, kept_away: ControlPlane, how: str
    ) -> None:
        if how == "deleted":
            await kill(kept_away, "large")
        else:
            await nominate(kept_away, "large", "m" if how == "moved" else None)
        await kept_away.advance(seconds=2)
        assert await node_of(kept_away, "low") == "n"

    async def test_no_pod_is_tried_for_a_new_nomination(self, kept_away: ControlPlane) -> None:
        await kept_away.client.create(pod("other", "9", priority_class_name="patient"))
        await kept_away.advance(seconds=20)
        before = await failures(kept_away, "low")
        await nominate(kept_away, "other", "n")
        await kept_away.advance(seconds=20)
        assert await failures(kept_away, "low") == before
