"""Pod affinity terms: the pods and namespaces that they select."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PodAffinityTerm, WeightedPodAffinityTerm
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.scheduler.terms import read_preferred, read_term, selector_of

WEB = LabelSelector(match_labels={"app": "web"})
TEAM = LabelSelector(match_labels={"team": "red"})


@pytest.mark.parametrize(
    ("term", "matched"),
    [
        ({}, {"own"}),
        ({"namespaces": ("red",)}, {"red"}),
        ({"namespaces": ("own", "blue")}, {"own", "blue"}),
        ({"namespace_selector": TEAM}, {"red"}),
        ({"namespace_selector": LabelSelector()}, {"own", "red", "blue"}),
        ({"namespaces": ("blue",), "namespace_selector": TEAM}, {"blue", "red"}),
    ],
)
def test_term_selects_namespaces_by_name_or_label(term: dict[str, Any], matched: set[str]) -> None:
    found = read_term(PodAffinityTerm(label_selector=WEB, topology_key="zone", **term), "own")
    labels: dict[str, dict[str, str]] = {"own": {}, "red": {"team": "red"}, "blue": {"team": "blue"}}
    assert {each for each in labels if found.matches(each, {"app": "web"}, labels[each])} == matched
    assert not any(found.matches(each, {"app": "db"}, labels[each]) for each in labels)


def test_missing_and_unreadable_selectors_select_nothing() -> None:
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement(key="a", operator="Bad"),))
    assert not selector_of(None).matches({})
    assert not selector_of(bad).matches({"a": "b"})
    assert selector_of(LabelSelector()).matches({"a": "b"})


def test_preferred_terms_keep_weight_and_topology() -> None:
    term = PodAffinityTerm(label_selector=WEB, topology_key="zone")
    (found,) = read_preferred((WeightedPodAffinityTerm(weight=7, pod_affinity_term=term),), "own")
    assert (found.weight, found.topology_key, found.namespaces) == (7, "zone", frozenset({"own"}))
