"""Victims on single nodes, and the nodes looked at: the cases of upstream's ``TestDryRunPreemption``.

A node has 500 thousandths of a CPU. Pods are small, medium, large or huge; priorities low, middle or high.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Affinity, Pod, PodCondition, PodStatus
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement, ObjectMeta
from podling.api.policy_v1 import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis, decide
from podling.scheduler.framework import Plugin, Rejected
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.scheduler.preemption import Attempt, Refusal, Victims, more_important, preempt, victims_on
from tests.unit.scheduler.plugins.spreading import spread
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE, anti_affinity, cache_of, node, pod
from tests.unit.scheduler.scheduling import near as term

LOW, MIDDLE, HIGH = 0, 100, 1000
SMALL, MEDIUM, LARGE, HUGE = "100m", "200m", "300m", "500m"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FOO = {"app": "foo"}
HOST = "kubernetes.io/hostname"
APART: Affinity = anti_affinity(term(FOO, HOST))


def one(name: str, priority: int, cpu: str, minutes: float = 0, **more: Any) -> Pod:
    """Return a pod that started so many minutes after noon."""
    status = PodStatus(start_time=NOON + timedelta(minutes=minutes))
    return pod(name, cpu=cpu, priority=priority, status=status, **more)


def wanting(cpu: str, priority: int = HIGH, **more: Any) -> PodFacts:
    return facts_of(pod("p", cpu=cpu, priority=priority, **more))


def cluster(there: dict[str, list[Pod]], zones: dict[str, str] | None = None) -> Cache:
    nodes = (node(name, cpu="500m", labels={"zone": (zones or {}).get(name, "z")}) for name in there)
    return cache_of(*nodes, pods=there)


def budget(allowed: int, *disrupted: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=FOO)),
        status=PodDisruptionBudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, NOON)
        ),
    )


def victims(
    wanted: PodFacts, cache: Cache, budgets: Sequence[PodDisruptionBudget] = ()
) -> dict[str, tuple[list[str], int]]:
    """Return by node the victims, sorted by name, and the number that a budget protects."""
    found = {}
    for row in cache.rows.tolist():
        outcome = victims_on(Attempt(wanted, cache, DEFAULT_PROFILE, (), budgets), row)
        if isinstance(outcome, Victims):
            found[outcome.node] = (sorted(each.name for each in outcome.pods), outcome.violations)
    return found


TWO_LARGE = {"n1": [one("p1", MIDDLE, LARGE)], "n2": [one("p2", MIDDLE, LARGE)]}


@pytest.mark.parametrize(
    ("wanted", "there", "expected"),
    [
        (wanting(LARGE), TWO_LARGE, {"n1": ["p1"], "n2": ["p2"]}),
        (wanting(LARGE, LOW), TWO_LARGE, {}),
        (wanting(LARGE, node_selector={"zone": "other"}), TWO_LARGE, {}),
        (
            wanting(LARGE),
            {"n1": [one("a", LOW, SMALL), one("b", MIDDLE, LARGE)], "n2": [one("p2", MIDDLE, LARGE)]},
            {"n1": ["b"], "n2": ["p2"]},
        ),
        (
            wanting(LARGE),
            {
                "n1": [
                    one("a", MIDDLE, SMALL),
                    one("b", LOW, SMALL),
                    one("c", MIDDLE, MEDIUM),
                    one("d", HIGH, SMALL),
                ],
                "n2": [one("p2", HIGH, LARGE)],
            },
            {"n1": ["b", "c"]},
        ),
        (
            wanting(LARGE),
            {
                "n1": [
                    one("a", LOW, SMALL, 5),
                    one("b", LOW, SMALL, 4),
                    one("c", MIDDLE, MEDIUM, 3),
                    one("d", HIGH, SMALL, 2),
                ],
                "n2": [one("p2", HIGH, LARGE, 1)],
            },
            {"n1": ["a", "c"]},
        ),
        (
            wanting(SMALL, labels=FOO),
            {
                "n1": [
                    one("a", LOW, SMALL, labels=FOO, affinity=APART),
                    one("b", MIDDLE, SMALL),
                    one("c", HIGH, SMALL),
                ],
                "n2": [one("p2", HIGH, SMALL)],
            },
            {"n1": ["a"]},
        ),
    ],
    ids=[
        "both nodes",
        "higher priority there",
        "filter that evictions do not help",
        "small pod stays",
        "mixed priorities",
        "later start of equals",
        "anti-affinity of a pod there",
    ],
)
def test_as_few_pods_as_must_go(
    wanted: PodFacts, there: dict[str, list[Pod]], expected: dict[str, list[str]]
) -> None:
    assert victims(wanted, cluster(there)) == {name: (names, 0) for name, names in expected.items()}


def test_evictions_help_against_a_skew() -> None:
    there = {
        "a": [one("a1", MIDDLE, SMALL, labels=FOO), one("a2", LOW, SMALL, labels=FOO)],
        "b": [one("b1", LOW, SMALL, labels=FOO)],
        "x": [one("x1", HIGH, SMALL, labels=FOO), one("x2", HIGH, SMALL, labels=FOO)],
    }
    selector = LabelSelector(match_labels=FOO)
    constraints = (spread(1, "zone", label_selector=selector), spread(1, HOST, label_selector=selector))
    wanted = wanting(SMALL, labels=FOO, topology_spread_constraints=constraints)
    cache = cluster(there, {"a": "1", "b": "1", "x": "2"})
    assert victims(wanted, cache) == {"a": (["a2"], 0), "b": (["b1"], 0)}


@pytest.mark.parametrize(
    ("number", "disrupted", "violations"),
    [(2, (), 1), (2, ("other",), 1), (2, ("p2",), 0), (3, ("p3",), 1)],
)
def test_pods_beyond_the_budget_are_violations(
    number: int, disrupted: tuple[str, ...], violations: int
) -> None:
    """One pod may go; those whose eviction the budget knows already do not count."""
    there = [one(f"p{each}", MIDDLE, "160m", labels=FOO) for each in range(1, number + 1)]
    found = victims(wanting(HUGE), cluster({"n": there}), [budget(1, *disrupted)])
    assert found == {"n": ([each.metadata.name for each in there], violations)}


def budget_of(selector: LabelSelector | None, allowed: int = 0, namespace: str = "default") -> Any:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="b", namespace=namespace),
        spec=PodDisruptionBudgetSpec(selector=selector),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


BACKEND = {"tier": "backend"}
UNLABELLED = LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator="DoesNotExist"),))


@pytest.mark.parametrize(
    ("labels", "budgets", "violations"),
    [
        ([FOO], [], 0),
        ([FOO], [budget_of(LabelSelector(match_labels={"app": "bar"}))], 0),
        ([FOO], [budget_of(LabelSelector(match_labels=FOO), namespace="other")], 0),
        ([FOO], [budget_of(LabelSelector(match_labels=FOO), 1)], 0),
        ([FOO], [budget_of(LabelSelector(match_labels=FOO))], 1),
        ([FOO, FOO], [budget_of(LabelSelector(match_labels=FOO), 1)], 1),
        ([FOO], [budget_of(LabelSelector())], 1),
        ([{}], [budget_of(LabelSelector())], 1),
        ([FOO], [budget_of(None)], 0),
        ([{}], [budget_of(UNLABELLED)], 1),
        (
            [FOO | BACKEND],
            [budget_of(LabelSelector(match_labels=FOO), 1), budget_of(LabelSelector(match_labels=BACKEND))],
            1,
        ),
        (
            [FOO | BACKEND, BACKEND],
            [budget_of(LabelSelector(match_labels=FOO)), budget_of(LabelSelector(match_labels=BACKEND), 1)],
            1,
        ),
    ],
    ids=[
        "no budget",
        "budget of other pods",
        "budget of another namespace",
        "enough is left",
        "nothing is left",
        "enough is left for one",
        "empty selector",
        "empty selector and no labels",
        "no selector",
        "selector for pods without the label",
        "several budgets",
        "overdrawn once is enough",
    ],
)
def test_budgets_protect_the_pods_that_they_select(
    labels: list[dict[str, str]], budgets: list[PodDisruptionBudget], violations: int
) -> None:
    """The cases of ``TestFilterVictimsWithPDBViolation``."""
    there = [one(f"p{number}", MIDDLE, "160m", labels=each) for number, each in enumerate(labels)]
    found = victims(wanting(HUGE), cluster({"n": there}), budgets)
    assert found == {"n": ([each.metadata.name for each in there], violations)}


def known(name: str, priority: int, minutes: float | None) -> PodFacts:
    """Return a pod with a known UID."""
    start = None if minutes is None else NOON + timedelta(minutes=minutes)
    made = pod(name, priority=priority, status=PodStatus(start_time=start))
    return facts_of(structs.replace(made, metadata=structs.replace(made.metadata, uid=f"uid-{name}")))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("b", 20, 2), ("a", 10, 1)),
        (("b", 10, 1), ("a", 10, 2)),
        (("a", 10, 1), ("b", 10, 1)),
        (("b", 10, 1), ("a", 10, None)),
        (("a", 10, None), ("b", 10, None)),
    ],
    ids=["higher priority", "started earlier", "lower UID", "not started yet", "lower UID, not started yet"],
)
def test_more_important_pod_comes_first(
    first: tuple[str, int, float | None], second: tuple[str, int, float | None]
) -> None:
    """The cases of ``TestMoreImportantVictim`` and ``TestLessByStartTimeThenIdentity`` for single pods."""
    for pods in ([known(*first), known(*second)], [known(*second), known(*first)]):
        assert [each.name for each in sorted(pods, key=more_important)] == [first[0], second[0]]


FIVE = {f"n{each}": [one(f"p{each}", MIDDLE, LARGE)] for each in range(1, 6)}


def candidates(there: dict[str, list[Pod]], offset: int, *budgets: PodDisruptionBudget) -> list[str]:
    """Return the nodes that are found of at least two fifths of all, the search starting at ``offset``."""
    cache, wanted = cluster(there), wanting(LARGE)
    diagnosis = decide(wanted, cache, DEFAULT_PROFILE, (), lambda rows: rows[0])
    assert isinstance(diagnosis, Diagnosis)
    found = preempt(Attempt(wanted, cache, DEFAULT_PROFILE, (), budgets, offset), diagnosis, 40, 1)
    assert isinstance(found, Victims)
    return [each.node for each in found.candidates]


@pytest.mark.parametrize(("offset", "names"), [(4, ["n5", "n1"]), (1, ["n2", "n3"]), (3, ["n4", "n5"])])
def test_search_ends_with_enough_candidates(offset: int, names: list[str]) -> None:
    assert candidates(FIVE, offset) == names


@pytest.mark.parametrize(("offset", "names"), [(4, ["n5", "n1"]), (1, ["n3", "n5"]), (0, ["n1", "n3"])])
def test_nodes_without_victims_do_not_count_as_candidates(offset: int, names: list[str]) -> None:
    """On the second and fourth node a pod of high priority takes the capacity."""
    there = dict(FIVE)
    for each in (2, 4):
        there[f"n{each}"] = [one(f"p{each}", HIGH, LARGE)]
    assert candidates(there, offset) == names


@pytest.mark.parametrize(("offset", "names"), [(0, ["n3", "n1", "n2"]), (2, ["n3", "n4"])])
def test_search_goes_on_to_a_node_without_violations(offset: int, names: list[str]) -> None:
    there = dict(FIVE)
    for each in (1, 2):
        there[f"n{each}"] = [one(f"p{each}", MIDDLE, LARGE, labels=FOO)]
    assert candidates(there, offset, budget(0)) == names


def told(reason: str, status: str = "True") -> tuple[PodCondition, ...]:
    return (PodCondition(type="DisruptionTarget", status=status, reason=reason),)


@pytest.mark.parametrize(
    ("conditions", "going", "priority", "waits"),
    [
        (told("PreemptionByScheduler"), True, LOW, True),
        (told("EvictionByEvictionAPI"), True, LOW, False),
        (told("PreemptionByScheduler", "False"), True, LOW, False),
        ((), True, LOW, False),
        (told("PreemptionByScheduler"), False, LOW, False),
        (told("PreemptionByScheduler"), True, HIGH, False),
    ],
    ids=["victim", "evicted", "condition is false", "deleted", "still running", "not a lower priority"],
)
def test_nominated_pod_waits_for_its_victims_only(
    conditions: tuple[PodCondition, ...], going: bool, priority: int, waits: bool
) -> None:
    """The cases of ``TestPodEligibleToPreemptOthers``; the pod is nominated to the first node."""
    there = pod(
        "there",
        cpu=LARGE,
        priority=priority,
        status=PodStatus(conditions=conditions),
        metadata={"deletion_timestamp": NOON} if going else None,
    )
    cache = cluster({"n1": [there], "n2": [one("p2", LOW, LARGE)]})
    wanted = wanting(LARGE, status=PodStatus(nominated_node_name="n1"))
    diagnosis = Diagnosis(2, resolvable_parts=[cache.rows])
    found = preempt(Attempt(wanted, cache, DEFAULT_PROFILE, (), ()), diagnosis)
    refused = Refusal(
        "preemption: not eligible due to a terminating pod on the nominated node.", keeps_nomination=True
    )
    assert (found == refused) is waits
    assert isinstance(found, Victims) is not waits


def test_node_that_needs_no_victim_is_an_error() -> None:
    """The pod fits by now; upstream refuses a preemption without victims, and keeps a nomination."""
    cache = cluster({"n1": [one("p1", LOW, SMALL)], "n2": [one("p2", LOW, SMALL)]})
    full = Diagnosis(2, resolvable_parts=[cache.rows])
    wanted = wanting(LARGE)
    found = preempt(Attempt(wanted, cache, DEFAULT_PROFILE, (), ()), full)
    assert found == Refusal(
        'preemption: [expected at least one victim pod on node "n1", '
        'expected at least one victim pod on node "n2"]',
        keeps_nomination=True,
    )
    cache.add_pod(facts_of(one("more", LOW, LARGE)), "n2")
    chosen = preempt(Attempt(wanted, cache, DEFAULT_PROFILE, (), ()), full)
    assert isinstance(chosen, Victims)
    assert chosen.node == "n2"


class Broken(Plugin):
    """Fails on one node, once its pods are taken away."""

    name = "Broken"

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        if any(cache.name_of(row) == "n1" and not cache.pods_on(row) for row in rows.tolist()):
            raise ValueError("bug")
        return ()


def test_error_on_a_node_leaves_the_others() -> None:
    """``DryRunPreemption`` collects the errors, which count where it finds no candidate."""
    cache = cluster({name: [one(name, LOW, LARGE)] for name in ("n1", "n2")})
    broken = structs.replace(DEFAULT_PROFILE, filter=(*DEFAULT_PROFILE.filter, Broken()))
    wanted = wanting(LARGE)
    diagnosis = decide(wanted, cache, broken, (), lambda rows: rows[0])
    assert isinstance(diagnosis, Diagnosis)
    chosen = preempt(Attempt(wanted, cache, broken, (), ()), diagnosis)
    assert isinstance(chosen, Victims)
    assert chosen.node == "n2"
    cache.remove_node("n2")
    diagnosis = decide(wanted, cache, broken, (), lambda rows: rows[0])
    assert isinstance(diagnosis, Diagnosis)
    refused = preempt(Attempt(wanted, cache, broken, (), ()), diagnosis)
    assert refused == Refusal('preemption: running "Broken" filter plugin: bug', keeps_nomination=True)
