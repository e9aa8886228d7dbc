"""Scores by affinity between pods: the cases of upstream's ``interpodaffinity/scoring_test.go``.

A preference is written as its weight and a term of ``test_affinity_cases``: ``"5*security=S1@region"``.
A node is written as its region and zone.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Affinity,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    WeightedPodAffinityTerm,
)
from podling.api.meta_v1 import LabelSelector
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.plugin_args import InterPodAffinityArgs
from podling.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.plugins.test_affinity_cases import labels_of, term
from tests.unit.scheduler.scheduling import cache_of, facts, node, scores

PLUGIN = InterPodAffinity()
TEAM_1 = LabelSelector(match_labels={"team": "team1"})
NAMESPACES = {f"sub{sub}.team{team}": {"team": f"team{team}"} for sub in (1, 2) for team in (1, 2)}
IN_1, ALSO_IN_1, IN_2, NAMED = "sub1.team1", "sub2.team1", "sub1.team2", "sub2.team2"

NODES = {
    "china": {"region": "China"},
    "india": {"region": "India"},
    "az1": {"az": "az1"},
    "az2": {"az": "az2"},
    "china-az1": {"region": "China", "az": "az1"},
}


def weighted(text: str, teams: bool) -> WeightedPodAffinityTerm:
    weight, _, preferred = text.partition("*")
    return WeightedPodAffinityTerm(weight=int(weight), pod_affinity_term=_across(term(preferred), teams))


def _across(wanted: PodAffinityTerm, teams: bool) -> PodAffinityTerm:
    """Let the term mean pods of the first team's namespaces, and of one more."""
    if not teams:
        return wanted
    return structs.replace(wanted, namespaces=(NAMED, "default"), namespace_selector=TEAM_1)


def one(
    labels: str = "",
    near: str = "",
    apart: str = "",
    *,
    required: str = "",
    teams: bool = False,
    namespace: str = "default",
) -> PodFacts:
    """Return a pod with preferences, and required affinity; ``teams``: to pods of certain namespaces."""
    wanted = PodAffinity(
        required_during_scheduling_ignored_during_execution=tuple(
            _across(term(each), teams) for each in required.split()
        ),
        preferred_during_scheduling_ignored_during_execution=tuple(
            weighted(each, teams) for each in near.split()
        ),
    )
    unwanted = PodAntiAffinity(
        preferred_during_scheduling_ignored_during_execution=tuple(
            weighted(each, teams) for each in apart.split()
        )
    )
    affinity = Affinity(
        pod_affinity=wanted if near or required else None, pod_anti_affinity=unwanted if apart else None
    )
    return facts(labels=labels_of(labels), namespace=namespace, affinity=affinity)


def cluster(nodes: str, there: list[list[PodFacts]]) -> Cache:
    """Return nodes of these kinds, with these pods."""
    numbered = list(enumerate(nodes.split()))
    cache = cache_of(*(node(str(number), labels=NODES[kind]) for number, kind in numbered))
    cache.namespace_labels = {"default": {}, **NAMESPACES}
    for number, pods in enumerate(there):
        for each in pods:
            cache.add_pod(each, str(number))
    return cache


def scored(pod: PodFacts, cache: Cache, **args: Any) -> list[int] | None:
    found = scores(InterPodAffinity(InterPodAffinityArgs(**args)) if args else PLUGIN, pod, cache)
    return None if found is None else list(found.values())


A, B = "security=S1", "security=S2"
TO_A, TO_B = "5*security=S1@region", "6*security=S2@region"
FROM_A, FROM_B = "5*security=S1@az", "5*security=S2@az"
TO_A_MORE = "8*security=S1@region"
MIXED = "8*security!=S1,security=S2@region 2*security,!wrong@region"


@pytest.mark.parametrize(
    ("pod", "nodes", "there", "expected"),
    [
        (one(A, TO_A), "china india az1", [[one(A)], [one(B)], [one(A)]], [100, 0, 0]),
        (one("", TO_A), "china china-az1 india", [[one(A)]], [100, 100, 0]),
        (
            one(A, TO_B),
            "china india china china india",
            [[one(B), one(B)], [one(B)], [one(B)], [one(B)], [one(B)]],
            [100, 0, 100, 100, 0],
        ),
        (one(A, MIXED), "china india az1", [[one(A)], [one(B)], [one(A)]], [20, 100, 0]),
        (one(A, "", FROM_A), "az1 china", [[one(A)], [one(B)]], [0, 100]),
        (one(A, "", FROM_A), "az1 china", [[one(A)], [one(A)]], [0, 100]),
        (one(A, "", FROM_A), "az1 india", [[one(A), one(A)], [one(B)]], [0, 100]),
        (one(A, TO_A_MORE, FROM_B), "china az1", [[one(A)], [one(A)]], [100, 0]),
        (
            one(A, TO_A_MORE, FROM_B),
            "china-az1 india china china india",
            [[one(A), one(A)], [one(A)], [one(A), one(A)], [one(A)], [one(A)]],
            [100, 0, 100, 100, 0],
        ),
    ],
    ids=[
        "topology and selector",
        "same domain",
        "more pods in the domain",
        "operators",
        "anti-affinity",
        "node without the topology",
        "anti-affinity to several",
        "both",
        "both, pods of one set",
    ],
)
def test_own_preferences_score_nodes(
    pod: PodFacts, nodes: str, there: list[list[PodFacts]], expected: list[int]
) -> None:
    assert scored(pod, cluster(nodes, there)) == expected


