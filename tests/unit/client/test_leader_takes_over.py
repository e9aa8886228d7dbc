"""Several candidates over one lease: one leads at a time, another takes over when it stops."""

from __future__ import annotations

import asyncio
from typing import Any

from podling import clock
from podling.api.coordination_v1 import Lease
from podling.client.base import Client, Key, Unreachable
from podling.client.events import EventRecorder
from podling.client.leader import LeaderElector
from podling.testing import ControlPlane

LEASE = Key("kube-system", "scheduler")


class Candidate:
    """A process that wants to lead, and notes when it did."""

    def __init__(self, client: Any, name: str, recorder: EventRecorder | None = None) -> None:
        self.elector = LeaderElector(client, LEASE, name, recorder=recorder)
        self.spans: list[list[float]] = []
        self.task = asyncio.create_task(self.elector.run(self._lead))

    async def _lead(self) -> None:
        span = [clock.monotonic()]
        self.spans.append(span)
        try:
            await asyncio.Event().wait()
        finally:
            span.append(clock.monotonic())

    @property
    def leads(self) -> bool:
        return bool(self.spans) and len(self.spans[-1]) == 1

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Partition:
    """A client that can be cut off from the server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.is_cut = False

    def __getattr__(self, name: str) -> Any:
        if self.is_cut:
            raise Unreachable("cut off")
        return getattr(self._client, name)


async def test_one_of_many_leads_and_keeps_leading(cluster: ControlPlane) -> None:
    candidates = [Candidate(cluster.client, name) for name in "abc"]
    await cluster.advance(minutes=10)
    assert [each.leads for each in candidates].count(True) == 1
    assert sum(len(each.spans) for each in candidates) == 1
    lease = await cluster.client.get(Lease, LEASE.name, LEASE.namespace)
    assert lease.spec.lease_transitions == 0
    assert lease.spec.renew_time is not None
    assert (clock.now() - lease.spec.renew_time).total_seconds() <= 2
    for each in candidates:
        await each.stop()


async def test_who_stops_by_itself_is_followed_within_seconds(cluster: ControlPlane) -> None:
    first = Candidate(cluster.client, "a")
    await cluster.advance(seconds=1)
    second = Candidate(cluster.client, "b")
    await cluster.advance(minutes=1)
    await first.stop()
    stopped = clock.monotonic()
    await cluster.advance(seconds=10)
    assert second.leads
    assert second.spans[0][0] - stopped < 5
    lease = await cluster.client.get(Lease, LEASE.name, LEASE.namespace)
    assert lease.spec.lease_transitions == 1
    await second.stop()


async def test_who_is_cut_off_steps_down_before_another_takes_over(cluster: ControlPlane) -> None:
    cable: Any = Partition(cluster.client)
    first = Candidate(cable, "a")
    await cluster.advance(seconds=1)
    second = Candidate(cluster.client, "b")
    await cluster.advance(minutes=1)
    cable.is_cut = True
    await cluster.advance(minutes=1)
    assert second.leads
    (lost,) = [span[1] for span in first.spans]
    assert lost < second.spans[0][0], "never two leaders at once"
    await second.stop()


async def test_the_lead_is_told_as_events(cluster: ControlPlane) -> None:
    from podling.api.core_v1 import Event

    recorder = EventRecorder(cluster.client, "scheduler")
    candidate = Candidate(cluster.client, "a", recorder)
    await cluster.advance(seconds=5)
    await candidate.stop()
    await recorder.close()
    told = (await cluster.client.list(Event, "kube-system")).items
    assert sorted(event.message or "" for event in told) == ["a became leader", "a stopped leading"]
    assert {event.reason for event in told} == {"LeaderElection"}
