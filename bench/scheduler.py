"""Deciding: pods a second over many nodes, beside the same arithmetic over the same nodes in plain loops."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.harness import Figure, median, show
from podling.api.core_v1 import (
    Container,
    Node,
    NodeStatus,
    Pod,
    PodSpec,
    ResourceRequirements,
    TopologySpreadConstraint,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Placement, decide
from podling.scheduler.podfacts import facts_of
from podling.scheduler.profiles import default_configuration, make_profiles

[PROFILE] = make_profiles(default_configuration()).values()

NODES = 1_000
PODS = 2_000
LABELS = {"app": "web"}


def main() -> None:
    floor = median(plain_rate, 5)
    plain = median(lambda: rate(PodSpec), 3)
    spread = median(lambda: rate(spread_spec), 3)
    goal = "plain loops"
    show(
        [
            Figure(f"pods placed, {NODES} nodes", plain, "/s", floor, goal, 1.5, more_is_better=True),
            Figure("the same, spread over zones", spread, "/s", floor, goal, 0.7, more_is_better=True),
            Figure("adding a node", node_seconds() * 1e6, "us"),
        ]
    )


def node(number: int) -> Node:
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 10}"}
    allocatable = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    return Node(metadata=ObjectMeta(name=name, labels=labels), status=NodeStatus(allocatable=allocatable))


def pod(number: int, make_spec: Callable[..., PodSpec]) -> Pod:
    requests = ResourceRequirements(requests={"cpu": "250m", "memory": "512Mi"})
    container = Container(name="app", image="registry.example/app:1", resources=requests)
    metadata = ObjectMeta(name=f"pod-{number}", namespace="default", uid=f"uid-{number}", labels=LABELS)
    return Pod(metadata=metadata, spec=make_spec(containers=(container,)))


def spread_spec(containers: tuple[Container, ...]) -> PodSpec:
    constraint = TopologySpreadConstraint(
        max_skew=1,
        topology_key="topology.kubernetes.io/zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels=LABELS),
    )
    return PodSpec(containers=containers, topology_spread_constraints=(constraint,))


def first(rows: Sequence[int]) -> int:
    return rows[0]


def rate(make_spec: Callable[..., PodSpec]) -> float:
    """Measure pods a second, from the object to its place in the cache."""
    cache = Cache()
    for number in range(NODES):
        cache.set_node(node(number))
    pods = [pod(number, make_spec) for number in range(PODS)]
    start = time.perf_counter()
    for each in pods:
        facts = facts_of(each)
        outcome = decide(facts, cache, PROFILE, (), first)
        if not isinstance(outcome, Placement):
            raise RuntimeError(outcome.message())
        cache.add_pod(facts, outcome.node, assumed=True)
    return PODS / (time.perf_counter() - start)


def plain_rate() -> float:
    """Measure the minimum of a decision without columns: fit and the two resource scores, node by node."""
    allocatable = [(32_000, 128 * 1024**3, 110)] * NODES
    requested = [[0, 0, 0] for _ in range(NODES)]
    cpu, memory, times = 250, 512 * 1024**2, 200
    start = time.perf_counter()
    for _ in range(times):
        best, best_score = 0, -1
        for number, (all_cpu, all_memory, all_pods) in enumerate(allocatable):
            used = requested[number]
            if used[0] + cpu > all_cpu or used[1] + memory > all_memory or used[2] + 1 > all_pods:
                continue
            free_cpu = (all_cpu - used[0] - cpu) * 100 // all_cpu
            free_memory = (all_memory - used[1] - memory) * 100 // all_memory
            balance = 100 - abs(free_cpu - free_memory) // 2
            score = (free_cpu + free_memory) // 2 + balance
            if score > best_score:
                best, best_score = number, score
        used = requested[best]
        used[0], used[1], used[2] = used[0] + cpu, used[1] + memory, used[2] + 1
    return times / (time.perf_counter() - start)


def node_seconds() -> float:
    cache = Cache()
    nodes = [node(number) for number in range(NODES)]
    start = time.perf_counter()
    for each in nodes:
        cache.set_node(each)
    return (time.perf_counter() - start) / NODES


if __name__ == "__main__":
    main()
