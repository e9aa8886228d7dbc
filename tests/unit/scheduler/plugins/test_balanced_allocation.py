"""The NodeResourcesBalancedAllocation plugin."""

from __future__ import annotations

from typing import Any

import pytest

from podling.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from tests.unit.scheduler.scheduling import (
    cache_of,
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
