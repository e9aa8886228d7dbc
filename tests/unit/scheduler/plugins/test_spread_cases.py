"""The cases of upstream's tables about spreading: ``podtopologyspread``'s filter, preemption and hints."""

from __future__ import annotations

from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import TopologySpreadConstraint
from podling.scheduler.cache import Cache
from podling.scheduler.framework import OwnChange, PodChange, PodEvent
from podling.scheduler.plugins.pod_topology_spread import PodTopologySpread
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.plugins.spreading import BAR, BOTH, FOO, cluster, labelled, on, one, spread
from tests.unit.scheduler.scheduling import accepted, cache_of, facts, node, taint, toleration, unresolvable

PLUGIN = PodTopologySpread()


@pytest.mark.parametrize(
    ("pod", "cache", "fits"),
    [
        (one(spread(1, "zone")), cluster(), "a b x y"),
        (one(spread(1, "zone", "bar")), cluster(), "a b x y"),
        (one(spread(1, "zone", "")), cluster(x=1, y=1), "a b x y"),
        (one(spread(1, "zone")), cluster(x=1, y=1), "a b"),
        (one(spread(1, "zone")), cluster(a=2, b=1, y=3), "a b x y"),
        (one(spread(1, "rack")), cluster("a x"), ""),
        (one(spread(1, "node")), cluster(a=2, b=1, y=3), "x"),
        (one(spread(2, "node")), cluster(a=2, b=1, y=3), "b x"),
        (one(spread(1, "node"), labels=BAR), cluster(a=2, b=1, y=3), "b x"),
        (one(spread(1, "node"), affinity=on("a y")), cluster(a=2, b=1, y=3), "a b x"),
        (one(spread(1, "zone"), affinity=on("b", "NotIn")), cluster(b=2, y=1), "a b"),
        (one(spread(2, "node", min_domains=4)), cluster("a b c", a=2, b=2, c=1), "c"),
        (one(spread(2, "node", min_domains=2)), cluster("a b c", a=2, b=2, c=1), "a b c"),
    ],
    ids=[
        "no pods",
        "pod does not match itself",
        "no selector",
        "one zone behind",
        "zones alike",
        "no such topology",
        "nodes 2/1/0/3",
        "nodes 2/1/0/3, skew 2",
        "nodes 2/1/0/3, pod does not match itself",
        "node affinity leaves 2/3",
        "node affinity leaves 0/1 in zones",
        "fewer domains than minDomains",
        "more domains than minDomains",
    ],
)
def test_nodes_that_one_constraint_leaves(pod: PodFacts, cache: Cache, fits: str) -> None:
    """Nodes that the pod cannot use by its node affinity do not count; another filter rejects them."""
    assert accepted(PLUGIN, pod, cache) == fits.split()


def test_pods_of_other_namespaces_do_not_count() -> None:
    cache = cluster(x=1, y=1)
    for _ in range(2):
        cache.add_pod(facts(labels=FOO, namespace="other"), "a")
    assert accepted(PLUGIN, one(spread(1, "zone")), cache) == ["a", "b"]


def test_node_without_the_topology_counts_nowhere() -> None:
    cache = cluster("a x y", a=1, x=1, y=1)
    cache.set_node(node("b", labels={"zon": "zone1"}))
    cache.add_pod(facts(labels=FOO), "b")
    pod = one(spread(1, "zone"))
    assert accepted(PLUGIN, pod, cache) == ["a"]
    assert unresolvable(PLUGIN, pod, cache) == ["b"]


def test_pods_that_are_being_deleted_do_not_count() -> None:
    cache = cluster("a b", b=1)
    cache.add_pod(facts(labels=FOO, metadata={"deletion_timestamp": clock.now()}), "a")
    assert accepted(PLUGIN, one(spread(1, "node")), cache) == ["a"]


