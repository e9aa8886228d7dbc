"""Plugins with arguments: scoring strategies, ignored resources, added affinity, default constraints."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, Service, ServiceSpec
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.plugin_args import ARGS, args_with_defaults
from podling.scheduler.framework import Plugin
from podling.scheduler.plugin_registry import Registry
from podling.scheduler.plugins.node_affinity import ENFORCED, REASON
from podling.scheduler.podfacts import PodFacts, facts_of
from tests.unit.scheduler.scheduling import (
    accepted,
    affinity,
    anti_affinity,
    cache_of,
    container,
    facts,
    near,
    node,
    pod,
    rejections,
    scores,
)

GPU = "example.com/gpu"


def plugin(name: str, **args: Any) -> Plugin:
    """Return a plugin with arguments as a file has them."""
    kind = Registry(()).find(name)
    assert kind is not None
    return kind(args_with_defaults(msgspec.convert(args, ARGS[name])))


def strategy(kind: str, *resources: tuple[str, int], shape: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind}
    if resources:
        found["resources"] = [{"name": name, "weight": weight} for name, weight in resources]
    if shape is not None:
        points = [{"utilization": utilization, "score": score} for utilization, score in shape]
        found["requestedToCapacityRatio"] = {"shape": points}
    return {"scoringStrategy": found}


def asking(cpu: str = "", memory: str = "", **more: str) -> Pod:
    names = {"cpu": cpu, "memory": memory, GPU: more.get("gpu", "")}
    return pod(containers=[container({name: amount for name, amount in names.items() if amount})])


NODES = (node("n1", cpu="4000m", memory="10000"), node("n2", cpu="6000m", memory="10000"))
USED = {"n1": [asking("3000m", "4000")], "n2": [asking("3000m", "4000")]}


@pytest.mark.parametrize(
    ("args", "one", "expected"),
    [
        (strategy("LeastAllocated"), asking("1000m", "2000"), {"n1": 20, "n2": 36}),
        (
            strategy("LeastAllocated", ("cpu", 2), ("memory", 1)),
            asking("1000m", "2000"),
            {"n1": 13, "n2": 35},
        ),
        (strategy("MostAllocated"), asking("1000m", "2000"), {"n1": 80, "n2": 63}),
        (strategy("MostAllocated", ("cpu", 2), ("memory", 1)), asking("1000m", "2000"), {"n1": 86, "n2": 64}),
        (strategy("MostAllocated"), asking("9000m", "2000"), {"n1": 80, "n2": 80}),
        (
            strategy("RequestedToCapacityRatio", shape=[(0, 10), (100, 0)]),
            asking("1000m", "2000"),
            {"n1": 40, "n2": 37},
        ),
        (
            strategy("RequestedToCapacityRatio", shape=[(0, 0), (100, 10)]),
            asking("1000m", "2000"),
            {"n1": 80, "n2": 63},
        ),
    ],
)
def test_scoring_strategy_decides_the_score(args: dict[str, Any], one: Pod, expected: Any) -> None:
    assert scores(plugin("NodeResourcesFit", **args), facts_of(one), cache_of(*NODES, pods=USED)) == expected


def gpu_nodes() -> Cache:
    return cache_of(
        node("n1", extended={GPU: "8"}),
        node("n2", extended={GPU: "4"}),
        node("none"),
        pods={"n1": [asking(gpu="2")]},
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("LeastAllocated", {"n1": 50, "n2": 50, "none": 0}),
        ("MostAllocated", {"n1": 50, "n2": 50, "none": 0}),
    ],
)
def test_extended_resources_can_be_scored(kind: str, expected: dict[str, int]) -> None:
    fit = plugin("NodeResourcesFit", **strategy(kind, (GPU, 1)))
    assert scores(fit, facts_of(asking(gpu="2")), gpu_nodes()) == expected


def test_resource_that_the_pod_does_not_request_is_not_scored() -> None:
    fit = plugin("NodeResourcesFit", **strategy("MostAllocated", (GPU, 1)))
    assert scores(fit, facts(), gpu_nodes()) == {"n1": 0, "n2": 0, "none": 0}


def test_packing_by_ratio_prefers_the_fuller_node() -> None:
    packing = strategy("RequestedToCapacityRatio", (GPU, 3), ("cpu", 1), shape=[(0, 0), (100, 10)])
    found = scores(plugin("NodeResourcesFit", **packing), facts_of(asking("1", gpu="3")), gpu_nodes())
    assert found == {"n1": 53, "n2": 63, "none": 25}


@pytest.mark.parametrize(
    ("args", "taken"),
    [
        ({}, []),
        ({"ignoredResources": [GPU]}, ["n"]),
        ({"ignoredResources": ["example.com/other"]}, []),
        ({"ignoredResourceGroups": ["example.com"]}, ["n"]),
        ({"ignoredResourceGroups": ["example.org"]}, []),
        ({"ignoredResources": ["cpu"]}, []),
    ],
)
def test_extended_resources_can_be_ignored(args: dict[str, Any], taken: list[str]) -> None:
    fit = plugin("NodeResourcesFit", **args)
    assert accepted(fit, facts_of(asking(gpu="1")), cache_of(node("n"))) == taken
    assert accepted(fit, facts_of(asking("100")), cache_of(node("n"))) == []


@pytest.mark.parametrize("resources", [("cpu", "memory"), ("cpu", GPU), ("cpu", "memory", GPU), ("cpu",)])
def test_balance_is_the_deviation_of_the_configured_resources(resources: tuple[str, ...]) -> None:
    cache = cache_of(
        node("n1", cpu="4", memory="1000", extended={GPU: "4"}),
        node("n2", cpu="4", memory="1000", extended={GPU: "8"}),
        node("none", cpu="4", memory="2000"),
        pods={"n1": [asking("2", gpu="2")], "n2": [asking("1", "500")]},
    )
    balanced = plugin("NodeResourcesBalancedAllocation", resources=[{"name": name} for name in resources])
    one = facts_of(asking("1", "500", gpu="1"))
    found = scores(balanced, one, cache)
    assert found is not None
    assert found == {cache.name_of(row): balance(resources, one, cache, row) for row in cache.rows.tolist()}


def balance(resources: tuple[str, ...], one: PodFacts, cache: Cache, row: int) -> int:
    """Return the score of one node by the definition."""
    shares = []
    for resource in resources:
        column = cache.resources.index[resource]
        there = int(cache.resources.allocatable[column, row])
        if there:
            used = int(cache.resources.requested[column, row]) + one.requests[resource]
            shares.append(min(used / there, 1.0))
    if len(shares) == 2:
        return int((1 - abs(shares[0] - shares[1]) / 2) * 100)
    mean = sum(shares) / len(shares)
    return int((1 - (sum((share - mean) ** 2 for share in shares) / len(shares)) ** 0.5) * 100)


def needs(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def added(*required: dict[str, Any], preferred: dict[str, Any] | None = None) -> Plugin:
    affinity: dict[str, Any] = {}
    if required:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": list(required)}
    if preferred is not None:
        weighted = [{"weight": 5, "preference": preferred}]
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = weighted
    return plugin("NodeAffinity", addedAffinity=affinity)


def test_added_affinity_is_required_besides_the_pods_own() -> None:
    cache = cache_of(
        node("a", labels={"pool": "x", "disk": "ssd"}),
        node("b", labels={"pool": "x"}),
        node("c", labels={"disk": "ssd"}),
        node("d"),
    )
    found = rejections(added(needs("pool", "x")), facts(node_selector={"disk": "ssd"}), cache)
    assert found == {"b": [REASON], "c": [ENFORCED], "d": [ENFORCED]}
    assert rejections(added(needs("pool", "x")), facts(), cache) == {"c": [ENFORCED], "d": [ENFORCED]}


def test_added_preferences_are_scored() -> None:
    cache = cache_of(node("a", labels={"pool": "x"}), node("b"))
    assert scores(added(preferred=needs("pool", "x")), facts(), cache) == {"a": 100, "b": 0}


APP = {"app": "web"}


def test_weight_of_required_affinity_of_other_pods_is_configurable() -> None:
    wants = pod(labels={"app": "other"}, affinity=affinity(near(APP, topology="kubernetes.io/hostname")))
    cache = cache_of(node("a"), node("b"), pods={"a": [wants]})
    one = facts(labels=APP)
    assert scores(plugin("InterPodAffinity"), one, cache) == {"a": 100, "b": 0}
    assert scores(plugin("InterPodAffinity", hardPodAffinityWeight=0), one, cache) is None


def test_preferences_of_other_pods_can_be_ignored() -> None:
    term = near(APP, topology="kubernetes.io/hostname")
    wants = pod(labels={"app": "other"}, affinity=affinity(preferred={10: term}))
    cache = cache_of(node("a"), node("b"), pods={"a": [wants]})
    ignoring = plugin("InterPodAffinity", ignorePreferredTermsOfExistingPods=True)
    assert scores(ignoring, facts(labels=APP), cache) is None
    own = near({"app": "none"}, topology="kubernetes.io/hostname")
    one = facts(labels=APP, affinity=anti_affinity(preferred={1: own}))
    assert scores(ignoring, one, cache) == {"a": 100, "b": 0}


def spread_by(*constraints: dict[str, Any]) -> Plugin:
    return plugin("PodTopologySpread", defaultingType="List", defaultConstraints=list(constraints))


def constraint(when: str, key: str = "zone", skew: int = 1) -> dict[str, Any]:
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when}


def selected_cache() -> Cache:
    cache = cache_of(
        node("a", labels={"zone": "1"}),
        node("b", labels={"zone": "2"}),
        pods={"a": [pod(labels=APP)]},
    )
    service = Service(spec=ServiceSpec(selector=APP))
    cache.workloads.set_service("default", "web", service.spec.selector)
    return cache


def test_default_constraints_of_a_list_reject_nodes() -> None:
    spreading = spread_by(constraint("DoNotSchedule"))
    assert accepted(spreading, facts(labels=APP), selected_cache()) == ["b"]
    assert accepted(spreading, facts(labels={"app": "unselected"}), selected_cache()) == ["a", "b"]


def test_default_constraints_of_a_list_score_nodes() -> None:
    assert scores(spread_by(constraint("ScheduleAnyway")), facts(labels=APP), selected_cache()) == {
        "a": 0,
        "b": 100,
    }


def test_empty_list_of_default_constraints_spreads_nothing() -> None:
    assert scores(spread_by(), facts(labels=APP), selected_cache()) is None
