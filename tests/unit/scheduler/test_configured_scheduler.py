"""A scheduler with a configuration: several names, plugins of its own, back-off, on virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

from podling.api.core_v1 import Event, Pod
from podling.client.base import Client
from podling.scheduler import plugin_registry
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.files import configuration_of
from podling.scheduler.configuration.types import API_VERSION, KIND, KubeSchedulerConfiguration
from podling.scheduler.framework import Plugin, Refused, Rejected
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, join, node_of, pod, scheduler_for, told

PACKING = {
    "schedulerName": "packing",
    "pluginConfig": [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
    ],
    "plugins": {
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]},
    },
}


def configuration(*profiles: dict[str, Any], **fields: Any) -> KubeSchedulerConfiguration:
    document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": list(profiles), **fields}
    return configuration_of(document, "file")


async def test_profiles_place_their_pods_by_their_own_rules(cluster: ControlPlane) -> None:
    for name in ("a", "b"):
        await join(cluster, scheduling.node(name))
    both = configuration({"schedulerName": "default-scheduler"}, PACKING)
    async with scheduler_for(cluster.client_for(SCHEDULER), both):
        for number in range(4):
            await cluster.client.create(pod(f"spread-{number}", scheduler_name="default-scheduler"))
            await cluster.advance(seconds=1)
        for number in range(2):
            await cluster.client.create(pod(f"packed-{number}", scheduler_name="packing"))
            await cluster.advance(seconds=1)
        await cluster.client.create(pod("unknown", scheduler_name="nobody"))
        await cluster.advance(seconds=1)
    spread = [await node_of(cluster, f"spread-{number}") for number in range(4)]
    packed = [await node_of(cluster, f"packed-{number}") for number in range(2)]
    assert sorted(spread) == ["a", "a", "b", "b"]
    assert len(set(packed)) == 1
    assert await node_of(cluster, "unknown") == ""


async def test_events_name_the_scheduler_of_the_profile(cluster: ControlPlane) -> None:
    await join(cluster, scheduling.node("n"))
    async with scheduler_for(cluster.client_for(SCHEDULER), configuration(PACKING)):
        await cluster.client.create(pod("a", scheduler_name="packing"))
        await cluster.advance(seconds=5)
    [event] = (await cluster.client.list(Event, "default")).items
    assert event.source.component == "packing"


class Quota(Plugin):
    """Reserves a place for each pod; there are two. Pods named for it are held, or fail to be bound."""

    name = "Quota"

    def __init__(self, args: Any = None) -> None:
        super().__init__(args)
        self.reserved: list[str] = []

    def pre_enqueue(self, pod: PodFacts) -> str:
        return "held" if pod.labels.get("hold") else ""

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        names = [cache.name_of(int(row)) for row in rows]
        return (Rejected("node(s) are closed", np.array([name in self.args["closed"] for name in names])),)

    def reserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        if len(self.reserved) == 2:
            raise Refused("node(s) had no place left")
        self.reserved.append(pod.name)

    def unreserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        if pod.name in self.reserved:
            self.reserved.remove(pod.name)

    async def pre_bind(self, pod: PodFacts, node: str, cache: Cache, client: Client) -> None:
        if pod.labels.get("fails"):
            raise Refused("no luck")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with the plugin is installed."""
    found = EntryPoint("Quota", f"{__name__}:Quota", plugin_registry.GROUP)
    monkeypatch.setattr(plugin_registry, "_installed", lambda: (found,))


QUOTA = {
    "plugins": {"multiPoint": {"enabled": [{"name": "Quota"}]}},
    "pluginConfig": [{"name": "Quota", "args": {"closed": ["closed"]}}],
}


@pytest.mark.usefixtures("installed")
class TestPluginOfAPackage:
    async def test_filter_and_reserve_decide(self, cluster: ControlPlane) -> None:
        for name in ("closed", "open"):
            await join(cluster, scheduling.node(name))
        async with scheduler_for(cluster.client_for(SCHEDULER), configuration(QUOTA)):
            for number in range(3):
                await cluster.client.create(pod(f"p{number}"))
                await cluster.advance(seconds=1)
        assert [await node_of(cluster, f"p{number}") for number in range(3)] == ["open", "open", ""]
        assert await told(cluster, "p2") == [
            "Warning FailedScheduling 0/1 nodes are available: 1 node(s) had no place left."
        ]

    async def test_failure_before_the_binding_is_reported_and_tried_again(
        self, cluster: ControlPlane
    ) -> None:
        await join(cluster, scheduling.node("open"))
        slow = configuration(QUOTA, podInitialBackoffSeconds=100, podMaxBackoffSeconds=200)
        async with scheduler_for(cluster.client_for(SCHEDULER), slow):
            await cluster.client.create(pod("p", labels={"fails": "yes"}))
            await cluster.advance(seconds=5)
            assert await told(cluster, "p") == [
                'Warning FailedScheduling running PreBind plugin "Quota": no luck'
            ]
            await cluster.client.patch(Pod, "p", {"metadata": {"labels": {"fails": None}}}, "default")
            await cluster.advance(seconds=90)
            assert await node_of(cluster, "p") == ""
            await cluster.advance(seconds=10)
        assert await node_of(cluster, "p") == "open"

    async def test_pre_enqueue_holds_a_pod_back(self, cluster: ControlPlane) -> None:
        await join(cluster, scheduling.node("open"))
        async with scheduler_for(cluster.client_for(SCHEDULER), configuration(QUOTA)):
            await cluster.client.create(pod("p", labels={"hold": "yes"}))
            await cluster.advance(seconds=60)
            assert await node_of(cluster, "p") == ""
            await cluster.client.patch(Pod, "p", {"metadata": {"labels": {"hold": None}}}, "default")
            await cluster.advance(seconds=5)
        assert await node_of(cluster, "p") == "open"
