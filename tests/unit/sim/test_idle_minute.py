"""An idle minute takes few wake-ups, so that work beside requests does not grow unseen."""

from __future__ import annotations

import asyncio
import cProfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

import podling
from podling import clock
from podling.api.core_v1 import ConfigMap, Pod, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.config import KubeletConfig
from podling.sim.loop import VirtualTimeLoop
from podling.sim.simulated_cluster import ClusterSettings, simulated_cluster
from podling.sim.simulated_node import NodeSettings

ROUNDS_OF_A_NODE = {
    "relist and clean-up": 12,
    "check of the runtime": 12,
    "status of the node": 6,
    "node-pressure eviction": 6,
    "renewal of the lease": 6,
}
ROUNDS_OF_A_CONTROL_PLANE = {
    "health of the nodes": 12,
    "own APIServices": 0,
    "adjustment of priority levels": 6,
    "default flow schemas": 1,
    "own namespaces and Service": 6,
    "default ServiceCIDR": 6,
    "compaction of history": 6,
    "garbage collection of pods": 3,
    "addresses of Services": 1,
}
END_OF_THE_MINUTE = 1
PASSES_OF_A_POD = 1
"""Each pod is looked at every 60 to 90 s, which refreshes its volumes."""

CALLS_OF_A_ROUND = 125
"""The most calls of Podling's functions for a timer, on average."""
CALLS_OF_A_POD = 900
"""The same for a pod in a minute: a pass, and its part of twelve relists."""

METADATA = ObjectMeta(name="settings", namespace="default")
CONFIG_MAP = ConfigMap(metadata=METADATA, data={"key": "value"})
SECRET = Secret(metadata=METADATA, data={"key": "dmFsdWU="})


def pod(number: int) -> Pod:
    volumes = [
        {"name": "map", "configMap": {"name": "settings"}},
        {"name": "secret", "secret": {"secretName": "settings"}},
    ]
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    spec = {
        "containers": [{"name": "app", "image": "web:1", "volumeMounts": mounts}],
        "volumes": volumes,
    }
    metadata = {"name": f"idle-{number}", "namespace": "default"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


class CountingLoop(VirtualTimeLoop):
    """A loop that counts the timers that fire."""

    fired = 0

    def reach(self, moment: float) -> None:
        self.fired += 1
        super().reach(moment)


@dataclass(frozen=True)
class Minute:
    """``timers`` that fired, ``writes`` to the store, and ``calls`` of Podling's functions."""

    timers: int
    writes: int
    calls: int


async def idle_minute(pods: int) -> Minute:
    """Measure a minute of a cluster of one node that makes all rounds, as over real containers."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    node = NodeSettings(name="node-1", config=KubeletConfig(skip_idle_rounds=False))
    async with simulated_cluster([node], ClusterSettings(shows_itself=True)) as cluster:
        await cluster.client.create(CONFIG_MAP)
        await cluster.client.create(SECRET)
        for number in range(pods):
            await cluster.client.create(pod(number))
        await cluster.advance(minutes=6)  # the next report of the node is far
        phases = [each.status.phase for each in (await cluster.client.list(Pod)).items]
        assert phases == ["Running"] * pods
        fired, revision = loop.fired, cluster.store.revision
        profile = cProfile.Profile()
        profile.enable()
        await clock.sleep(60)
        profile.disable()
        return Minute(loop.fired - fired, cluster.store.revision - revision, calls_in(profile))


def calls_in(profile: cProfile.Profile) -> int:
    folder = str(Path(podling.__file__).parent)
    every = ((each.code, each.callcount) for each in profile.getstats())
    return sum(count for code, count in every if getattr(code, "co_filename", "").startswith(folder))


@pytest.mark.parametrize("pods", [0, 10])
def test_idle_minute_takes_few_timers_writes_and_calls(pods: int) -> None:
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        minute = runner.run(idle_minute(pods))
    rounds = sum(ROUNDS_OF_A_NODE.values()) + sum(ROUNDS_OF_A_CONTROL_PLANE.values())
    most = END_OF_THE_MINUTE + rounds
    assert minute.timers <= most + pods * PASSES_OF_A_POD
    assert minute.writes <= ROUNDS_OF_A_NODE["renewal of the lease"]
    assert minute.calls <= most * CALLS_OF_A_ROUND + pods * CALLS_OF_A_POD