BOTH_WAYS = one("", TO_A_MORE, FROM_B)
REQUIRED = "security=S1|value2@region security,!wrong@region"


@pytest.mark.parametrize(
    ("pod", "nodes", "there", "expected"),
    [
        (one(B), "china india az1", [[one(A, TO_A)], [one(B, TO_B)]], [0, 100, 0]),
        (
            one(A),
            "china india az1",
            [[one(A, required=REQUIRED)], [one(B, required=REQUIRED)]],
            [100, 100, 0],
        ),
        (one(B), "az1 az2", [[one(A, "", FROM_B)], [one(B, "", FROM_A)]], [0, 100]),
        (
            one(A, TO_A_MORE, FROM_B),
            "china az1 india az2",
            [[one(A)], [one(B)], [BOTH_WAYS], [one("", "", FROM_A)]],
            [100, 0, 100, 0],
        ),
        (one(A), "china china", [[one(A)], [BOTH_WAYS]], [0, 0]),
        (
            one(A, namespace=IN_1),
            "china india az1",
            [[one(A, TO_A, teams=True)], [one(B, TO_B)]],
            [100, 0, 0],
        ),
        (
            one(A, namespace=IN_1),
            "china india az1",
            [[one(A, "", "5*security=S1@region", teams=True)], [one(B, TO_B)]],
            [0, 100, 100],
        ),
    ],
    ids=[
        "affinity",
        "required affinity",
        "anti-affinity",
        "all at once",
        "one domain",
        "affinity across namespaces",
        "anti-affinity across namespaces",
    ],
)
def test_preferences_of_pods_that_are_there(
    pod: PodFacts, nodes: str, there: list[list[PodFacts]], expected: list[int]
) -> None:
    assert scored(pod, cluster(nodes, there)) == expected


@pytest.mark.parametrize("third", [IN_2, NAMED])
@pytest.mark.parametrize(
    ("near", "apart", "expected"), [(TO_A, "", [100, 0]), ("", "5*security=S1@region", [0, 100])]
)
def test_preferences_reach_into_selected_and_named_namespaces(
    near: str, apart: str, third: str, expected: list[int]
) -> None:
    """Two pods, and perhaps a third one, on the first node; one on the second."""
    there = [[one(A, namespace=each) for each in (IN_1, IN_1, third)], [one(A, namespace=ALSO_IN_1)]]
    pod = one(A, near, apart, teams=True, namespace=IN_1)
    assert scored(pod, cluster("china india", there)) == expected


@pytest.mark.parametrize(("namespace", "expected"), [(NAMED, [100, 100, 0]), (IN_2, [0, 100, 0])])
def test_pods_of_other_namespaces_do_not_count(namespace: str, expected: list[int]) -> None:
    there = [[one(A, namespace=namespace)], [one(A, namespace=ALSO_IN_1)]]
    pod = one(A, TO_A, teams=True, namespace=IN_1)
    assert scored(pod, cluster("china india az1", there)) == expected


@pytest.mark.parametrize(("ignored", "expected"), [(True, None), (False, [0, 100])])
def test_preferences_of_pods_that_are_there_may_be_ignored(ignored: bool, expected: list[int] | None) -> None:
    cache = cluster("china india", [[one(A, TO_A_MORE, FROM_B)], [one(B, TO_B)]])
    assert scored(one(B), cache, ignore_preferred_terms_of_existing_pods=ignored) == expected


@pytest.mark.parametrize(
    ("namespace", "weight", "expected"),
    [
        ("default", 1, [100, 100, 0]),
        ("default", 0, None),
        (IN_2, 1, None),
        (IN_1, 1, [100, 100, 0]),
        (NAMED, 1, [100, 100, 0]),
    ],
)
def test_required_affinity_of_pods_that_are_there_has_a_weight(
    namespace: str, weight: int, expected: list[int] | None
) -> None:
    owner = one("", required="service=S1@region", teams=True)
    other = one("", required="service=S1@region", teams=True)
    cache = cluster("china india az1", [[owner], [other]])
    pod = one("service=S1", namespace=namespace)
    assert scored(pod, cache, hard_pod_affinity_weight=weight) == expected


@pytest.mark.parametrize("nodes", ["china india az1", ""])
def test_nothing_is_scored_without_preferences(nodes: str) -> None:
    assert scored(one(A), cluster(nodes, [])) is None
