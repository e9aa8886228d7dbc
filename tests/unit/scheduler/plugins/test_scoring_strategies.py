"""Scores by resources: the cases of Kubernetes' own tables for each strategy, and for balance."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Node, Pod
from podling.scheduler.podfacts import facts_of
from tests.unit.scheduler.plugins.test_plugin_arguments import plugin, strategy
from tests.unit.scheduler.scheduling import cache_of, container, node, pod, scores

FOO, BAR, GPU = "intel.com/foo", "intel.com/bar", "nvidia.com/gpu"


def sized(cpu: str, memory: str, **more: str) -> Node:
    """Return an unnamed node; ``foo``, ``bar`` and ``gpu`` are extended resources."""
    names = {"foo": FOO, "bar": BAR, "gpu": GPU}
    return node("", cpu=cpu, memory=memory, extended={names[key]: amount for key, amount in more.items()})


def asking(*requests: tuple[str, str], **more: str) -> Pod:
    """Return a pod with a container for each pair of CPU and memory, and one for extended resources."""
    names = {"foo": FOO, "bar": BAR, "gpu": GPU}
    each = [{"cpu": cpu, "memory": memory} for cpu, memory in requests]
    if more:
        each.append({names[key]: amount for key, amount in more.items()} | {"cpu": "0", "memory": "0"})
    return pod(containers=[container(amounts) for amounts in each])


def scored(name: str, args: dict[str, Any], one: Pod, nodes: list[Node], there: list[list[Pod]]) -> list[int]:
    named = [
        structs.replace(each, metadata=structs.replace(each.metadata, name=f"node{number}"))
        for number, each in enumerate(nodes)
    ]
    pods = {f"node{number}": each for number, each in enumerate(there)}
    found = scores(plugin(name, **args), facts_of(one), cache_of(*named, pods=pods))
    return [] if found is None else list(found.values())


NOTHING: Pod = asking()
BOTH = asking(("1000", "2000"), ("2000", "3000"))
CPU_ONLY = asking(("3000", "0"))
EQUAL = [sized("4000", "10000"), sized("4000", "10000")]
DIFFERENT = [sized("4000", "10000"), sized("6000", "10000")]
LARGE = [sized("10000", "20000"), sized("10000", "20000")]
WIDE = [sized("10000", "20000"), sized("10000", "50000")]
TWICE = [[asking(("3000", "0")) for _ in range(2)], [asking(("3000", "0")), asking(("3000", "5000"))]]
UNSAID = [pod(containers=[container()]) for _ in range(3)]
"""Pods without requests, which count with 100m CPU and 200 MiB each."""
SMALL = [sized("250m", "1000Mi"), sized("250m", "1000Mi")]
USED = [[CPU_ONLY], [asking(("3000", "5000"))]]


@pytest.mark.parametrize(
    ("one", "nodes", "there", "expected"),
    [
        (NOTHING, EQUAL, [], [100, 100]),
        (BOTH, DIFFERENT, [], [37, 50]),
        (NOTHING, EQUAL, [[NOTHING], [NOTHING]], [100, 100]),
        (NOTHING, LARGE, TWICE, [70, 57]),
        (BOTH, LARGE, USED, [57, 45]),
        (BOTH, WIDE, USED, [57, 60]),
        (CPU_ONLY, EQUAL, USED, [50, 25]),
        (NOTHING, [sized("0", "0"), sized("0", "0")], USED, [0, 0]),
    ],
)
def test_least_allocated_prefers_emptier_nodes(
    one: Pod, nodes: list[Node], there: list[list[Pod]], expected: list[int]
) -> None:
    assert scored("NodeResourcesFit", strategy("LeastAllocated"), one, nodes, there) == expected


@pytest.mark.parametrize(
    ("one", "nodes", "there", "expected"),
    [
        (NOTHING, EQUAL, [], [0, 0]),
        (BOTH, DIFFERENT, [], [62, 50]),
        (NOTHING, LARGE, TWICE, [30, 42]),
        (BOTH, LARGE, USED, [42, 55]),
        (
            asking(("2000", "4000"), ("3000", "5000")),
            [sized("4000", "10000"), sized("10000", "8000")],
            [],
            [95, 75],
        ),
        (NOTHING, [sized("0", "0"), sized("0", "0")], USED, [0, 0]),
        (UNSAID[0], SMALL, [UNSAID[1:]], [80, 30]),
    ],
)
def test_most_allocated_prefers_fuller_nodes(
    one: Pod, nodes: list[Node], there: list[list[Pod]], expected: list[int]
) -> None:
    assert scored("NodeResourcesFit", strategy("MostAllocated"), one, nodes, there) == expected


@pytest.mark.parametrize(("kind", "expected"), [("LeastAllocated", [41, 50]), ("MostAllocated", [58, 50])])
def test_weights_of_resources_count(kind: str, expected: list[int]) -> None:
    args = strategy(kind, ("memory", 2), ("cpu", 1))
    assert scored("NodeResourcesFit", args, BOTH, DIFFERENT, []) == expected


@pytest.mark.parametrize(
    ("kind", "one", "nodes", "expected"),
    [
        ("LeastAllocated", BOTH, [sized("6000", "10000"), sized("6000", "10000", gpu="4")], [50, 50]),
        (
            "LeastAllocated",
            asking(("1000", "2000"), ("2000", "3000"), gpu="2"),
            [sized("6000", "10000", gpu="4"), sized("6000", "10000", gpu="10")],
            [50, 60],
        ),
        ("MostAllocated", BOTH, [sized("6000", "10000"), sized("6000", "10000", gpu="4")], [50, 50]),
        (
            "MostAllocated",
            asking(("1000", "2000"), ("2000", "3000"), gpu="2"),
            [sized("6000", "10000", gpu="4"), sized("6000", "10000", gpu="10")],
            [50, 40],
        ),
    ],
)
def test_extended_resources_count_if_requested(
    kind: str, one: Pod, nodes: list[Node], expected: list[int]
) -> None:
    args = strategy(kind, ("cpu", 1), ("memory", 1), (GPU, 1))
    assert scored("NodeResourcesFit", args, one, nodes, []) == expected


@pytest.mark.parametrize(("kind", "expected"), [("LeastAllocated", [55, 55]), ("MostAllocated", [45, 45])])
def test_resource_that_a_node_lacks_does_not_count(kind: str, expected: list[int]) -> None:
    args = strategy(kind, (GPU, 2), ("cpu", 1), ("memory", 1))
    nodes = [sized("6000", "10000"), sized("6000", "10000", gpu="4")]
    assert scored("NodeResourcesFit", args, asking(("3000", "4000")), nodes, []) == expected


@pytest.mark.parametrize(
    ("one", "nodes", "there", "expected"),
    [
        (NOTHING, EQUAL, [[NOTHING]], [100, 100]),
        (BOTH, DIFFERENT, [[NOTHING]], [38, 50]),
        (NOTHING, DIFFERENT, [[asking(("3000", "5000"))], [asking(("3000", "5000"))]], [38, 50]),
    ],
)
def test_falling_shape_prefers_emptier_nodes(
    one: Pod, nodes: list[Node], there: list[list[Pod]], expected: list[int]
) -> None:
    args = strategy("RequestedToCapacityRatio", shape=[(0, 10), (100, 0)])
    assert scored("NodeResourcesFit", args, one, nodes, there) == expected


FOOS = [sized("4", "10Gi", foo="8"), sized("4", "10Gi", foo="4")]


@pytest.mark.parametrize(
    ("one", "there", "expected"),
    [
        (NOTHING, [], [0, 0]),
        (asking(foo="2"), [], [2, 5]),
        (asking(foo="2"), [[], [asking(foo="2")]], [2, 10]),
        (asking(foo="4"), [], [5, 10]),
    ],
)
def test_extended_resource_is_packed(one: Pod, there: list[list[Pod]], expected: list[int]) -> None:
    args = strategy("RequestedToCapacityRatio", (FOO, 1), shape=[(0, 0), (100, 1)])
    assert scored("NodeResourcesFit", args, one, FOOS, there) == expected


MIXED = [sized("4", "10Gi", foo="8", bar="4"), sized("4", "10Gi", foo="4", bar="8")]


@pytest.mark.parametrize(
    ("one", "there", "expected"),
    [
        (NOTHING, [], [0, 0]),
        (asking(foo="2", bar="2"), [], [4, 3]),
        (asking(foo="2", bar="2"), [[], [asking(foo="2", bar="2")]], [4, 7]),
        (asking(foo="4", bar="2"), [], [5, 5]),
    ],
)
def test_several_extended_resources_are_packed(one: Pod, there: list[list[Pod]], expected: list[int]) -> None:
    args = strategy("RequestedToCapacityRatio", (FOO, 3), (BAR, 5), shape=[(0, 0), (100, 1)])
    assert scored("NodeResourcesFit", args, one, MIXED, there) == expected


CPUS = asking(("1", "0"), ("2", "0"))
BALANCED = asking(("1", "2000"), ("2", "3000"))
WITH_GPU = asking(("1", "2000"), ("2", "3000"), gpu="3")


@pytest.mark.parametrize(
    ("resources", "one", "nodes", "there", "expected"),
    [
        ("cpu memory", NOTHING, EQUAL, [], []),
        ("cpu memory", BALANCED, [sized("4", "10000"), sized("6", "10000")], [], [87, 100]),
        ("cpu memory", BALANCED, [sized("10", "20000")] * 2, [[CPUS], [BALANCED]], [82, 95]),
        (
            "cpu memory",
            BALANCED,
            [sized("10", "20000"), sized("10", "50000")],
            [[CPUS], [BALANCED]],
            [82, 80],
        ),
        ("cpu memory", CPUS, [sized("6", "10000")] * 2, [[CPUS], [BALANCED]], [50, 75]),
        (
            f"cpu memory {GPU}",
            asking(gpu="1"),
            [sized("3500m", "40000", gpu="8")] * 2,
            [[WITH_GPU], [BALANCED]],
            [70, 65],
        ),
        (
            f"cpu memory {GPU}",
            BALANCED,
            [sized("3500m", "40000", gpu="8"), sized("3500m", "40000")],
            [],
            [63, 63],
        ),
    ],
)
def test_balanced_allocation_prefers_nodes_that_fill_up_alike(
    resources: str, one: Pod, nodes: list[Node], there: list[list[Pod]], expected: list[int]
) -> None:
    args = {"resources": [{"name": name} for name in resources.split()]}
    assert scored("NodeResourcesBalancedAllocation", args, one, nodes, there) == expected
