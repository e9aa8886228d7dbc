"""The cases of upstream's tables about affinity between pods: ``interpodaffinity``'s filter and its hints.

A pod is written as its labels (``"a b=1"``), a term as a selector and a topology: ``"a@zone"``, ``"!a@zone"``
for pods without the label, ``"a=1|2@zone"`` for one of two values, ``"a!=1@zone"`` for other values.
"""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Affinity, Node, PodAffinity, PodAffinityTerm, PodAntiAffinity
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.scheduler.framework import ALL, PodChange, PodEvent
from podling.scheduler.plugins.inter_pod_affinity import (
    InterPodAffinity,
)
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.scheduling import cache_of, facts, node, rejections, unresolvable

PLUGIN = InterPodAffinity()
AFFINITY = "node(s) didn't match pod affinity rules"
APART = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def labels_of(text: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in text.split())
    return {key: value for key, _, value in pairs}


def requirement(text: str) -> LabelSelectorRequirement:
    key, equals, values = text.partition("=")
    if key.startswith("!") and not equals:
        return LabelSelectorRequirement(key=key[1:], operator="DoesNotExist")
    if key.endswith("!"):
        return LabelSelectorRequirement(key=key[:-1], operator="NotIn", values=tuple(values.split("|")))
    if not equals:
        return LabelSelectorRequirement(key=key, operator="Exists")
    return LabelSelectorRequirement(key=key, operator="In", values=tuple(values.split("|")))


def term(text: str) -> PodAffinityTerm:
    selector, _, place = text.partition("@")
    topology, _, namespace = place.partition("/")
    requirements = tuple(requirement(each) for each in selector.split(","))
    return PodAffinityTerm(
        label_selector=LabelSelector(match_expressions=requirements),
        topology_key=topology,
        namespaces=(namespace,) if namespace else (),
    )


def one(labels: str = "", near: str = "", apart: str = "", namespace: str = "default") -> PodFacts:
    """Return a pod with required affinity and anti-affinity, each terms with blanks between."""
    wanted = PodAffinity(
        required_during_scheduling_ignored_during_execution=tuple(term(each) for each in near.split())
    )
    unwanted = PodAntiAffinity(
        required_during_scheduling_ignored_during_execution=tuple(term(each) for each in apart.split())
    )
    return facts(
        labels=labels_of(labels),
        namespace=namespace,
        affinity=Affinity(
            pod_affinity=wanted if near else None, pod_anti_affinity=unwanted if apart else None
        ),
    )


MACHINE = node("m", labels={"region": "r1", "zone": "z11"})
SCAN, S1 = "service=scan", "security=S1"


@pytest.mark.parametrize(
    ("pod", "there", "reason"),
    [
        (one(), None, ""),
        (one(S1, "service=scan|v2@region"), one(SCAN), ""),
        (one(S1, "service!=x|y@region"), one(SCAN), ""),
        (one(S1, "service=scan|v2@region/other"), one(SCAN), AFFINITY),
        (one(SCAN, "service=virus|v2@region"), one(SCAN), AFFINITY),
        (one(S1, "service,!wrong@region service=scan,service!=bad@region"), one(SCAN), ""),
        (one(S1, "service,!wrong@region service=scan2,service!=bad@region"), one(SCAN), AFFINITY),
        (one(S1, "service=scan|v2@region", "service=virus|v2@node"), one(SCAN), ""),
        (
            one(S1, "service=scan|v2@region", "service=virus|v2@node"),
            one(SCAN, apart="service=virus|v2@node"),
            "",
        ),
        (one(S1, "service=scan|v2@region", "service=scan|v2@zone"), one(SCAN), APART),
        (
            one(SCAN, "service=scan|v2@region", "service=virus|v2@node"),
            one(SCAN, apart="service=scan|v2@zone"),
            EXISTING,
        ),
        (one(SCAN, "service!=scan|v2@region"), None, AFFINITY),
        (one(SCAN), one(SCAN, apart="service=scan|v2@zone"), EXISTING),
        (one(SCAN), one(SCAN, apart="service!=scan|v2@zone"), ""),
        (one(SCAN, apart="service@region security@region"), one(S1, apart="security@zone"), APART),
        (one(SCAN, apart="service@zone security@zone"), one(S1, apart="security@zone"), APART),
        (one(S1, apart="security@zone"), one(SCAN, apart="service@zone security@zone"), EXISTING),
        (one("abc xyz", apart="abc@zone def@zone"), one("def xyz", apart="abc@zone def@zone"), APART),
        (one("def xyz", apart="abc@zone def@zone"), one("abc xyz", apart="abc@zone def@zone"), APART),
    ],
)
def test_filter_on_one_node(pod: PodFacts, there: PodFacts | None, reason: str) -> None:
    """A node that several rules reject has the reason of the first: affinity, own, others' anti-affinity."""
    cache = cache_of(MACHINE)
    if there is not None:
        cache.add_pod(there, "m")
    assert rejections(PLUGIN, pod, cache) == ({"m": [reason]} if reason else {})
    assert unresolvable(PLUGIN, pod, cache) == (["m"] if reason == AFFINITY else [])


CHINA = (
    node("a", labels={"region": "China"}),
    node("b", labels={"region": "China", "az": "az1"}),
    node("c", labels={"region": "India"}),
)
SAME_ZONE = (
    node("a", labels={"region": "r1", "zone": "z1"}),
    node("b", labels={"region": "r1", "zone": "z1"}),
)
TWO_ZONES = (
    node("a", labels={"region": "r1", "zone": "z1"}),
    node("b", labels={"region": "r1", "zone": "z2"}),
)
THREE_ZONES = (*TWO_ZONES, node("c", labels={"region": "r1", "zone": "z3"}))


