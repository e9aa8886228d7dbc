"""The cache: after any changes in any order, its columns equal a fresh count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from podling.api.core_v1 import ContainerPort, Node, PersistentVolumeClaimVolumeSource, Volume
from podling.machinery.selectors import parse_label_selector
from podling.scheduler.cache import Cache
from podling.scheduler.columns import CPU, MEMORY, PODS
from podling.scheduler.podfacts import HostPort, PodFacts
from podling.scheduler.podgroups import counts_per_row
from tests.unit.scheduler.scheduling import cache_of, container, facts, node, taint

TOPOLOGY = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def test_a_pod_counts_from_the_moment_it_is_assumed() -> None:
    cache = cache_of(node("n"))
    one = facts(cpu="1")
    cache.add_pod(one, "n", assumed=True)
    row = cache.row_of("n")
    assert cache.resources.requested[CPU, row] == 1000
    cache.forget(one.uid)
    assert cache.resources.requested[CPU, row] == 0


def test_forgetting_a_pod_that_was_confirmed_meanwhile_does_nothing() -> None:
    cache = cache_of(node("n"))
    one = facts(cpu="1")
    cache.add_pod(one, "n", assumed=True)
    cache.add_pod(one, "n")
    cache.forget(one.uid)
    assert cache.pod(one.uid) is not None


def test_the_api_may_say_another_node_than_was_assumed() -> None:
    cache = cache_of(node("a"), node("b"))
    one = facts(cpu="1")
    cache.add_pod(one, "a", assumed=True)
    cache.add_pod(one, "b")
    taken = cache.resources.requested[CPU]
    assert (taken[cache.row_of("a")], taken[cache.row_of("b")]) == (0, 1000)


def test_node_counts_overhead_init_containers_claims_and_ports_of_its_pods() -> None:
    """Upstream's ``TestNodeInfoAddPod`` and ``TestNodeInfoRemovePod``."""
    cache = cache_of(node("n"))
    row = cache.row_of("n")
    assert row is not None

    def one(requests: dict[str, str], port: int, claim: str, memory: str = "500", **spec: Any) -> PodFacts:
        overhead = {"cpu": "500m"} | ({"memory": memory} if memory else {})
        ports = (ContainerPort(container_port=port, host_port=port, host_ip="127.0.0.1"),)
        source = PersistentVolumeClaimVolumeSource(claim_name=claim)
        volumes = (Volume(name="v", persistent_volume_claim=source),)
        containers = [container(requests, ports=ports)]
        return facts(containers=containers, overhead=overhead, volumes=volumes, **spec)

    init = (container({"cpu": "500m", "memory": "200Mi"}),)
    pods = [
        one({"cpu": "100m", "memory": "500"}, 80, "one", memory=""),
        one({"cpu": "200m"}, 8080, "one"),
        one({"cpu": "200m"}, 8081, "two", init_containers=init),
    ]
    for each in pods:
        cache.add_pod(each, "n")
    counted = cache.resources
    assert (counted.requested[CPU, row], counted.requested[MEMORY, row]) == (2300, 209716700)
    assert (counted.scored[CPU, row], counted.scored[MEMORY, row]) == (2300, 419431900)
    assert [cache.claim_users("default", name) for name in ("one", "two")] == [2, 1]
    assert cache.port_taken(row, HostPort("TCP", 8080, "127.0.0.1"))
    cache.remove_pod(pods[1].uid)
    assert (counted.requested[CPU, row], counted.requested[MEMORY, row]) == (1600, 209716200)
    assert (counted.scored[CPU, row], counted.scored[MEMORY, row]) == (1600, 209716200)
    assert [cache.claim_users("default", name) for name in ("one", "two")] == [1, 1]
    assert not cache.port_taken(row, HostPort("TCP", 8080, "127.0.0.1"))


def test_pods_may_come_before_their_node_and_outlive_it() -> None:
    cache = Cache()
    cache.add_pod(facts(cpu="1"), "late")
    assert len(cache.rows) == 0
    cache.set_node(node("late"))
    assert cache.resources.requested[CPU, cache.row_of("late")] == 1000
    cache.remove_node("late")
    assert (len(cache.rows), cache.row_of("late")) == (0, None)
    cache.set_node(node("late"))
    assert cache.resources.requested[CPU, cache.row_of("late")] == 1000


def test_a_place_is_used_again_without_a_trace_of_who_had_it() -> None:
    cache = cache_of(node("old", labels={"zone": "a"}, taints=[taint("k")], unschedulable=True))
    cache.remove_node("old")
    cache.set_node(node("new", cpu="1"))
    rows = cache.rows
    assert [cache.name_of(int(row)) for row in rows] == ["new"]
    assert not cache.labels.selected(parse_label_selector("zone"), rows).any()
    assert cache.taint_sets[cache.taints[rows[0]]] == ()
    assert not cache.unschedulable[rows[0]]
    assert cache.resources.allocatable[CPU, rows[0]] == 1000


@pytest.mark.parametrize(
    ("added", "order"),
    [
        ("", ""),
        ("0", "0"),
        ("0 1", "01"),
        ("23 40", "2034"),
        ("2345 60", "203456"),
        ("2 34 5601", "2031456"),
        ("21 34 560", "2130456"),
    ],
)
def test_nodes_are_searched_in_turns_from_each_zone(added: str, order: str) -> None:
    """Upstream's ``TestSchedulerCache_updateNodeInfoSnapshotList``: two nodes have a zone of their own.

    A space stands for a search between two additions.
    """
    cache = Cache()
    for name in added:
        if name == " ":
            assert len(cache.search_order)
            continue
        zone = str(int(name) > 1)
        cache.set_node(node(name, labels=dict.fromkeys(TOPOLOGY, zone)))
    assert "".join(cache.name_of(row) for row in cache.search_order.tolist()) == order


