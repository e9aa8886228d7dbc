"""Zones and silent nodes: the cases of upstream's ``node_lifecycle_controller_test.go``."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.core_v1 import Node, NodeCondition, NodeStatus, Pod, Taint
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.nodes.node_health import is_silent, observe, silent_conditions
from podling.controllers.nodes.node_labels import labels_to_set
from podling.controllers.nodes.node_lifecycle import NodeLifecycleController
from podling.controllers.nodes.zones import Rates, ZoneState, is_excluded, judge
from podling.controllers.options import DEFAULT_OPTIONS
from podling.machinery.conditions import find
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, pod, running, set_phase, told

NORMAL, PARTIAL, FULL = ZoneState.NORMAL, ZoneState.PARTIAL, ZoneState.FULL
RATES = Rates.of(DEFAULT_OPTIONS)
LARGE = Rates(large_cluster_size=2)
Zones = dict[str, str]
"""The nodes of each zone: ``+`` for a ready one, ``-`` for another."""


def judged(before: dict[str, ZoneState], zones: Zones, rates: Rates = RATES) -> dict[str, ZoneState]:
    ready = {zone: [each == "+" for each in nodes] for zone, nodes in zones.items()}
    return dict(judge(before, ready, rates).states)


@pytest.mark.parametrize(
    ("first", "then", "states", "following"),
    [
        pytest.param({"": "+"}, {"": "+"}, {"": NORMAL}, {"": NORMAL}, id="one node, no zone"),
        pytest.param(
            {"a": "-", "b": "-"},
            {"a": "-", "b": "+"},
            {"a": FULL, "b": FULL},
            {"a": FULL, "b": NORMAL},
            id="one of two zones comes back",
        ),
        pytest.param({"a": "----"}, {"a": "---+"}, {"a": FULL}, {"a": PARTIAL}, id="the first node reports"),
        pytest.param({"a": "--+++"}, {"a": "---++"}, {"a": NORMAL}, {"a": PARTIAL}, id="above the threshold"),
        pytest.param({"a": "--+"}, {"a": "---"}, {"a": NORMAL}, {"a": FULL}, id="the last node fails"),
        pytest.param(
            {"a": "-", "b": "+"}, {"a": "-", "b": "+"}, {"a": FULL, "b": NORMAL}, {"a": FULL, "b": NORMAL}
        ),
        pytest.param(
            {"a": "-", "b": "-"}, {"a": "-", "b": "-"}, {"a": FULL, "b": FULL}, {"a": FULL, "b": FULL}
        ),
        pytest.param({"a": "+"}, {"a": "-"}, {"a": NORMAL}, {"a": FULL}, id="the condition is removed"),
    ],
)
def test_states_of_zones(
    first: Zones, then: Zones, states: dict[str, ZoneState], following: dict[str, ZoneState]
) -> None:
    """Cases of TestMonitorNodeHealth."""
    assert judged({}, first) == states
    assert judged(states, then) == following


@pytest.mark.parametrize(
    ("before", "zones", "rates", "stop", "resume"),
    [
        pytest.param({}, {"a": "+"}, {"a": 0.1}, False, False, id="at the start"),
        pytest.param({}, {"a": "-"}, {"a": 0.0}, True, False, id="all are down at the start"),
        pytest.param({"a": NORMAL}, {"a": "+"}, {}, False, False, id="unchanged"),
        pytest.param({"a": NORMAL}, {"a": "---"}, {"a": 0.0}, True, False, id="the only zone goes down"),
        pytest.param({"a": NORMAL, "b": NORMAL}, {"a": "---", "b": "+"}, {"a": 0.1}, False, False, id="one"),
        pytest.param({"a": NORMAL}, {"a": "---+"}, {"a": 0.01}, False, False, id="most, of a large zone"),
        pytest.param({"a": NORMAL, "b": NORMAL}, {"a": "---", "b": "--"}, {"a": 0.0, "b": 0.0}, True, False),
        pytest.param({"a": FULL, "b": FULL}, {"a": "---", "b": "--"}, {}, False, False, id="all stay down"),
        pytest.param(
            {"a": FULL, "b": FULL}, {"a": "---", "b": "+-"}, {"a": 0.1, "b": 0.1}, False, True, id="back"
        ),
        pytest.param({"a": FULL}, {"a": "---", "b": "+"}, {"b": 0.1}, False, False, id="a new zone is up"),
    ],
)
def test_rates_follow_states(
    before: dict[str, ZoneState], zones: Zones, rates: dict[str, float], stop: bool, resume: bool
) -> None:
    ready = {zone: [each == "+" for each in nodes] for zone, nodes in zones.items()}
    verdict = judge(before, ready, LARGE)
    assert (dict(verdict.rates), verdict.stop, verdict.resume) == (rates, stop, resume)


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [({}, False), ({"node.kubernetes.io/exclude-disruption": ""}, True), ({"role": "master"}, False)],
)
def test_nodes_excluded_from_disruption(labels: dict[str, str], wanted: bool) -> None:
    assert is_excluded(Node(metadata=ObjectMeta(name="master-abc", labels=labels))) is wanted


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


HOUR = 3600.0
LONG_AGO = -3 * 365 * 24 * HOUR
NEVER = "Kubelet never posted node status."
STOPPED = "Kubelet stopped posting node status."


def node(created: float, heartbeats: dict[str, float], status: str = "True") -> Node:
    conditions = tuple(
        NodeCondition(
            type=kind,
            status=status if kind == "Ready" else "False",
            last_heartbeat_time=at(moment),
            last_transition_time=at(0),
        )
        for kind, moment in heartbeats.items()
    )
    metadata = ObjectMeta(name="n", uid="u", creation_timestamp=at(created))
    return Node(metadata=metadata, status=NodeStatus(conditions=conditions))


def lease(renewed: float | None) -> Lease | None:
    return None if renewed is None else Lease(spec=LeaseSpec(renew_time=at(renewed)))


@pytest.mark.parametrize(
    ("created", "heartbeats", "renewed", "later", "silent"),
    [
        pytest.param(0, ({}, {}), (None, None), 0, False, id="new, without anything"),
        pytest.param(0, ({}, {}), (0, 0), 0, False, id="new, with a lease"),
        pytest.param(LONG_AGO, ({}, {}), (None, None), 0, True, id="old, without anything"),
        pytest.param(LONG_AGO, ({}, {}), (0, HOUR), HOUR, False, id="old, its lease is renewed"),
        pytest.param(LONG_AGO, ({}, {}), (0, 0), HOUR, True, id="old, its lease is not renewed"),
        pytest.param(
            LONG_AGO, ({"Ready": 0}, {"Ready": 0}), (0, HOUR), HOUR, False, id="only the lease is renewed"
        ),
        pytest.param(
            LONG_AGO, ({"Ready": 0}, {"Ready": HOUR}), (0, 0), HOUR, False, id="only the status is updated"
        ),
        pytest.param(LONG_AGO, ({"Ready": 0}, {"Ready": 0}), (0, 0), HOUR, True, id="neither"),
        pytest.param(LONG_AGO, ({"Ready": 0}, {"Ready": 0}), (None, None), 50, False, id="the grace period"),
        pytest.param(LONG_AGO, ({"Ready": 0}, {"Ready": 0}), (None, None), 51, True, id="a moment later"),
        pytest.param(
            LONG_AGO, ({"Ready": 0}, {}), (0, 0), HOUR, False, id="the condition was removed a moment ago"
        ),
        pytest.param(0, ({}, {}), (None, None), 60, False, id="the grace period of the start"),
        pytest.param(0, ({}, {}), (None, None), 61, True, id="a moment after that"),
    ],
)
def test_silence_between_two_looks(
    created: float,
    heartbeats: tuple[dict[str, float], dict[str, float]],
    renewed: tuple[float | None, float | None],
    later: float,
    silent: bool,
) -> None:
    """Cases of TestMonitorNodeHealthUpdateStatus and TestMonitorNodeHealthUpdateNodeAndPodStatusWithLease."""
    health = observe(None, node(created, heartbeats[0]), lease(renewed[0]), at(0))
    current = node(created, heartbeats[1])
    health = observe(health, current, lease(renewed[1]), at(later))
    assert is_silent(health, current, at(later), DEFAULT_OPTIONS) is silent


def test_conditions_of_a_silent_node_by_what_its_kubelet_had_posted() -> None:
    found = silent_conditions(node(LONG_AGO, {"Ready": 0, "DiskPressure": 5}), at(HOUR))
    shown = {each.type: (each.reason, each.message, each.last_heartbeat_time) for each in found}
    assert shown == {
        "Ready": ("NodeStatusUnknown", STOPPED, at(0)),
        "DiskPressure": ("NodeStatusUnknown", STOPPED, at(5)),
        "MemoryPressure": ("NodeStatusNeverUpdated", NEVER, at(LONG_AGO)),
        "PIDPressure": ("NodeStatusNeverUpdated", NEVER, at(LONG_AGO)),
    }
    assert {(each.status, each.last_transition_time) for each in found} == {("Unknown", at(HOUR))}


@pytest.mark.parametrize(
    ("labels", "added"),
    [
        ({}, {}),
        ({"topology.kubernetes.io/region": "region1"}, {}),
        (
            {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
            {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"},
        ),
        (
            {
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "windows",
                "beta.kubernetes.io/arch": "arm",
            },
            {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"},
        ),
    ],
)
def test_old_labels_of_nodes(labels: dict[str, str], added: dict[str, str]) -> None:
    """Cases of TestReconcileNodeLabels."""
    assert labels_to_set(labels) == added


@pytest.mark.parametrize("reports", [True, False])
async def test_pods_are_marked_once_when_their_node_falls_silent(
    cluster: ControlPlane, reports: bool
) -> None:
    """Cases of TestMonitorNodeHealthMarkPodsNotReady and its retries."""
    client = cluster.client
    await add_node(client, "n1")
    await client.create(pod("p", node="n1"))
    await set_phase(client, "p", "Running", ready=True)
    async with running(client, NodeLifecycleController):
        for _ in range(30):
            await cluster.advance(seconds=10)
            if reports:
                await heartbeat(client, "n1")
    ready = find((await client.get(Pod, "p", "default")).status.conditions, "Ready")
    assert ready is not None
    assert ready.status == ("True" if reports else "False")
    silent = [
        "Normal NodeNotReady n1: Node n1 status is now: NodeNotReady",
        "Warning NodeNotReady p: Node is not ready",
    ]
    assert sorted(line for line in await told(client) if "NodeNotReady" in line) == (
        [] if reports else silent
    )


async def test_taints_of_nodes_by_their_readiness_and_their_change(cluster: ControlPlane) -> None:
    """Cases of TestApplyNoExecuteTaints and TestSwapUnreachableNotReadyTaints."""
    client = cluster.client
    for name, ready in (("up", "True"), ("lost", "Unknown"), ("ill", "False"), ("foreign", "True")):
        await add_node(client, name, ready=ready)
    foreign = {"key": "mine", "effect": "NoExecute"}
    await client.patch(Node, "foreign", {"spec": {"taints": [foreign]}})

    async def evicting(name: str) -> list[str]:
        taints: tuple[Taint, ...] = (await client.get(Node, name)).spec.taints
        return [each.key for each in taints if each.effect == "NoExecute"]

    async def pass_time(seconds: int, **alive: str) -> None:
        for _ in range(seconds // 10):
            for name, status in alive.items():
                await heartbeat(client, name, ready=status)
            await cluster.advance(seconds=10)

    alive = {"up": "True", "ill": "False", "foreign": "True"}
    async with running(client, NodeLifecycleController):
        await pass_time(40, **alive)
        assert await evicting("up") == []
        assert await evicting("foreign") == ["mine"]
        assert await evicting("lost") == ["node.kubernetes.io/unreachable"]
        assert await evicting("ill") == ["node.kubernetes.io/not-ready"]
        await pass_time(20, **alive, lost="False")
        assert await evicting("lost") == ["node.kubernetes.io/not-ready"]
        await pass_time(20, **alive, lost="True")
        assert await evicting("lost") == []
