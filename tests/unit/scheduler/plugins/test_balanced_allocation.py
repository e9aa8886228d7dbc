"""The NodeResourcesBalancedAllocation plugin."""

from __future__ import annotations

from typing import Any

import pytest

from podling.scheduler.configuration.plugin_args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from podling.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from tests.unit.scheduler.scheduling import (
    cache_of,
    container,
    facts,
    node,
    pod,
    scores,
)


@pytest.mark.parametrize(
    ("there", "score"),
    [
        ([], 100),
        ([pod(cpu="2", memory="4Gi")], 100),
        ([pod(cpu="2", memory="0")], 75),
        ([pod(cpu="9", memory="0")], 56),
    ],
    ids=["empty", "even", "cpu half used", "capped at full"],
)
def test_a_balanced_node_is_better(there: list[Any], score: int) -> None:
    """The pod takes an eighth of both; a difference d in shares costs d/2."""
    cache = cache_of(node("n"), pods={"n": there})
    one = facts(cpu="500m", memory="1Gi")
    assert scores(NodeResourcesBalancedAllocation(), one, cache) == {"n": score}


def test_pods_without_requests_are_not_balanced() -> None:
    assert scores(NodeResourcesBalancedAllocation(), facts(), cache_of(node("n"))) is None


GPU = "nvidia.com/gpu"
CPU_ONLY: dict[str, str] = {"cpu": "3"}
BOTH = {"cpu": "3", "memory": "5000"}
WITH_GPU = {**BOTH, GPU: "3"}


@pytest.mark.parametrize(
    ("wanted", "nodes", "there", "names", "expected"),
    [
        (BOTH, [("4", "10000"), ("6", "10000")], [None, None], (), [87, 100]),
        (BOTH, [("10", "20000"), ("10", "20000")], [CPU_ONLY, BOTH], (), [82, 95]),
        (BOTH, [("10", "20000"), ("10", "50000")], [CPU_ONLY, BOTH], (), [82, 80]),
        (CPU_ONLY, [("6", "10000"), ("6", "10000")], [CPU_ONLY, BOTH], (), [50, 75]),
        ({GPU: "1"}, [("3500m", "40000", "8"), ("3500m", "40000", "8")], [WITH_GPU, BOTH], (GPU,), [70, 65]),
        (BOTH, [("3500m", "40000", "8"), ("3500m", "40000")], [None, None], (GPU,), [63, 63]),
        ({}, [("4", "10000"), ("4", "10000")], [None, None], (), None),
    ],
    ids=[
        "differently sized nodes",
        "pods with requests",
        "pods with requests on differently sized nodes",
        "requests at the capacity",
        "extended resource",
        "node without the extended resource",
        "nothing requested",
    ],
)
def test_scores_are_those_of_kubernetes(
    wanted: dict[str, str],
    nodes: list[tuple[str, ...]],
    there: list[dict[str, str] | None],
    names: tuple[str, ...],
    expected: list[int] | None,
) -> None:
    """The cases of ``balanced_allocation_test.go`` without dynamic resources."""
    made = [
        node(
            str(number), cpu=amounts[0], memory=amounts[1], extended={GPU: amounts[2]} if amounts[2:] else {}
        )
        for number, amounts in enumerate(nodes)
    ]
    pods = {
        str(number): [pod(containers=[container(requests)])]
        for number, requests in enumerate(there)
        if requests is not None
    }
    resources = tuple(ResourceSpec(name=name, weight=1) for name in ("cpu", "memory", *names))
    plugin = NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(resources=resources))
    found = scores(plugin, facts(containers=[container(wanted)]), cache_of(*made, pods=pods))
    assert (None if found is None else list(found.values())) == expected