def test_node_that_changes_its_zone_or_goes_is_searched_otherwise() -> None:
    cache = cache_of(*(node(name, labels={TOPOLOGY[1]: "a"}) for name in "xyz"))

    def order() -> str:
        return "".join(cache.name_of(row) for row in cache.search_order.tolist())

    assert order() == "xyz"
    cache.set_node(node("z", labels={TOPOLOGY[1]: "b"}))
    assert order() == "xzy"
    cache.remove_node("x")
    assert order() == "yz"


NAMES = st.sampled_from([f"n{number}" for number in range(6)])


NODES = st.builds(
    lambda name, zone, cpu, tainted, cordoned: node(
        name,
        labels={"zone": zone} if zone else {},
        cpu=cpu,
        taints=[taint("k")] if tainted else [],
        unschedulable=cordoned,
    ),
    NAMES,
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["1", "2"]),
    st.booleans(),
    st.booleans(),
)


def some_pod(app: str, cpu: str, host_port: int) -> PodFacts:
    ports = [ContainerPort(container_port=1, host_port=host_port)] if host_port else []
    requests = {"cpu": cpu, "example.com/thing": cpu} if cpu else {}
    return facts(labels={"app": app}, containers=[container(requests, ports=ports)])


PODS_ = st.builds(some_pod, st.sampled_from(["x", "y"]), st.sampled_from(["", "1"]), st.sampled_from([0, 80]))


class CacheMachine(RuleBasedStateMachine):
    """Nodes and pods come, change and go; a plain model says what must be counted."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[PodFacts, str]] = {}

    @rule(one=NODES)
    def set_node(self, one: Node) -> None:
        self.cache.set_node(one)
        self.nodes[one.metadata.name or ""] = one

    @rule(name=NAMES)
    def remove_node(self, name: str) -> None:
        self.cache.remove_node(name)
        self.nodes.pop(name, None)

    @rule(one=PODS_, name=NAMES, assumed=st.booleans())
    def add_pod(self, one: PodFacts, name: str, assumed: bool) -> None:
        self.cache.add_pod(one, name, assumed=assumed)
        self.pods[one.uid] = (one, name)

    @precondition(lambda self: self.pods)
    @rule(which=st.integers(0), name=NAMES)
    def move_pod(self, which: int, name: str) -> None:
        uid = sorted(self.pods)[which % len(self.pods)]
        self.cache.add_pod(self.pods[uid][0], name)
        self.pods[uid] = (self.pods[uid][0], name)

    @precondition(lambda self: self.pods)
    @rule(which=st.integers(0))
    def remove_pod(self, which: int) -> None:
        uid = sorted(self.pods)[which % len(self.pods)]
        assert self.cache.remove_pod(uid) is self.pods.pop(uid)[0]

    @invariant()
    def the_nodes_are_those_set(self) -> None:
        assert sorted(self.cache.name_of(int(row)) for row in self.cache.rows) == sorted(self.nodes)

    @invariant()
    def columns_say_what_counting_afresh_says(self) -> None:
        rows = self.cache.rows
        resources = self.cache.resources
        thing = resources.index.get("example.com/thing")
        in_a = self.cache.labels.selected(parse_label_selector("zone=a"), rows)
        for position, row in enumerate(rows):
            name = self.cache.name_of(int(row))
            there = [one for one, where in self.pods.values() if where == name]
            spec: Any = self.nodes[name]
            assert resources.requested[CPU, row] == sum(one.requests.get("cpu", 0) for one in there)
            assert resources.requested[PODS, row] == len(there)
            assert resources.scored[0, row] == sum(one.scored[0] for one in there)
            assert resources.allocatable[MEMORY, row] == 8 * 1024**3
            if thing is not None:
                wanted = sum(one.requests.get("example.com/thing", 0) for one in there)
                assert resources.requested[thing, row] == wanted
            assert in_a[position] == (spec.metadata.labels.get("zone") == "a")
            assert self.cache.unschedulable[row] == bool(spec.spec.unschedulable)
            assert bool(self.cache.taint_sets[self.cache.taints[row]]) == bool(spec.spec.taints)
            used = any(one.ports for one in there)
            assert self.cache.port_taken(int(row), HostPort("TCP", 80, "0.0.0.0")) == used
            assert {one.uid for one in self.cache.pods_on(int(row))} == {one.uid for one in there}

    @invariant()
    def groups_add_up(self) -> None:
        for app in ("x", "y"):
            groups = [group for group in self.cache.groups.all() if group.labels["app"] == app]
            total = int(np.sum(counts_per_row(groups, self.cache.capacity)))
            assert total == sum(one.labels["app"] == app for one, _ in self.pods.values())


TestCacheAgainstAPlainCount = CacheMachine.TestCase


TestCacheAgainstAPlainCount.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


def test_columns_grow_with_the_cluster() -> None:
    cache = cache_of(*(node(f"n{number}", labels={"half": str(number % 2)}) for number in range(100)))
    assert cache.labels.selected(parse_label_selector("half=1"), cache.rows).sum() == 50
    cache.add_pod(facts(cpu="1"), "n99")
    assert cache.resources.requested[CPU, cache.row_of("n99")] == 1000
