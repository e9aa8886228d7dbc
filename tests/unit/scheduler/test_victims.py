"""Removal of the victims of a preemption: which are deleted, rejected or left, and what is reported."""

from __future__ import annotations

from typing import Any, cast

import pytest

from podling.api.core_v1 import Pod
from podling.client.base import Client, Unreachable
from podling.client.events import EventRecorder
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.pods import condition
from podling.scheduler.podfacts import facts_of
from podling.scheduler.preemption import Victims
from podling.scheduler.victims import VictimRemover
from podling.testing import ControlPlane
from tests.unit.scheduler.at_work import SCHEDULER, get, pod, told
from tests.unit.scheduler.scheduling import facts


class Failing:
    """A client whose deletions of the pods of some names fail."""

    def __init__(self, client: Client, *names: str) -> None:
        self._client = client
        self._names = names
        self.deleted: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def delete(self, kind: type[Any], name: str, *arguments: Any, **options: Any) -> Any:
        if name in self._names:
            raise Unreachable("connection refused")
        self.deleted.append(name)
        return await self._client.delete(kind, name, *arguments, **options)


class TestVictims:
    @pytest.fixture(autouse=True)
    async def victims(self, cluster: ControlPlane) -> None:
        """Three pods on a node."""
        made = [await cluster.client.create(pod(name, node_name="n")) for name in ("a", "b", "c")]
        self.pods = tuple(facts_of(each) for each in made)
        self.unbound: set[str] = set()

    def remover(self, cluster: ControlPlane, *failing: str) -> tuple[Failing, VictimRemover]:
        client = Failing(cluster.client_for(SCHEDULER), *failing)
        recorder = self.recorder = EventRecorder(cluster.client, "default-scheduler")
        as_client = cast("Client", client)
        return client, VictimRemover(as_client, recorder, "default-scheduler", self.preempt)

    def preempt(self, uid: str, plugin: str) -> bool:
        assert plugin == "DefaultPreemption"
        return uid in self.unbound

    async def test_victims_get_the_condition_and_are_deleted(self, cluster: ControlPlane) -> None:
        client, remover = self.remover(cluster, "a")
        assert not await remover.remove(facts(), Victims("n", self.pods[:1], 0))
        found = condition(await get(cluster, "a"), "DisruptionTarget")
        assert found is not None
        assert (found.status, found.reason, found.message) == (
            "True",
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a higher priority pod",
        )
        client, remover = self.remover(cluster)
        assert await remover.remove(facts(), Victims("n", self.pods, 0))
        assert client.deleted == ["a", "b", "c"]

    async def test_last_victim_is_left_when_another_could_not_be_removed(self, cluster: ControlPlane) -> None:
        client, remover = self.remover(cluster, "a")
        assert not await remover.remove(facts(), Victims("n", self.pods, 0))
        assert client.deleted == ["b"]
        assert (await get(cluster, "c")).metadata.deletion_timestamp is None

    async def test_victims_that_are_being_deleted_are_left_alone(self, cluster: ControlPlane) -> None:
        await cluster.client.delete(Pod, "a", "default")
        going = facts_of(await get(cluster, "a"))
        assert going.terminating
        client, remover = self.remover(cluster)
        assert await remover.remove(facts(), Victims("n", (going, *self.pods[1:]), 0))
        assert client.deleted == ["b", "c"]
        assert condition(await get(cluster, "a"), "DisruptionTarget") is None

    async def test_victim_that_is_gone_counts_as_removed(self, cluster: ControlPlane) -> None:
        await cluster.client.delete(Pod, "b", "default", grace_seconds=0)
        with pytest.raises(ApiError) as gone:
            await get(cluster, "b")
        assert is_not_found(gone.value)
        _, remover = self.remover(cluster)
        assert await remover.remove(facts(), Victims("n", self.pods, 0))
        await self.recorder.close()
        assert await told(cluster, "b") == []
        [event] = await told(cluster, "a")
        assert event.startswith("Normal Preempted Preempted by pod ")

    async def test_victim_that_is_not_bound_yet_is_not_deleted(self, cluster: ControlPlane) -> None:
        self.unbound = {self.pods[0].uid}
        client, remover = self.remover(cluster)
        assert await remover.remove(facts(), Victims("n", self.pods[:2], 0))
        assert client.deleted == ["b"]
        assert condition(await get(cluster, "a"), "DisruptionTarget") is None
        await self.recorder.close()
        [event] = await told(cluster, "a")
        assert event.startswith("Normal Preempted Preempted by pod ")
