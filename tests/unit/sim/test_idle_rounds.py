"""A cluster that skips idle rounds lives through the same as one that makes every round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.client.informer import Informer
from podling.kubelet.config import KubeletConfig
from podling.machinery.network_ranges import Network
from podling.runtime.base import RuntimeFailure
from podling.runtime.sim import ContainerScript, ExecScript, Fault, ProbeScript, Run, Scenario, Usage
from podling.sim import loop
from podling.sim.simulated_cluster import ClusterSettings, SimulatedCluster, simulated_cluster
from podling.sim.simulated_machine import SimulatedMachine
from podling.sim.simulated_node import NodeSettings
from podling.supervisor import Supervisor

JITTER_SECONDS = 10.0
"""The most by which times differ that depend on the renewals of leases, whose jitter is drawn by the seed."""
BACK_OFF_SECONDS = 60.0
"""The most by which times differ that depend on the back-off of watches, which is drawn by the seed."""

GIGABYTE = 1 << 30
SCRIPTS = Scenario(
    containers={
        "default/crashing/*": ContainerScript(runs=(Run(seconds=30, exit_code=1),)),
        "default/greedy/*": ContainerScript(
            usage=(Usage(after=5, memory_bytes=GIGABYTE), Usage(after=333, memory_bytes=20 * GIGABYTE))
        ),
        "default/job/*": ContainerScript(runs=(Run(seconds=100),)),
        "default/probed/*": ContainerScript(
            probes=(ProbeScript(after=222, success=False), ProbeScript(after=255)),
            exec=(ExecScript(), ExecScript(after=444, exit_code=1)),
        ),
    }
)
History = dict[str, list[tuple[float, Any]]]


PROBES = {
    "readinessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 5},
    "livenessProbe": {"exec": {"command": ["alive"]}, "periodSeconds": 10},
}


def pod(name: str, node: str) -> Pod:
    probes = PROBES if name == "probed" else {}
    spec: dict[str, Any] = {
        "nodeName": node,
        "containers": [{"name": "app", "image": "web:1", **probes}],
        "terminationGracePeriodSeconds": 5,
        "restartPolicy": "Never" if name == "job" else "Always",
    }
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, Pod)


def state_of(obj: Pod | Node) -> Any:
    """Return what matters of an object: the same in both clusters, and no time."""
    conditions = sorted((each.type, each.status, each.reason) for each in obj.status.conditions)
    if isinstance(obj, Node):
        return conditions, sorted((each.key, each.effect) for each in obj.spec.taints)
    containers = [(each.restart_count, each.ready) for each in obj.status.container_statuses]
    deleted = obj.metadata.deletion_timestamp is not None
    return obj.status.phase, obj.status.reason, deleted, containers, conditions


def record(history: History, began: float, obj: Pod | Node, *, gone: bool = False) -> None:
    found = history[f"{type(obj).__name__} {obj.metadata.name}"]
    state = "gone" if gone else state_of(obj)
    if not found or found[-1][1] != state:
        found.append((clock.monotonic() - began, state))


def settings(*, skips: bool) -> list[NodeSettings]:
    config = KubeletConfig(skip_idle_rounds=skips)
    return [NodeSettings(name=f"node-{number}", config=config) for number in (1, 2, 3)]


def machine(name: str, block: Network) -> SimulatedMachine:
    return SimulatedMachine(name, SCRIPTS, (), lambda change: None, pod_cidr=str(block))


async def history_of(skips: bool, happen: Callable[[SimulatedCluster], Any]) -> History:
    """Return the states of all pods and nodes of a cluster in which something happens."""
    history: History = defaultdict(list)
    chosen = ClusterSettings(make_machine=machine)
    async with simulated_cluster(settings(skips=skips), chosen) as cluster, Supervisor() as tasks:
        note = partial(record, history, clock.monotonic())
        for kind in (Pod, Node):
            informer: Informer[Any] = Informer(cluster.client, kind)
            informer.add_handler(note, lambda old, new: note(new), partial(note, gone=True))
            tasks.keep_running("informer", informer.run)
        await happen(cluster)
        await tasks.close()
    return history


def same(happen: Callable[[SimulatedCluster], Any], tolerance: float = JITTER_SECONDS) -> None:
    """Check that both clusters show the same states of each object at nearly the same times."""
    slow, quick = (loop.run(history_of(skips, happen), seed=3) for skips in (False, True))
    assert slow.keys() == quick.keys()
    for name, states in slow.items():
        assert [state for _, state in states] == [state for _, state in quick[name]], name
        pairs = zip(states, quick[name], strict=True)
        apart = [abs(before - after) for (before, _), (after, _) in pairs]
        assert max(apart) <= tolerance, name


def test_lives_of_containers_are_the_same() -> None:
    async def happen(cluster: SimulatedCluster) -> None:
        for name in ("crashing", "greedy", "job", "plain", "probed"):
            await cluster.client.create(pod(name, "node-1"))
        await cluster.advance(minutes=11)
        await cluster.client.delete(Pod, "plain", "default")
        await cluster.advance(minutes=1)

    same(happen)


def test_faults_of_machines_have_the_same_effects() -> None:
    async def happen(cluster: SimulatedCluster) -> None:
        for number in (1, 2, 3):
            await cluster.client.create(pod(f"plain-{number}", f"node-{number}"))
        await cluster.advance(seconds=33)
        first, second = (cluster.nodes[f"node-{number}"] for number in (1, 2))
        fault = Fault(verb="status", error=RuntimeFailure("down"))
        first.runtime.faults.append(fault)
        await cluster.advance(seconds=47)
        first.runtime.faults.remove(fault)
        silent = Fault(verb="events")
        first.runtime.faults.append(silent)
        (life,) = (each for each in await first.runtime.list_containers())
        first.runtime.end(life.id, 3)
        await cluster.advance(seconds=41)
        first.runtime.faults.remove(silent)
        assert isinstance(second.runtime, SimulatedMachine)
        second.runtime.disk_in_use = 99 * GIGABYTE
        await cluster.advance(seconds=52)
        second.runtime.disk_in_use = 0
        await cluster.advance(minutes=10)

    same(happen)


def test_lost_nodes_and_servers_have_the_same_effects() -> None:
    async def happen(cluster: SimulatedCluster) -> None:
        for number in (1, 2, 3):
            await cluster.client.create(pod(f"plain-{number}", f"node-{number}"))
        await cluster.advance(seconds=33)
        await cluster.nodes["node-1"].crash()
        await cluster.nodes["node-2"].connection.cut()
        await cluster.advance(minutes=7)
        await cluster.nodes["node-1"].start()
        cluster.nodes["node-2"].connection.mend()
        await cluster.advance(minutes=2)
        await cluster.client.delete(Pod, "plain-3", "default", grace_seconds=0)
        await cluster.stop_server()
        await cluster.advance(seconds=20)
        await cluster.start_server()
        await cluster.advance(minutes=2)

    same(happen, BACK_OFF_SECONDS)
