"""Pods that spread and the nodes they spread over, for the cases of upstream's ``podtopologyspread``."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
)
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.scheduler.cache import Cache
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.scheduling import cache_of, facts, node

FOO, BAR = {"foo": ""}, {"bar": ""}
BOTH = {**FOO, **BAR}


def having(key: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key=key, operator="Exists"),))


def spread(
    skew: int, topology: str, key: str = "foo", *, soft: bool = False, **more: Any
) -> TopologySpreadConstraint:
    """Return a constraint over the pods that have the label ``key``; without a key, it has no selector."""
    more.setdefault("label_selector", having(key) if key else None)
    return TopologySpreadConstraint(
        max_skew=skew,
        topology_key=topology,
        when_unsatisfiable="ScheduleAnyway" if soft else "DoNotSchedule",
        **more,
    )


def one(
    *constraints: TopologySpreadConstraint, labels: dict[str, str] | None = None, **more: Any
) -> PodFacts:
    return facts(labels=FOO if labels is None else labels, topology_spread_constraints=constraints, **more)


def on(names: str, operator: str = "In") -> Affinity:
    """Require, or exclude, nodes by their label ``node``."""
    requirement = NodeSelectorRequirement(key="node", operator=operator, values=tuple(names.split()))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector))


ZONES = {"a": "1", "b": "1", "x": "2", "y": "2"}


def cluster(names: str = "a b x y", **counts: int | list[dict[str, str]]) -> Cache:
    """Return nodes in zones, each with so many pods labelled ``foo``, or with pods of these labels."""
    cache = cache_of(*(labelled(name) for name in names.split()))
    for name, there in counts.items():
        for labels in [FOO] * there if isinstance(there, int) else there:
            cache.add_pod(facts(labels=labels), name)
    return cache


def labelled(name: str, **more: Any) -> Node:
    labels = {"node": name, **({"zone": f"zone{ZONES[name]}"} if name in ZONES else {})}
    return node(name, labels=labels, **more)
