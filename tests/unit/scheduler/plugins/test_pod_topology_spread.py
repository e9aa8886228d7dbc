"""The PodTopologySpread plugin."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Pod, TopologySpreadConstraint
from podling.api.meta_v1 import LabelSelector, OwnerReference
from podling.machinery.selectors import from_labels
from podling.scheduler.framework import PodChange, PodEvent
from podling.scheduler.plugins.pod_topology_spread import PodTopologySpread
from podling.scheduler.podfacts import facts_of
from tests.unit.scheduler.neighbours import DB, WEB, spread_of
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    facts,
    node,
    pod,
    rejections,
    scores,
    taint,
    unresolvable,
)


def spread(skew: int = 1, topology: str = "zone", *, soft: bool = False, **more: Any) -> Any:
    return TopologySpreadConstraint(
        max_skew=skew,
        topology_key=topology,
        when_unsatisfiable="ScheduleAnyway" if soft else "DoNotSchedule",
        label_selector=LabelSelector(match_labels=WEB),
        **more,
    )


def web(*constraints: TopologySpreadConstraint, **more: Any) -> Pod:
    return pod(labels=WEB, topology_spread_constraints=constraints, **more)


REASON = "node(s) didn't match pod topology spread constraints"


class TestSpreading:
    plugin = PodTopologySpread()

    @pytest.mark.parametrize(
        ("counts", "skew", "taken"),
        [
            ({}, 1, ["a1", "a2", "b1"]),
            ({"a1": 1}, 1, ["b1"]),
            ({"a1": 1}, 2, ["a1", "a2", "b1"]),
            ({"a1": 1, "a2": 1, "b1": 1}, 1, ["b1"]),
            ({"a1": 3, "b1": 3}, 1, ["a1", "a2", "b1"]),
            ({"a1": 5, "b1": 1}, 3, ["b1"]),
        ],
    )
    def test_no_zone_may_be_too_far_ahead(self, counts: dict[str, int], skew: int, taken: list[str]) -> None:
        assert accepted(self.plugin, facts_of(web(spread(skew))), spread_of(counts)) == taken

    def test_rejected_nodes_have_reasons(self) -> None:
        cache = spread_of({"a1": 1})
        one = facts_of(web(spread()))
        assert rejections(self.plugin, one, cache) == {
            "a1": [REASON],
            "a2": [REASON],
            "bare": [f"{REASON} (missing required label)"],
        }
        assert unresolvable(self.plugin, one, cache) == ["bare"]

    def test_first_constraint_that_a_node_violates_gives_the_reason(self) -> None:
        cache = cache_of(
            node("a", labels={"zone": "1"}),
            node("b", labels={"zone": "1", "rack": "r"}),
            node("c", labels={"zone": "2", "rack": "r"}),
            pods={"b": [web(), web()]},
        )
        zone, rack = spread(), spread(topology="rack")
        assert rejections(self.plugin, facts_of(web(zone, rack)), cache)["a"] == [REASON]
        assert unresolvable(self.plugin, facts_of(web(zone, rack)), cache) == []
        assert rejections(self.plugin, facts_of(web(rack, zone)), cache)["a"] == [
            f"{REASON} (missing required label)"
        ]
        assert unresolvable(self.plugin, facts_of(web(rack, zone)), cache) == ["a"]

    def test_empty_selector_counts_no_pods(self) -> None:
        everything = spread()
        everything = structs.replace(everything, label_selector=LabelSelector())
        cache = spread_of({"a1": 5})
        assert accepted(self.plugin, facts_of(web(everything)), cache) == ["a1", "a2", "b1"]

    def test_a_pod_that_its_own_constraint_does_not_mean_does_not_count_itself(self) -> None:
        other = pod(labels=DB, topology_spread_constraints=(spread(),))
        assert "a1" in accepted(self.plugin, facts_of(other), spread_of({"a1": 1}))

    def test_every_constraint_must_hold(self) -> None:
        cache = spread_of({"a1": 1, "b1": 1})
        one = facts_of(web(spread(), spread(1, "kubernetes.io/hostname")))
        assert accepted(self.plugin, one, cache) == ["a2"]

    def test_too_few_domains_count_as_if_one_were_empty(self) -> None:
        cache = spread_of({"a1": 1, "b1": 1})
        assert accepted(self.plugin, facts_of(web(spread(min_domains=2))), cache) == ["a1", "a2", "b1"]
        assert accepted(self.plugin, facts_of(web(spread(min_domains=3))), cache) == []

    def test_pods_that_are_going_do_not_count(self) -> None:
        cache = spread_of()
        cache.add_pod(facts(labels=WEB, metadata={"deletion_timestamp": clock.now()}), "a1")
        assert accepted(self.plugin, facts_of(web(spread())), cache) == ["a1", "a2", "b1"]

    def test_nodes_the_pod_cannot_go_to_do_not_hold_the_others_back(self) -> None:
        """Zone b is empty, but the pod selects zone a: unless the policy ignores that, a alone counts."""
        cache = spread_of({"a1": 2})
        honoured = web(spread(), node_selector={"zone": "a"})
        ignored = web(spread(node_affinity_policy="Ignore"), node_selector={"zone": "a"})
        assert "a1" in accepted(self.plugin, facts_of(honoured), cache)
        assert "a1" not in accepted(self.plugin, facts_of(ignored), cache)

    def test_tainted_nodes_count_unless_the_policy_says_otherwise(self) -> None:
        cache = spread_of({"a1": 2})
        cache.set_node(node("b1", labels={"zone": "b"}, taints=[taint("k")]))
        assert "a1" not in accepted(self.plugin, facts_of(web(spread())), cache)
        assert "a1" in accepted(self.plugin, facts_of(web(spread(node_taints_policy="Honor"))), cache)

    def test_a_soft_constraint_only_prefers(self) -> None:
        cache = spread_of({"a1": 3, "b1": 1})
        one = facts_of(web(spread(soft=True)))
        assert accepted(self.plugin, one, cache) == ["a1", "a2", "b1", "bare"]
        # ln(2 zones + 2) per pod: 4 points for zone a, 1 for zone b; the node without a zone has no part.
        assert scores(self.plugin, one, cache) == {"a1": 25, "a2": 25, "b1": 100, "bare": 0}

    def test_replicas_spread_by_default(self) -> None:
        """No constraint of its own, but a controller: over hosts (skew 3) and zones (skew 5), softly.

        Points: two pods on the host at ln(4 hosts + 2) each and 3 - 1; two in the zone at ln(3 zones + 2)
        each and 5 - 1, where to have no zone is a zone too, but without points: 13, 9, 6 and 2.
        """
        owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="u", controller=True)
        zone = "topology.kubernetes.io/zone"
        cache = cache_of(
            node("a1", labels={zone: "a"}), node("a2", labels={zone: "a"}), node("b1", labels={zone: "b"})
        )
        cache.set_node(node("bare"))
        for _ in range(2):
            cache.add_pod(facts(labels=WEB), "a1")
        one = facts(labels=WEB, metadata={"owner_references": (owner,)})
        assert scores(self.plugin, one, cache) is None
        cache.workloads.set_owner(("ReplicaSet", "default", "web"), from_labels(WEB))
        assert scores(self.plugin, one, cache) == {"a1": 15, "a2": 46, "b1": 69, "bare": 100}

    def test_pods_of_a_service_spread_by_default(self) -> None:
        cache = spread_of({"a1": 2})
        cache.workloads.set_service("default", "web", WEB)
        found = scores(self.plugin, facts(labels=WEB), cache)
        assert found is not None
        assert found["a1"] < found["b1"]
        cache.workloads.set_service("default", "other", DB)
        assert scores(self.plugin, facts(labels=WEB), cache) == found
        cache.workloads.remove_service("default", "web")
        assert scores(self.plugin, facts(labels=WEB), cache) is None

    @pytest.mark.parametrize(
        ("labels", "namespace", "wakes"),
        [(WEB, "default", True), (DB, "default", False), (WEB, "other", False)],
    )
    def test_a_pod_that_is_counted_is_worth_another_try(
        self, labels: dict[str, str], namespace: str, wakes: bool
    ) -> None:
        change = PodChange(PodEvent.DELETED, facts(labels=labels, namespace=namespace))
        assert self.plugin.wakes_for_pod(facts_of(web(spread())), change, cache_of()) is wakes
