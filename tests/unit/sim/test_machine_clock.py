"""Clocks of simulated machines that are set: what follows them, and what does not."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from podling import clock
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Node, Pod
from podling.sim.loop import run
from podling.sim.machine_clock import MachineClock
from podling.sim.simulated_cluster import simulated_cluster
from tests.support.scenarios import played, web

HOUR = timedelta(hours=1)


def test_clock_in_use_is_inherited_by_tasks_and_ends_with_the_block() -> None:
    async def main() -> tuple[timedelta, timedelta]:
        machine = MachineClock(ahead=3600.0)
        begin = clock.now()
        with machine.in_use():
            inside = clock.now() - begin
        assert clock.now() == clock.steady_now() == begin
        return inside, clock.now() - begin

    assert run(main()) == (HOUR, timedelta(0))


async def test_objects_have_the_servers_time_and_leases_the_nodes() -> None:
    async with simulated_cluster(2) as cluster:
        cluster.machine.ahead = 7200.0
        cluster.nodes["node-1"].connection.machine.ahead = 3600.0
        await cluster.advance(seconds=30)
        made = await cluster.client.create(pod("late"))
        lease = await cluster.client.get(Lease, "node-1", "kube-node-lease")
        assert made.metadata.creation_timestamp is not None
        assert made.metadata.creation_timestamp - clock.seconds_precision(clock.now()) == 2 * HOUR
        assert lease.spec.renew_time is not None
        assert timedelta(seconds=-15) < lease.spec.renew_time - clock.now() - HOUR <= timedelta(0)


@pytest.mark.parametrize("ahead", [3600.0, -3600.0])
async def test_nodes_stay_ready_when_a_clock_is_set(ahead: float) -> None:
    """Signs of life are counted on a clock that is not set, and a lease set back is renewed all the same."""
    async with simulated_cluster(2) as cluster:
        await cluster.advance(minutes=2)
        cluster.machine.ahead = ahead
        cluster.nodes["node-2"].connection.machine.ahead = -ahead
        for _ in range(30):
            await cluster.advance(seconds=10)
            nodes = (await cluster.client.list(Node)).items
            ready = [each.status for node in nodes for each in node.status.conditions if each.type == "Ready"]
            assert ready == ["True", "True"]


@pytest.mark.parametrize("step", ["forward: 1h", "back: 1h"])
@pytest.mark.parametrize("machine", ["control-plane", "node/*"])
def test_pods_live_on_when_clocks_are_set_for_a_while(machine: str, step: str) -> None:
    """Containers end, images cannot be pulled and pods are deleted while the clock is wrong, and after it."""
    outcome = played(f"""
until: 20m
manifests: [{web(4)}]
behaviours: [{{pods: {{app: web}}, script: {{runs: [{{seconds: 70, exitCode: 1}}, {{}}]}}}}]
actions:
- {{at: 30s, runtime: {{verb: images.pull, error: no route, for: 1m}}}}
- {{at: 1m, stepClocks: {{machines: ["{machine}"], {step}, for: 2m}}}}
- {{at: 90s, setImage: {{target: {{kind: Deployment, name: web}}, image: "web:2"}}}}
- {{at: 2m, delete: {{target: {{kind: Pod, selector: app=web, count: 1}}}}}}
- {{at: 4m, delete: {{target: {{kind: Pod, selector: app=web, count: 1}}}}}}
settlesWithin: 10m
""")
    assert outcome.passed, outcome


@pytest.mark.parametrize("step", ["forward: 5h", "back: 5h"])
def test_wrong_clock_of_a_node_expires_no_token(step: str) -> None:
    """A token that had expired on the node's clock was replaced at once, for ever."""
    outcome = played(f"""
until: 10m
manifests: [{web(2)}]
actions:
- {{at: 1m, stepClocks: {{machines: ["node/*"], {step}}}}}
- {{at: 2m, restart: {{kind: Deployment, name: web}}}}
settlesWithin: 5m
""")
    assert outcome.passed, outcome


def pod(name: str) -> Pod:
    spec = {"schedulingGates": [{"name": "example.com/wait"}], "containers": [{"name": "c", "image": "c:1"}]}
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, Pod)
