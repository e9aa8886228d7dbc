"""Scores by labels and taints of nodes: the cases of ``node_affinity_test`` and ``taint_toleration_test``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from podling.api.core_v1 import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from podling.scheduler.configuration.plugin_args import NodeAffinityArgs
from podling.scheduler.plugins import node_affinity
from podling.scheduler.plugins.taint_toleration import TaintToleration
from tests.unit.scheduler.scheduling import accepted, cache_of, facts, node, scores, taint, toleration


def prefers(*terms: tuple[int, Mapping[str, str]]) -> NodeAffinity:
    """Return an affinity that prefers nodes with all labels of a term, by its weight."""
    preferred = tuple(
        PreferredSchedulingTerm(
            weight=weight,
            preference=NodeSelectorTerm(
                match_expressions=tuple(
                    NodeSelectorRequirement(key=key, operator="In", values=(value,))
                    for key, value in labels.items()
                )
            ),
        )
        for weight, labels in terms
    )
    return NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred)


FOO, KEY, AZ = {"foo": "bar"}, {"key": "value"}, {"az": "az1"}
OTHER = {"abc": "az11", "def": "az22"}
ALL = FOO | KEY | AZ
ONE = prefers((2, FOO))
THREE = prefers((2, FOO), (4, KEY), (5, ALL))


@pytest.mark.parametrize(
    ("own", "added", "labels", "expected"),
    [
        (None, None, [FOO, KEY, AZ], None),
        (ONE, None, [OTHER, KEY, AZ], [0, 0, 0]),
        (ONE, None, [FOO, KEY, AZ], [100, 0, 0]),
        (THREE, None, [FOO, ALL, KEY], [18, 100, 36]),
        (None, ONE, [FOO, KEY], [100, 0]),
        (ONE, prefers((3, KEY)), [FOO, KEY, ALL], [40, 60, 100]),
    ],
)
def test_preferred_labels_score_nodes(
    own: NodeAffinity | None,
    added: NodeAffinity | None,
    labels: Sequence[Mapping[str, str]],
    expected: list[int] | None,
) -> None:
    cache = cache_of(*(node(f"n{number}", labels=each) for number, each in enumerate(labels)))
    plugin = node_affinity.NodeAffinity(NodeAffinityArgs(added_affinity=added))
    found = scores(plugin, facts(affinity=Affinity(node_affinity=own)), cache)
    assert (None if found is None else list(found.values())) == expected


AVOID = "PreferNoSchedule"
ARM, SSD = taint("cpu-type", AVOID, "arm64"), taint("disk-type", AVOID, "ssd")


@pytest.mark.parametrize(
    ("tolerations", "taints", "expected"),
    [
        (
            [toleration("foo", "Equal", AVOID, "bar")],
            [[taint("foo", AVOID, "bar")], [taint("foo", AVOID, "blah")]],
            [100, 0],
        ),
        (
            [toleration("cpu-type", "Equal", AVOID, "arm64"), toleration("disk-type", "Equal", AVOID, "ssd")],
            [[], [ARM], [ARM, SSD]],
            None,
        ),
        ([toleration("foo", "Equal", AVOID, "bar")], [[], [ARM], [ARM, SSD]], [100, 50, 0]),
        (
            [
                toleration("cpu-type", "Equal", "NoSchedule", "arm64"),
                toleration("disk-type", "Equal", "NoSchedule", "ssd"),
            ],
            [[], [taint("cpu-type", "NoSchedule", "arm64")], [ARM, SSD]],
            [100, 100, 0],
        ),
        ([], [[], [ARM]], [100, 0]),
    ],
)
def test_untolerated_taints_score_nodes(
    tolerations: Sequence[Toleration], taints: Sequence[Sequence[Taint]], expected: list[int] | None
) -> None:
    """Without any untolerated taint all nodes are equal, and the plugin gives no scores."""
    cache = cache_of(*(node(f"n{number}", taints=each) for number, each in enumerate(taints)))
    found = scores(TaintToleration(), facts(tolerations=tuple(tolerations)), cache)
    assert (None if found is None else list(found.values())) == expected


DEDICATED = taint("dedicated", value="user1")
FOO_BAR = taint("foo", value="bar")


@pytest.mark.parametrize(
    ("tolerations", "taints", "taken"),
    [
        ([], [DEDICATED], False),
        ([toleration("dedicated", "", "NoSchedule", "user1")], [DEDICATED], True),
        ([toleration("dedicated", "Equal", "NoSchedule", "user2")], [DEDICATED], False),
        ([toleration("foo", "Exists", "NoSchedule")], [FOO_BAR], True),
        (
            [
                toleration("dedicated", "Equal", "NoSchedule", "user2"),
                toleration("foo", "Exists", "NoSchedule"),
            ],
            [taint("dedicated", value="user2"), FOO_BAR],
            True,
        ),
        ([toleration("foo", "Equal", AVOID, "bar")], [FOO_BAR], False),
        ([toleration("foo", "Equal", "", "bar")], [FOO_BAR], True),
        (
            [toleration("dedicated", "Equal", "NoSchedule", "user2")],
            [taint("dedicated", AVOID, "user1")],
            True,
        ),
        ([], [taint("dedicated", AVOID, "user1")], True),
    ],
)
def test_untolerated_taints_keep_pods_away(
    tolerations: Sequence[Toleration], taints: Sequence[Taint], taken: bool
) -> None:
    cache = cache_of(node("n", taints=taints))
    found = accepted(TaintToleration(), facts(tolerations=tuple(tolerations)), cache)
    assert found == (["n"] if taken else [])
