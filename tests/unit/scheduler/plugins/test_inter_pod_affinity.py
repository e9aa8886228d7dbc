"""The InterPodAffinity plugin."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Affinity
from podling.api.meta_v1 import LabelSelector
from podling.scheduler.framework import PodChange, PodEvent
from podling.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from tests.unit.scheduler.neighbours import DB, NODES, WEB, spread_of
from tests.unit.scheduler.scheduling import (
    accepted,
    affinity,
    anti_affinity,
    cache_of,
    facts,
    near,
    pod,
    rejections,
    scores,
    unresolvable,
)


class TestAffinity:
    plugin = InterPodAffinity()

    @pytest.mark.parametrize(
        ("wanted", "taken"),
        [
            (affinity(near(DB)), ["a1", "a2"]),
            (affinity(near(DB, "kubernetes.io/hostname")), ["a1"]),
            (affinity(near({"app": "none"})), []),
            (affinity(near(DB), near(WEB)), []),
            (anti_affinity(near(DB)), ["b1", "bare"]),
            (anti_affinity(near(DB, "kubernetes.io/hostname")), ["a2", "b1", "bare"]),
            (anti_affinity(near({"app": "none"})), ["a1", "a2", "b1", "bare"]),
        ],
        ids=["zone", "host", "nobody", "both at once", "not in the zone", "not on the host", "no foe"],
    )
    def test_with_a_database_on_a1_and_the_web_on_b1(self, wanted: Affinity, taken: list[str]) -> None:
        cache = spread_of({"b1": 1}, {"a1": 1})
        assert accepted(self.plugin, facts(affinity=wanted), cache) == taken

    def test_all_terms_must_be_met_by_pods_that_meet_all_of_them(self) -> None:
        cache = spread_of({}, {"a1": 1})
        cache.add_pod(facts(labels={**WEB, **DB, "both": "yes"}), "b1")
        one = facts(affinity=affinity(near({"both": "yes"}), near(DB)))
        assert accepted(self.plugin, one, cache) == ["b1"]

    def test_the_first_of_a_set_that_wants_itself_is_let_in_where_there_is_a_topology(self) -> None:
        one = facts(labels=WEB, affinity=affinity(near(WEB)))
        assert accepted(self.plugin, one, spread_of()) == ["a1", "a2", "b1"]
        assert accepted(self.plugin, one, spread_of({"b1": 1})) == ["b1"]

    def test_existing_pods_anti_affinity_rejects_node(self) -> None:
        hermit = pod(labels=DB, affinity=anti_affinity(near(WEB)))
        cache = cache_of(*NODES, pods={"a1": [hermit]})
        reason = "node(s) didn't satisfy existing pods anti-affinity rules"
        assert rejections(self.plugin, facts(labels=WEB), cache) == {"a1": [reason], "a2": [reason]}
        assert unresolvable(self.plugin, facts(labels=WEB), cache) == []
        assert rejections(self.plugin, facts(labels=DB), cache) == {}

    def test_only_first_failing_rule_is_reported(self) -> None:
        foe = pod(labels=DB, affinity=anti_affinity(near(WEB)))
        cache = cache_of(*NODES, pods={"a1": [foe]})
        one = facts(labels=WEB, affinity=anti_affinity(near(DB, "kubernetes.io/hostname")))
        assert rejections(self.plugin, one, cache) == {
            "a1": ["node(s) didn't match pod anti-affinity rules"],
            "a2": ["node(s) didn't satisfy existing pods anti-affinity rules"],
        }
        lost = facts(labels=WEB, affinity=affinity(near({"app": "none"})))
        assert rejections(self.plugin, lost, cache)["a1"] == ["node(s) didn't match pod affinity rules"]
        assert "a1" in unresolvable(self.plugin, lost, cache)

    @pytest.mark.parametrize(
        ("scope", "taken"),
        [
            ({}, []),
            ({"namespaces": ("other",)}, ["b1"]),
            ({"namespace_selector": LabelSelector(match_labels={"team": "blue"})}, ["b1"]),
            ({"namespace_selector": LabelSelector(match_labels={"team": "red"})}, []),
            ({"namespace_selector": LabelSelector()}, ["b1"]),
        ],
        ids=["own", "by name", "by label", "by another label", "all"],
    )
    def test_in_which_namespaces_neighbours_are_looked_for(
        self, scope: dict[str, Any], taken: list[str]
    ) -> None:
        cache = cache_of(*NODES, pods={"b1": [pod(labels=DB, namespace="other")]})
        cache.namespace_labels = {"default": {}, "other": {"team": "blue"}}
        one = facts(affinity=affinity(near(DB, **scope)))
        assert accepted(self.plugin, one, cache) == taken

    def test_a_namespace_selector_means_the_own_namespace_only_if_it_selects_it(self) -> None:
        cache = spread_of({}, {"b1": 1})
        cache.namespace_labels = {"default": {"team": "blue"}}
        for team, taken in (("blue", ["b1"]), ("red", [])):
            selector = LabelSelector(match_labels={"team": team})
            one = facts(affinity=affinity(near(DB, namespace_selector=selector)))
            assert accepted(self.plugin, one, cache) == taken

    def test_likes_and_dislikes_of_both_sides_add_up(self) -> None:
        """Two web pods in zone a, a db on b1 that likes the web: 2 x 10 - 5 on a, 10 on b1, 0 on bare."""
        cache = spread_of({"a1": 2})
        cache.add_pod(facts(labels=DB, affinity=affinity(preferred={10: near(WEB)})), "b1")
        cache.add_pod(facts(labels=DB, affinity=anti_affinity(preferred={5: near(WEB)})), "a2")
        one = facts(labels=WEB, affinity=affinity(preferred={10: near(WEB)}))
        assert scores(self.plugin, one, cache) == {"a1": 100, "a2": 100, "b1": 66, "bare": 0}

    def test_a_required_affinity_of_who_is_there_counts_a_little(self) -> None:
        cache = cache_of(*NODES, pods={"b1": [pod(affinity=affinity(near(WEB)))]})
        assert scores(self.plugin, facts(labels=WEB), cache) == {"a1": 0, "a2": 0, "b1": 100, "bare": 0}

    def test_without_opinions_there_is_nothing_to_score(self) -> None:
        assert scores(self.plugin, facts(labels=WEB), spread_of({"a1": 2})) is None

    @pytest.mark.parametrize(("labels", "wakes"), [(DB, True), (WEB, False)])
    def test_a_neighbour_that_is_meant_is_worth_another_try(
        self, labels: dict[str, str], wakes: bool
    ) -> None:
        one = facts(affinity=affinity(near(DB)))
        change = PodChange(PodEvent.ADDED, facts(labels=labels))
        assert self.plugin.wakes_for_pod(one, change, cache_of()) is wakes
