"""The NodeResourcesFit plugin."""

from __future__ import annotations

import pytest

from podling.scheduler.plugins.node_resources_fit import NodeResourcesFit
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    container,
    facts,
    node,
    pod,
    rejections,
    scores,
    unresolvable,
)


class TestFit:
    @pytest.mark.parametrize(
        ("asked", "reasons"),
        [
            ({"cpu": "3"}, []),
            ({"cpu": "3001m"}, ["Insufficient cpu"]),
            ({"cpu": "4", "memory": "8Gi"}, ["Insufficient cpu", "Insufficient memory"]),
            ({"ephemeral-storage": "1Ti"}, ["Insufficient ephemeral-storage"]),
            ({"example.com/gpu": "1"}, ["Insufficient example.com/gpu"]),
            ({"hugepages-2Mi": "2Mi"}, ["Insufficient hugepages-2Mi"]),
            ({}, []),
        ],
    )
    def test_free_amounts_decide_fit(self, asked: dict[str, str], reasons: list[str]) -> None:
        cache = cache_of(node("n"), pods={"n": [pod(cpu="1", memory="1Gi")]})
        found = rejections(NodeResourcesFit(), facts(containers=[container(asked)]), cache)
        assert found.get("n", []) == reasons

    def test_too_many_pods_is_said_beside_other_shortages(self) -> None:
        cache = cache_of(node("n", pods="1"), pods={"n": [pod(cpu="4")]})
        assert rejections(NodeResourcesFit(), facts(cpu="1"), cache) == {
            "n": ["Too many pods", "Insufficient cpu"]
        }

    def test_node_too_small_is_unresolvable_by_preemption(self) -> None:
        full = pod(cpu="4")
        cache = cache_of(node("full"), node("small", cpu="1"), pods={"full": [full]})
        assert accepted(NodeResourcesFit(), facts(cpu="2"), cache) == []
        assert unresolvable(NodeResourcesFit(), facts(cpu="2"), cache) == ["small"]

    def test_extended_resources_are_counted_like_any_other(self) -> None:
        gpus = {"example.com/gpu": "2"}
        cache = cache_of(node("plain"), node("gpus", extended=gpus))
        one = facts(containers=[container({"example.com/gpu": "1"})])
        assert accepted(NodeResourcesFit(), one, cache) == ["gpus"]
        cache.add_pod(facts(containers=[container(gpus)]), "gpus")
        assert accepted(NodeResourcesFit(), one, cache) == []

    def test_the_emptier_node_is_better(self) -> None:
        """(free CPU share + free memory share) / 2, with the pod there: 1 CPU and 2 GiB of 4 and 8."""
        cache = cache_of(node("empty"), node("half"), pods={"half": [pod(cpu="2", memory="4Gi")]})
        one = facts(cpu="1", memory="2Gi")
        assert scores(NodeResourcesFit(), one, cache) == {"empty": 75, "half": 25}

    def test_an_overfull_node_scores_nothing_and_not_less(self) -> None:
        cache = cache_of(node("n", cpu="1", memory="1Gi"), pods={"n": [pod(cpu="5", memory="5Gi")]})
        assert scores(NodeResourcesFit(), facts(), cache) == {"n": 0}

    def test_a_node_of_unknown_memory_is_scored_by_what_is_known(self) -> None:
        cache = cache_of(node("n", memory="0"))
        assert scores(NodeResourcesFit(), facts(cpu="1"), cache) == {"n": 75}
