"""Preemption: the chosen node and victims, and the message when there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.api.core_v1 import Container, Pod, PodCondition, PodStatus, ResourceRequirements
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.policy_v1 import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from podling.machinery.pods import qos_class
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis, Nominated, decide
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.scheduler.preemption import Attempt, Refusal, Victims, least_harmful, preempt
from tests.unit.scheduler.scheduling import (
    DEFAULT_PROFILE,
    affinity,
    anti_affinity,
    cache_of,
    facts,
    near,
    node,
    pod,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def running(name: str, cpu: str, priority: int = 0, *, minutes: float = 0, **more: Any) -> Pod:
    """Return a pod that started so many minutes after noon."""
    started = PodStatus(start_time=NOON + timedelta(minutes=minutes))
    return pod(name, cpu=cpu, priority=priority, status=started, **more)


def budget(labels: Mapping[str, str], allowed: int) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=dict(labels))),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def outcome(
    one: PodFacts,
    cache: Cache,
    *,
    budgets: Sequence[PodDisruptionBudget] = (),
    nominated: Sequence[Nominated] = (),
) -> Victims | Refusal:
    diagnosis = decide(one, cache, DEFAULT_PROFILE, nominated, lambda rows: rows[0])
    assert isinstance(diagnosis, Diagnosis)
    return preempt(Attempt(one, cache, DEFAULT_PROFILE, nominated, budgets), diagnosis)


def chosen(*arguments: Any, **options: Any) -> tuple[str, list[str]]:
    found = outcome(*arguments, **options)
    assert isinstance(found, Victims)
    return found.node, [each.name for each in found.pods]


def refused(*arguments: Any, **options: Any) -> str:
    found = outcome(*arguments, **options)
    assert isinstance(found, Refusal)
    return found.message


def test_only_as_many_go_as_must_and_the_least_important_first() -> None:
    there = [
        running("old", "1", minutes=0),
        running("young", "1", minutes=5),
        running("important", "1", 5),
        running("untouchable", "1", 10),
    ]
    cache = cache_of(node("n"), pods={"n": there})
    assert chosen(facts(cpu="1", priority=10), cache) == ("n", ["young"])
    assert chosen(facts(cpu="2", priority=10), cache) == ("n", ["old", "young"])


def test_the_class_of_service_does_not_matter() -> None:
    """A Guaranteed pod of low priority goes before a Burstable one of a higher priority."""
    limited = ResourceRequirements(
        requests={"cpu": "2", "memory": "1Gi"}, limits={"cpu": "2", "memory": "1Gi"}
    )
    guaranteed = running("guaranteed", "", 1, containers=(Container(name="c", resources=limited),))
    burstable = running("burstable", "2", 5)
    assert [qos_class(each.spec) for each in (guaranteed, burstable)] == ["Guaranteed", "Burstable"]
    cache = cache_of(node("n"), pods={"n": [burstable, guaranteed]})
    assert chosen(facts(cpu="2", priority=10), cache) == ("n", ["guaranteed"])


def test_the_cache_is_left_as_it_was() -> None:
    cache = cache_of(node("n"), pods={"n": [running("a", "2"), running("b", "2")]})
    row = cache.row_of("n")
    assert row is not None
    before = cache.resources.requested[:, row].tolist(), {each.uid for each in cache.pods_on(row)}
    chosen(facts(cpu="2", priority=1), cache)
    assert (cache.resources.requested[:, row].tolist(), {each.uid for each in cache.pods_on(row)}) == before


@pytest.mark.parametrize(
    ("nodes", "picked"),
    [
        ({"a": [("x", 5)], "b": [("y", 3)]}, "b"),
        ({"a": [("x", 5), ("x2", 5)], "b": [("y", 5)]}, "b"),
        ({"a": [("x", 5), ("x2", 1)], "b": [("y", 5), ("y2", 2)]}, "a"),
        ({"a": [("x", 5)], "b": [("y", 5)]}, "b"),
    ],
    ids=["lowest top priority", "fewest", "smallest sum", "latest start"],
)
def test_node_with_least_important_victims_is_chosen(
    nodes: dict[str, list[tuple[str, int]]], picked: str
) -> None:
    """Each node is full with equal shares; on b everything started later."""
    cache = cache_of(*(node(name) for name in nodes))
    for minutes, (name, victims) in enumerate(nodes.items()):
        share = f"{4000 // len(victims)}m"
        for victim, priority in victims:
            cache.add_pod(facts_of(running(victim, share, priority, minutes=minutes)), name)
    assert chosen(facts(cpu="4", priority=10), cache)[0] == picked


def test_a_node_without_a_broken_budget_is_preferred() -> None:
    guarded = {"app": "guarded"}
    cache = cache_of(
        node("a"),
        node("b"),
        pods={"a": [running("x", "4", 0, labels=guarded)], "b": [running("y", "4", 9)]},
    )
    one = facts(cpu="4", priority=10)
    assert chosen(one, cache, budgets=[budget(guarded, 0)]) == ("b", ["y"])
    assert chosen(one, cache, budgets=[budget(guarded, 1)]) == ("a", ["x"])


def test_on_a_node_those_a_budget_protects_are_spared_first() -> None:
    guarded = {"app": "guarded"}
    cache = cache_of(
        node("n"), pods={"n": [running("guarded", "2", 0, labels=guarded), running("free", "2", 5)]}
    )
    assert chosen(facts(cpu="2", priority=10), cache, budgets=[budget(guarded, 0)]) == ("n", ["free"])


def test_budget_is_violated_without_alternative() -> None:
    guarded = {"app": "guarded"}
    cache = cache_of(node("n"), pods={"n": [running("x", "4", labels=guarded)]})
    assert chosen(facts(cpu="4", priority=1), cache, budgets=[budget(guarded, 0)]) == ("n", ["x"])


def test_pod_excluded_by_anti_affinity_becomes_victim() -> None:
    foe = running("foe", "1", labels={"app": "db"})
    cache = cache_of(node("n", labels={"zone": "a"}), pods={"n": [foe, running("friend", "1")]})
    one = facts(priority=1, affinity=anti_affinity(near({"app": "db"})))
    assert chosen(one, cache) == ("n", ["foe"])


def test_space_of_nominated_pod_is_respected() -> None:
    cache = cache_of(node("n"), pods={"n": [running("x", "1")]})
    row = cache.row_of("n")
    assert row is not None
    waiting = Nominated(facts(cpu="3", priority=10), row)
    one = facts(cpu="2", priority=10)
    assert refused(one, cache, nominated=[waiting]).endswith("1 Insufficient cpu.")


class TestRefusals:
    def test_no_less_important_pods_means_no_preemption(self) -> None:
        cache = cache_of(
            node("a", unschedulable=True),
            node("b"),
            node("c"),
            pods={"b": [running("x", "4", 5)], "c": [running("y", "4", 10)]},
        )
        assert refused(facts(cpu="1", priority=5), cache) == (
            "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
            "2 No preemption victims found for incoming pod."
        )

    def test_insufficient_victims_mean_no_preemption(self) -> None:
        cache = cache_of(node("n"), pods={"n": [running("x", "2", 0), running("y", "2", 10)]})
        assert refused(facts(cpu="3", priority=5), cache) == (
            "preemption: 0/1 nodes are available: 1 Insufficient cpu."
        )

    def test_a_node_that_could_never_do(self) -> None:
        cache = cache_of(node("n"), pods={"n": [running("x", "2")]})
        assert refused(facts(cpu="100", priority=5), cache) == (
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )

    def test_affinity_to_pods_that_are_not_there_is_not_helped_by_removing_others(self) -> None:
        cache = cache_of(node("n", labels={"zone": "a"}), pods={"n": [running("x", "2")]})
        one = facts(priority=5, affinity=affinity(near({"app": "none"})))
        assert refused(one, cache).endswith("1 Preemption is not helpful for scheduling.")

    def test_a_pod_that_never_preempts(self) -> None:
        cache = cache_of(node("n"), pods={"n": [running("x", "4")]})
        one = facts(cpu="1", priority=5, preemption_policy="Never")
        assert refused(one, cache) == "preemption: not eligible due to preemptionPolicy=Never."

    def test_while_its_victims_are_still_going_it_waits(self) -> None:
        told = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        going = pod(
            "going",
            cpu="4",
            status=PodStatus(conditions=(told,)),
            metadata={"deletion_timestamp": NOON},
        )
        cache = cache_of(node("n"), pods={"n": [going]})
        one = facts_of(pod(cpu="1", priority=5, status=PodStatus(nominated_node_name="n")))
        found = outcome(one, cache)
        assert found == Refusal(
            "preemption: not eligible due to a terminating pod on the nominated node.",
            keeps_nomination=True,
        )

    def test_but_not_for_a_node_that_would_not_help_any_more(self) -> None:
        """Its victims are still going, and meanwhile the node was cordoned: another node is tried."""
        told = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        going = pod(cpu="4", status=PodStatus(conditions=(told,)), metadata={"deletion_timestamp": NOON})
        cache = cache_of(
            node("n", unschedulable=True), node("m"), pods={"n": [going], "m": [running("x", "4")]}
        )
        one = facts_of(pod(cpu="1", priority=5, status=PodStatus(nominated_node_name="n")))
        assert chosen(one, cache) == ("m", ["x"])


NEGATIVE, LOW, MIDDLE, HIGH = -100, 0, 100, 1000


@pytest.mark.parametrize(
    ("nodes", "picked"),
    [
        ([[MIDDLE, MIDDLE], [MIDDLE, LOW], [LOW, LOW]], 2),
        ([[MIDDLE, MIDDLE], [MIDDLE, LOW], [MIDDLE, MIDDLE]], 1),
        (
            [
                [MIDDLE, MIDDLE, NEGATIVE, NEGATIVE],
                [MIDDLE, NEGATIVE],
                [MIDDLE, LOW, NEGATIVE],
            ],
            1,
        ),
        ([[MIDDLE, NEGATIVE, NEGATIVE], [MIDDLE, NEGATIVE], [MIDDLE, LOW, NEGATIVE]], 1),
        (
            [
                [MIDDLE, LOW, LOW],
                [HIGH],
                [MIDDLE, LOW, LOW, LOW],
                [MIDDLE, MIDDLE, MIDDLE, NEGATIVE],
            ],
            0,
        ),
    ],
    ids=["lowest top priority", "smallest sum", "fewest", "sum of shifted priorities", "all of them differ"],
)
def test_least_harm_is_judged_by_priorities(nodes: list[list[int]], picked: int) -> None:
    """The cases of ``TestPickOneNodeForPreemption`` in which priorities decide; all pods started at once."""
    assert least_harmful(_candidates(nodes, lambda node, number: 0)).node == str(picked)


@pytest.mark.parametrize(
    ("nodes", "started", "picked"),
    [
        ([[MIDDLE] * 2] * 3, [[20, 10], [20, 20], [10, 5]], 1),
        ([[MIDDLE, LOW]] * 3, [[3, 2], [1, 5], [2, 4]], 0),
    ],
    ids=["the earliest of equals counts", "of lower priority none counts"],
)
def test_least_harm_is_judged_by_the_latest_start(
    nodes: list[list[int]], started: list[list[int]], picked: int
) -> None:
    found = _candidates(nodes, lambda node, number: started[node][number])
    assert least_harmful(found).node == str(picked)


def _candidates(nodes: list[list[int]], started: Callable[[int, int], int]) -> list[Victims]:
    """Return candidates with victims of these priorities, which started so many minutes after noon."""
    return [
        Victims(
            str(at),
            tuple(
                facts_of(running(f"{at}-{number}", "1", priority, minutes=started(at, number)))
                for number, priority in enumerate(priorities)
            ),
            0,
        )
        for at, priorities in enumerate(nodes)
    ]
