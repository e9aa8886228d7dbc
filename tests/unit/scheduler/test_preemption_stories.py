"""Stories of pods that are preempted by more important ones."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Event
from podling.machinery.pods import condition
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import get, join, kill, node_of, pod, told


class TestPreemption:
    @pytest.fixture
    async def full(self, running: ControlPlane) -> ControlPlane:
        await join(running, scheduling.node("n", cpu="1"))
        await running.client.create(pod("low"))
        await running.advance(seconds=1)
        return running

    async def test_victim_is_deleted_and_preemptor_takes_its_place(self, full: ControlPlane) -> None:
        high = await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)

        victim = await get(full, "low")
        assert victim.metadata.deletion_timestamp is not None
        target = condition(victim, "DisruptionTarget")
        assert target is not None
        assert (target.status, target.reason, target.message) == (
            "True",
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a higher priority pod",
        )
        uid = high.metadata.uid
        assert (await told(full, "low"))[-1] == f"Normal Preempted Preempted by pod {uid} on node n"
        waiting = await get(full, "high")
        assert (waiting.spec.node_name, waiting.status.nominated_node_name) == ("", "n")
        assert await told(full, "high") == [
            "Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."
        ]

        events = (await full.client.list(Event, "default")).items
        said = {(event.involved_object.name, event.reason, event.action) for event in events}
        assert said == {
            ("low", "Scheduled", "Binding"),
            ("low", "Preempted", "Preempting"),
            ("high", "FailedScheduling", "Scheduling"),
        }
        related = {event.reason: event.related for event in events if event.related is not None}
        assert {reason: each.uid for reason, each in related.items()} == {"Preempted": uid}

        await kill(full, "low")
        await full.advance(seconds=1)
        placed = await get(full, "high")
        assert (placed.spec.node_name, placed.status.nominated_node_name) == ("n", "")

    async def test_less_important_pod_does_not_take_freed_place(self, full: ControlPlane) -> None:
        await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)
        await full.client.create(pod("sneaky"))
        await kill(full, "low")
        await full.advance(seconds=1)
        assert [await node_of(full, name) for name in ("high", "sneaky")] == ["n", ""]

    async def test_place_of_deleted_preemptor_is_free_for_others(self, full: ControlPlane) -> None:
        await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)
        await full.client.create(pod("next", priority_class_name="p10"))
        await full.advance(seconds=1)
        low = await get(full, "low")
        assert (await get(full, "next")).status.nominated_node_name == ""
        await kill(full, "high")
        await full.advance(seconds=1)
        assert (await get(full, "low")).metadata.uid == low.metadata.uid
        assert (await get(full, "next")).status.nominated_node_name == "n"
        await kill(full, "low")
        await full.advance(seconds=1)
        assert await node_of(full, "next") == "n"

    async def test_more_important_pod_takes_nomination_over(self, full: ControlPlane) -> None:
        await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)
        await full.client.create(pod("higher", priority_class_name="p1000"))
        await full.advance(seconds=1)
        nominations = [(await get(full, name)).status.nominated_node_name for name in ("high", "higher")]
        assert nominations == ["", "n"]
        await kill(full, "low")
        await full.advance(seconds=1)
        assert [await node_of(full, name) for name in ("higher", "high")] == ["n", ""]