@pytest.mark.parametrize(
    ("policies", "fits"),
    [({}, "b"), ({"node_taints_policy": "Honor"}, "a b"), ({"node_affinity_policy": "Ignore"}, "b")],
)
def test_tainted_nodes_count_unless_taints_are_honoured(policies: dict[str, Any], fits: str) -> None:
    """Node b is tainted and empty, node a has one pod."""
    cache = cluster("a", a=1)
    cache.set_node(labelled("b", taints=[taint("k")]))
    assert accepted(PLUGIN, one(spread(1, "node", **policies)), cache) == fits.split()
    tolerant = one(spread(1, "node", node_taints_policy="Honor"), tolerations=(toleration("k"),))
    assert accepted(PLUGIN, tolerant, cache) == ["b"]


@pytest.mark.parametrize(
    ("counts", "victim", "fits"),
    [
        ({"a": 1, "b": 1, "x": 1}, "a", "a b x"),
        ({"a": 1, "b": 1, "x": 1, "y": 1}, "a", "a b"),
        ({"a": [BAR, FOO], "b": 1, "x": 1, "y": 1}, "a", "a b x y"),
    ],
    ids=["zones 1/1", "zones 1/2", "pod that does not count"],
)
def test_removed_pod_changes_the_counts(counts: dict[str, Any], victim: str, fits: str) -> None:
    """Preemption calls the filter again without a pod."""
    cache = cluster(" ".join(counts), **counts)
    pod = one(spread(1, "zone"))
    accepted(PLUGIN, pod, cache)
    first = next(iter(cache.pods_on(cache.row_of(victim) or 0)))
    cache.remove_pod(first.uid)
    assert accepted(PLUGIN, pod, cache) == fits.split()
    cache.add_pod(first, victim)
    assert accepted(PLUGIN, pod, cache) == accepted(PLUGIN, pod, cluster(" ".join(counts), **counts))


@pytest.mark.parametrize(
    ("constraints", "before", "after", "wakes"),
    [
        ((spread(1, "zone"),), None, FOO, True),
        ((spread(1, "zone"),), None, BAR, False),
        ((spread(1, "zone"),), FOO, None, True),
        ((spread(1, "zone"),), BAR, None, False),
        ((spread(1, "zone"),), {**FOO, "bar": "1"}, {**FOO, "bar": "2"}, False),
        ((spread(1, "zone"),), {}, FOO, True),
        ((spread(1, "zone"),), FOO, {}, True),
        ((spread(1, "zone"),), {"foo": "1"}, {"foo": "2"}, False),
        ((spread(1, "zone"), spread(1, "node", "bar")), FOO, BOTH, True),
        ((spread(1, "zone"), spread(1, "node", "bar")), FOO, {**FOO, "baz": ""}, False),
        ((spread(1, "zone"), spread(1, "node", "bar")), BOTH, {**FOO, "bar": "2"}, False),
    ],
)
def test_change_of_another_pod_wakes_pods_whose_counts_change(
    constraints: tuple[TopologySpreadConstraint, ...],
    before: dict[str, str] | None,
    after: dict[str, str] | None,
    wakes: bool,
) -> None:
    was = None if before is None else facts(labels=before)
    if after is None:
        assert was is not None
        change = PodChange(PodEvent.DELETED, was)
    else:
        change = PodChange(PodEvent.ADDED if was is None else PodEvent.LABELS, facts(labels=after), was)
    assert PLUGIN.wakes_for_pod(one(*constraints), change, cache_of()) is wakes


@pytest.mark.parametrize(
    ("policy", "change", "labels", "wakes"),
    [
        ("Honor", OwnChange.TOLERATIONS, FOO, True),
        ("Ignore", OwnChange.TOLERATIONS, FOO, False),
        ("Ignore", OwnChange.LABELS, {}, True),
        ("Ignore", OwnChange.LABELS, {**FOO, "unrelated": ""}, False),
    ],
)
def test_own_change_wakes_pod_whose_constraints_change(
    policy: str, change: OwnChange, labels: dict[str, str], wakes: bool
) -> None:
    constraint = spread(1, "zone", node_taints_policy=policy)
    before, after = one(constraint, labels=labels), one(constraint)
    assert PLUGIN.wakes_for_own(before, after, change, cache_of()) is wakes
