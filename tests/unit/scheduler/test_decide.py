"""The whole decision: the chosen node, or the message letter for letter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from podling.api.core_v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodOS,
    PodStatus,
)
from podling.scheduler import messages
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis, Nominated, Placement, decide
from podling.scheduler.podfacts import PodFacts, facts_of
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE, affinity, cache_of, facts, near, node, pod, taint


def first(rows: Sequence[int]) -> int:
    return rows[0]


def place(one: PodFacts, cache: Cache, *nominated: Nominated) -> str | None:
    outcome = decide(one, cache, DEFAULT_PROFILE, nominated, first)
    return outcome.node if isinstance(outcome, Placement) else None


def why_not(one: PodFacts, cache: Cache) -> Diagnosis:
    outcome = decide(one, cache, DEFAULT_PROFILE, (), first)
    assert isinstance(outcome, Diagnosis)
    return outcome


def test_cluster_without_nodes_is_reported() -> None:
    assert why_not(facts(), cache_of()).message() == "no nodes available to schedule pods"


def test_reasons_are_counted_and_sorted_as_text() -> None:
    cache = cache_of(
        node("cordoned", unschedulable=True),
        node("tainted", taints=[taint("k")]),
        node("small", cpu="1"),
        node("smaller", cpu="1", memory="1Gi"),
    )
    diagnosis = why_not(facts(cpu="2", memory="2Gi"), cache)
    assert diagnosis.message() == (
        "0/4 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 2 Insufficient cpu."
    )
    assert diagnosis.rejected_by == {"NodeUnschedulable", "TaintToleration", "NodeResourcesFit"}


def test_ten_sorts_before_two_because_it_is_text() -> None:
    text = messages.fit_error(12, {"Insufficient cpu": 2, "Too many pods": 10})
    assert text == "0/12 nodes are available: 10 Too many pods, 2 Insufficient cpu."


def test_a_node_counts_under_the_first_filter_that_rejects_it() -> None:
    cache = cache_of(node("n", cpu="1", unschedulable=True, taints=[taint("k")]))
    assert why_not(facts(cpu="2"), cache).message() == (
        "0/1 nodes are available: 1 node(s) were unschedulable."
    )


def only_on(*names: str) -> Affinity:
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=names)
    terms = (NodeSelectorTerm(match_fields=(field,)),)
    return Affinity(
        node_affinity=NodeAffinity(
            required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms)
        )
    )


def test_the_operating_system_of_a_pod_does_not_choose_its_node() -> None:
    """Labels and selectors do; the kubelet refuses what it cannot run."""
    linux = cache_of(node("linux", labels={"kubernetes.io/os": "linux"}))
    assert place(facts(os=PodOS(name="windows")), linux) == "linux"


def test_pod_bound_to_one_node_skips_other_nodes() -> None:
    cache = cache_of(node("a"), node("b", cpu="1"), node("c"))
    one = facts(cpu="2", affinity=only_on("b"))
    assert why_not(one, cache).message() == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert place(facts(cpu="1", affinity=only_on("b")), cache) == "b"


def test_a_pod_that_contradicts_itself() -> None:
    fields = tuple(
        NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,)) for name in "ab"
    )
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=fields),))
    impossible = NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    diagnosis = why_not(facts(affinity=Affinity(node_affinity=impossible)), cache_of(node("a"), node("b")))
    assert diagnosis.message() == "0/2 nodes are available: pod affinity terms conflict."


def test_the_emptier_node_wins() -> None:
    cache = cache_of(node("full"), node("empty"), pods={"full": [pod(cpu="3", memory="6Gi")]})
    assert place(facts(cpu="500m", memory="1Gi"), cache) == "empty"


def test_among_equals_the_choice_is_drawn() -> None:
    cache = cache_of(node("a"), node("b"), node("c"))
    offered: list[Sequence[int]] = []

    def last(rows: Sequence[int]) -> int:
        offered.append(rows)
        return rows[-1]

    outcome = decide(facts(), cache, DEFAULT_PROFILE, (), last)
    assert outcome == Placement("c", 3)
    assert [len(rows) for rows in offered] == [3]


class TestNominatedPods:
    """Pods that are not more important count a nominated pod on its node."""

    @staticmethod
    def waiting(priority: int, cache: Cache) -> Nominated:
        row = cache.row_of("n")
        assert row is not None
        return Nominated(facts(cpu="3", priority=priority), row)

    @pytest.mark.parametrize(("priority", "node_name"), [(5, None), (10, None), (11, "n")])
    def test_nomination_binds_equal_and_lower_priorities(self, priority: int, node_name: str | None) -> None:
        cache = cache_of(node("n"))
        nominated = self.waiting(10, cache)
        assert place(facts(cpu="2", priority=priority), cache, nominated) == node_name
        assert cache.pod(nominated.facts.uid) is None

    def test_a_pod_that_is_only_expected_is_no_company(self) -> None:
        """The nominated pod may never come: who needs it there waits for it."""
        cache = cache_of(node("n", labels={"zone": "a"}))
        row = cache.row_of("n")
        assert row is not None
        expected = Nominated(facts(labels={"app": "db"}, priority=10), row)
        one = facts(affinity=affinity(near({"app": "db"})))
        assert place(one, cache, expected) is None
        cache.add_pod(expected.facts, "n")
        assert place(one, cache) == "n"

    def test_the_nominated_pod_itself_takes_its_node_though_another_scores_higher(self) -> None:
        cache = cache_of(node("n"), node("emptier", cpu="64", memory="512Gi"))
        own: Pod = pod(cpu="1", memory="1Gi", status=PodStatus(nominated_node_name="n"))
        assert place(facts_of(own), cache) == "n"
        assert place(facts(cpu="1", memory="1Gi"), cache) == "emptier"

    def test_a_nomination_that_does_not_work_out_is_no_obstacle(self) -> None:
        cache = cache_of(node("n", unschedulable=True), node("other"))
        own = pod(cpu="1", status=PodStatus(nominated_node_name="n"))
        assert place(facts_of(own), cache) == "other"


def test_events_are_cut_and_conditions_are_not() -> None:
    text = "x" * 2_000
    assert messages.truncated(text) == "x" * 1_020 + " ..."
    assert messages.truncated("x" * 1_024) == "x" * 1_024