@pytest.mark.parametrize(
    ("nodes", "pod", "there", "rejected"),
    [
        (CHINA, one(near="foo=bar@region"), {"a": [one("foo=bar")]}, {"c": AFFINITY}),
        (
            TWO_ZONES,
            one("foo=bar service=scan", "foo=bar@zone service=scan@zone"),
            {"a": [one("foo=bar")]},
            {},
        ),
        (TWO_ZONES, one(apart="foo=abc@region"), {"a": [one("foo=abc")]}, {"a": APART, "b": APART}),
        (
            TWO_ZONES,
            one(apart="foo=abc@region service=scan@zone"),
            {"a": [one("foo=abc service=scan")]},
            {"a": APART, "b": APART},
        ),
        (CHINA, one(apart="foo=abc@region"), {"a": [one("foo=abc")]}, {"a": APART, "b": APART}),
        (
            CHINA,
            one("foo=123", apart="foo=bar@region", namespace="ns1"),
            {"a": [one("foo=bar", namespace="ns1")], "c": [one(apart="foo=123@region", namespace="ns2")]},
            {"a": APART, "b": APART},
        ),
        (SAME_ZONE, one("foo"), {"a": [one(apart="foo@nowhere")]}, {}),
        (SAME_ZONE, one(apart="foo@nowhere"), {"a": [one("foo")]}, {}),
        (
            TWO_ZONES,
            one("foo bar"),
            {"a": [one(apart="foo@zone"), one(apart="bar@region")]},
            {"a": EXISTING, "b": EXISTING},
        ),
        (
            TWO_ZONES,
            one(apart="foo@zone bar@region"),
            {"a": [one("foo")], "b": [one("bar")]},
            {"a": APART, "b": APART},
        ),
        (TWO_ZONES, one("foo bar"), {"a": [one(apart="foo@nowhere bar@zone")]}, {"a": EXISTING}),
        (TWO_ZONES, one(apart="foo@nowhere bar@zone"), {"a": [one("foo bar")]}, {"a": APART}),
        (
            TWO_ZONES,
            one("foo bar"),
            {"a": [one(apart="foo@region bar@zone")]},
            {"a": EXISTING, "b": EXISTING},
        ),
        (TWO_ZONES, one(apart="foo@region bar@zone"), {"a": [one("foo bar")]}, {"a": APART, "b": APART}),
        (
            THREE_ZONES,
            one("foo bar"),
            {"a": [one(apart="foo@zone x@zone")], "b": [one(apart="bar@zone y@zone")]},
            {"a": EXISTING, "b": EXISTING},
        ),
        (SAME_ZONE, one(near="foo@region bar@zone"), {"a": [one("foo bar")]}, {}),
        (
            TWO_ZONES,
            one(near="foo@region bar@zone"),
            {"a": [one("foo")], "b": [one("bar")]},
            {"a": AFFINITY, "b": AFFINITY},
        ),
    ],
)
def test_filter_on_several_nodes(
    nodes: tuple[Node, ...], pod: PodFacts, there: dict[str, list[PodFacts]], rejected: dict[str, str]
) -> None:
    cache = cache_of(*nodes)
    for name, pods in there.items():
        for each in pods:
            cache.add_pod(each, name)
    assert rejections(PLUGIN, pod, cache) == {name: [reason] for name, reason in rejected.items()}


SCANS = "service=scan|v2@region"


@pytest.mark.parametrize(
    ("pod", "before", "after", "wakes"),
    [
        (one(near=SCANS), None, one(SCAN), True),
        (one(near=SCANS), None, one("aaa=a"), False),
        (one(near=SCANS), one("aaa=a"), one(SCAN), True),
        (one(near=SCANS), one("service=v2"), one(SCAN), False),
        (one(near="aaa@host bbb@host"), one("aaa=a"), one(SCAN), False),
        (one(near="aaa@host bbb@host"), one("aaa=a"), one("aaa bbb"), True),
        (one(apart=SCANS), one(SCAN), one("service=aaaa"), True),
        (one(apart=SCANS), one("service=bbb"), one(SCAN), False),
        (one(apart=SCANS), None, one(SCAN), False),
        (one(apart=SCANS), one("aaa=a"), None, False),
        (one(apart=SCANS), one(SCAN), None, True),
        (one(SCAN), one(apart=SCANS), None, True),
    ],
)
def test_change_of_another_pod_wakes_pods_that_it_may_help(
    pod: PodFacts, before: PodFacts | None, after: PodFacts | None, wakes: bool
) -> None:
    if after is None:
        assert before is not None
        change = PodChange(PodEvent.DELETED, before)
    else:
        change = PodChange(PodEvent.ADDED if before is None else PodEvent.LABELS, after, before)
    assert PLUGIN.wakes_for_pod(pod, change, cache_of()) is wakes


@pytest.mark.parametrize(
    ("pod", "labels", "wakes"),
    [
        (one(near="service=scan@zone"), {"zone": "z1"}, True),
        (one(near="service=scan@region"), {"zone": "z1"}, False),
        (one(near="service=scan@region a@zone"), {"zone": "z1"}, True),
        (one(apart="another=label@zone"), {"zone": "z1"}, True),
        (one(apart="another=label@zone"), {}, True),
    ],
)
def test_node_wakes_pods_that_it_may_help(pod: PodFacts, labels: dict[str, str], wakes: bool) -> None:
    cache = cache_of(node("a", labels=labels))
    assert PLUGIN.wakes_for_nodes(pod, cache.rows, cache) == (ALL if wakes else 0)
