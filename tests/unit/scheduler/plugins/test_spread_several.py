"""Several spread constraints of one pod: the cases of upstream's ``TestMultipleConstraints``."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import TopologySpreadConstraint
from podling.scheduler.cache import Cache
from podling.scheduler.plugins.pod_topology_spread import PodTopologySpread
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.plugins.spreading import BAR, BOTH, FOO, cluster, labelled, one, spread
from tests.unit.scheduler.scheduling import accepted, facts, node, taint, unresolvable

PLUGIN = PodTopologySpread()
ZONE, NODE, NODE_BAR = spread(1, "zone"), spread(1, "node"), spread(1, "node", "bar")
ZONE_BAR = spread(1, "zone", "bar")


def both(*constraints: TopologySpreadConstraint) -> PodFacts:
    return one(*constraints, labels=BOTH)


@pytest.mark.parametrize(
    ("pod", "there", "fits"),
    [
        (one(ZONE, NODE), {"a": 2, "b": 1, "y": 3}, "x"),
        (one(ZONE, NODE), {"a": 2, "b": 1, "y": 4}, ""),
        (both(ZONE, NODE_BAR), {"a": 1, "y": [BAR]}, "x"),
        (both(ZONE, NODE_BAR), {"a": 1, "x": [BAR], "y": [BAR]}, ""),
        (both(ZONE, NODE_BAR), {"a": [FOO, BOTH], "y": [FOO, BOTH, FOO]}, "b"),
        (one(ZONE, NODE_BAR, labels=BAR), {"a": 1, "x": [BAR], "y": [BAR]}, "a b"),
        (both(ZONE_BAR, ZONE), {"a": [BOTH, FOO], "b": [BOTH], "y": [FOO, BOTH, FOO]}, "x y"),
        (both(ZONE_BAR, ZONE), {"a": [BOTH, FOO], "b": [BOTH], "y": [FOO, BOTH, FOO, FOO]}, ""),
    ],
    ids=[
        "3/3 and 2/1/0/3",
        "3/4 and 2/1/0/4",
        "other selectors, 1/0 and 0/0/0/1",
        "other selectors, 1/0 and 0/0/1/1",
        "other selectors, 2/3 and 1/0/0/1",
        "pod does not match itself in its zone",
        "one key twice, 2/1 and 3/3",
        "one key twice, 2/1 and 3/4",
    ],
)
def test_every_constraint_must_leave_the_node(pod: PodFacts, there: dict[str, Any], fits: str) -> None:
    assert accepted(PLUGIN, pod, cluster(**there)) == fits.split()


def test_node_without_one_of_the_labels_counts_for_no_constraint() -> None:
    cache = cluster("a b y", a=1, y=1)
    cache.set_node(node("x", labels={"zone": "zone2"}))
    assert accepted(PLUGIN, one(ZONE, NODE), cache) == ["b"]
    assert unresolvable(PLUGIN, one(ZONE, NODE), cache) == ["x"]


def test_pods_on_a_node_without_one_of_the_labels_do_not_count() -> None:
    """Counted, the two pods would put the first zone ahead of the second one, which has one pod."""
    cache = cluster("a b y", y=1)
    cache.set_node(node("x", labels={"zone": "zone1"}))
    for _ in range(2):
        cache.add_pod(facts(labels=FOO), "x")
    assert accepted(PLUGIN, one(ZONE, NODE), cache) == ["a", "b"]


def marked(names: str, tainted: str = "") -> Cache:
    """Return four nodes, of which ``names`` have the label ``foo``; a, b and y have a pod each."""
    cache = cluster()
    for name in ["a", "b", "x", "y"]:
        ours = labelled(name, taints=[taint("k")] if name in tainted.split() else [])
        labels = {**ours.metadata.labels, **(FOO if name in names.split() else {})}
        cache.set_node(node(name, labels=labels, taints=ours.spec.taints))
    for name in ["a", "b", "y"]:
        cache.add_pod(facts(labels=FOO), name)
    return cache


TAINTS_TOO: dict[str, Any] = {"node_taints_policy": "Honor"}
ANY_NODE: dict[str, Any] = {"node_affinity_policy": "Ignore"}


@pytest.mark.parametrize(
    ("selects", "zone", "host", "cache", "fits"),
    [
        (FOO, {}, ANY_NODE, marked("a b x"), "x"),
        ({}, TAINTS_TOO, {}, marked("a b x", "y"), "x"),
        (FOO, {}, {}, marked("a x y", "y"), "b x"),
        (FOO, TAINTS_TOO, ANY_NODE, marked("a x y", "y"), "x"),
    ],
    ids=[
        "node affinity, for zones only",
        "taints, for zones only",
        "node affinity, for both",
        "everything for zones, nothing for nodes",
    ],
)
def test_each_constraint_has_its_own_policies(
    selects: dict[str, str], zone: dict[str, Any], host: dict[str, Any], cache: Cache, fits: str
) -> None:
    pod = one(spread(1, "zone", **zone), spread(1, "node", **host), node_selector=selects)
    assert accepted(PLUGIN, pod, cache) == fits.split()
