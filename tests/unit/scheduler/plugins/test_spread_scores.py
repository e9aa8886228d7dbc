"""Scores by spread constraints: the cases of upstream's ``TestPodTopologySpreadScore``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podling import clock
from podling.api.core_v1 import Node, TopologySpreadConstraint
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.scheduler.cache import Cache
from podling.scheduler.plugins.pod_topology_spread import HOSTNAME, PodTopologySpread
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.plugins.spreading import BAR, BOTH, FOO, cluster, labelled, on, one, spread
from tests.unit.scheduler.scheduling import accepted, facts, node, taint

PLUGIN = PodTopologySpread()


def soft(skew: int, topology: str, key: str = "foo", **more: Any) -> TopologySpreadConstraint:
    return spread(skew, topology, key, soft=True, **more)


HOST, HOST_BAR, ZONE = soft(1, HOSTNAME), soft(1, HOSTNAME, "bar"), soft(1, "zone")


def scored(pod: PodFacts, cache: Cache, feasible: str) -> list[int]:
    """Return the scores of these nodes, the others being infeasible."""
    rows = np.array([cache.row_of(name) for name in feasible.split()], np.intp)
    found = PLUGIN.score(pod, cache, rows)
    assert found is not None
    return [int(score) for score in found]


@pytest.mark.parametrize(
    ("constraint", "there", "feasible", "expected"),
    [
        (HOST, {}, "a b", [100, 100]),
        (HOST, {"a": 2, "b": 1}, "a", [100]),
        (HOST, {"a": 1, "b": 1}, "a b", [100, 100]),
        (HOST, {"a": 2, "b": 1, "y": 3}, "a b x y", [20, 60, 100, 0]),
        (soft(1, HOSTNAME, ""), {"a": 2, "b": 1, "y": 3}, "a b x y", [100, 100, 100, 100]),
        (soft(2, HOSTNAME), {"a": 2, "b": 1, "y": 3}, "a b x y", [33, 66, 100, 16]),
        (soft(3, HOSTNAME), {"a": 4, "b": 3, "x": 2, "y": 1}, "a b x y", [44, 66, 77, 100]),
        (HOST, {"a": 4, "b": 2, "x": 1, "y": 3}, "a b x", [33, 83, 100]),
        (ZONE, {"a": 4, "b": 2, "x": 1, "y": 3}, "a b x", [75, 75, 100]),
        (soft(2, "node", min_domains=10), {"a": 2, "b": 2, "x": 1}, "a b x", [75, 75, 100]),
    ],
    ids=[
        "no pods",
        "one candidate",
        "alike",
        "2/1/0/3",
        "no selector",
        "2/1/0/3, skew 2",
        "4/3/2/1, skew 3",
        "one of four is no candidate",
        "zones, one node is no candidate",
        "minDomains does not matter",
    ],
)
def test_scores_by_one_constraint(
    constraint: TopologySpreadConstraint, there: dict[str, Any], feasible: str, expected: list[int]
) -> None:
    assert scored(one(constraint), cluster(**there), feasible) == expected


@pytest.mark.parametrize(
    ("constraints", "there", "feasible", "expected"),
    [
        ((ZONE, HOST), {"a": 2, "b": 1, "x": 2, "y": 4}, "a x", [100, 63]),
        ((ZONE, HOST_BAR), {"a": 1, "b": [BOTH], "y": [FOO, BAR]}, "a b x y", [60, 20, 100, 60]),
        ((ZONE, HOST_BAR), {"b": [BAR], "x": 1, "y": [BOTH]}, "a b x y", [100, 60, 40, 0]),
        ((ZONE, HOST_BAR), {"a": 1, "b": [BOTH], "y": [FOO, BAR]}, "a b x", [50, 25, 100]),
    ],
    ids=["zone and host", "other selectors", "nodes without pods", "one of four is no candidate"],
)
def test_scores_of_several_constraints_add_up(
    constraints: tuple[TopologySpreadConstraint, ...],
    there: dict[str, Any],
    feasible: str,
    expected: list[int],
) -> None:
    assert scored(one(*constraints, labels=BOTH), cluster(**there), feasible) == expected


def test_nodes_without_zone_are_scored_by_host_under_the_defaults() -> None:
    cache = Cache()
    for number, name in enumerate(["d", "c", "b", "a"], 1):
        cache.set_node(node(name))
        for _ in range(number):
            cache.add_pod(facts(labels=FOO), name)
    cache.workloads.set_service("default", "service", FOO)
    assert scored(one(), cache, "a b c d") == [44, 66, 77, 100]


def test_node_without_the_label_scores_nothing_and_is_no_domain() -> None:
    cache = cluster("a x y", a=4, x=1, y=3)
    cache.set_node(Node(metadata=ObjectMeta(name="b", labels={"n": "b"})))
    for _ in range(2):
        cache.add_pod(facts(labels=FOO), "b")
    assert scored(one(HOST), cache, "a b x") == [16, 0, 100]


def test_pods_on_a_node_without_one_of_the_labels_do_not_count() -> None:
    cache = cluster("a b y", y=1)
    cache.set_node(Node(metadata=ObjectMeta(name="x", labels={"zone": "zone1"})))
    for _ in range(2):
        cache.add_pod(facts(labels=FOO), "x")
    assert scored(one(ZONE, HOST), cache, "a b y") == [100, 100, 0]


def test_pods_of_other_namespaces_do_not_count() -> None:
    cache = cluster("a b", a=1, b=2)
    cache.add_pod(facts(labels=FOO, namespace="other"), "a")
    assert scored(one(HOST), cache, "a b") == [100, 33]


def test_pods_that_are_being_deleted_do_not_count() -> None:
    cache = cluster("a b", b=1)
    cache.add_pod(facts(labels=FOO, metadata={"deletion_timestamp": clock.now()}), "a")
    assert scored(one(HOST), cache, "a b") == [100, 0]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (one(soft(1, "node"), node_selector={"mark": ""}), [0, 33, 100]),
        (one(soft(1, "node", node_affinity_policy="Ignore"), node_selector={"mark": ""}), [66, 100, 100]),
        (one(soft(1, "node"), affinity=on("a b")), [0, 33, 100]),
        (one(soft(1, "node", node_affinity_policy="Ignore"), affinity=on("a b")), [66, 100, 100]),
        (one(soft(1, "node", node_taints_policy="Honor")), [0, 33, 100]),
        (one(soft(1, "node")), [66, 100, 100]),
    ],
    ids=["selector", "ignored selector", "affinity", "ignored affinity", "taints", "ignored taints"],
)
def test_policies_decide_which_nodes_count(pod: PodFacts, expected: list[int]) -> None:
    """Node c, outside of selector and affinity and tainted, is feasible all the same."""
    cache = cluster("a b", a=2, b=1)
    for name in ["a", "b"]:
        cache.set_node(node(name, labels={**labelled(name).metadata.labels, "mark": ""}))
    cache.set_node(node("c", labels={"node": "c"}, taints=[taint("k")]))
    cache.add_pod(facts(labels=FOO), "c")
    assert scored(pod, cache, "a b c") == expected


@pytest.mark.parametrize(
    ("constraints", "labels"),
    [
        (
            (
                soft(1, "zone", label_selector=LabelSelector(), match_label_keys=("foo",)),
                soft(1, HOSTNAME, label_selector=LabelSelector(), match_label_keys=("bar",)),
            ),
            BOTH,
        ),
        ((ZONE, soft(1, HOSTNAME, "bar", match_label_keys=("baz",))), {**BOTH, "baz": ""}),
    ],
    ids=["without selector", "beside a selector"],
)
def test_label_keys_narrow_the_selector_for_scores(
    constraints: tuple[TopologySpreadConstraint, ...], labels: dict[str, str]
) -> None:
    baz = {} if labels == BOTH else {"baz": ""}
    cache = cluster(a=1, b=[{**BOTH, **baz}], x=[FOO, BAR, {**BAR, **baz}] if baz else [FOO, BAR])
    assert scored(one(*constraints, labels=labels), cache, "a b x y") == [60, 20, 60, 100]


@pytest.mark.parametrize(
    ("labels", "selector", "fits"),
    [
        ({"rev": "2"}, LabelSelector(), "b x y"),
        ({}, LabelSelector(), "a b x y"),
        ({"rev": "2"}, None, "a b x y"),
    ],
    ids=["same value", "label the pod does not have", "no selector at all"],
)
def test_label_keys_narrow_the_selector_for_the_filter(
    labels: dict[str, str], selector: LabelSelector | None, fits: str
) -> None:
    """Node a has a pod of the second revision, node b two of the first."""
    cache = cluster(a=[{"rev": "2"}], b=[{"rev": "1"}] * 2)
    pod = one(spread(1, "node", label_selector=selector, match_label_keys=("rev",)), labels=labels)
    assert accepted(PLUGIN, pod, cache) == fits.split()
