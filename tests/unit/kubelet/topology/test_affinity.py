"""Merged hints: cases of upstream's ``policy_test.go``."""

from __future__ import annotations

import pytest

from podling.kubelet.topology.affinity import (
    BEST_EFFORT,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    Hint,
    Hints,
    masks,
    merge,
    narrower,
)


def hint(nodes: str, preferred: bool = True) -> Hint:
    return Hint(frozenset(map(int, nodes)) if nodes else None, preferred)


def provider(*hints: Hint) -> Hints:
    return {"cpu": hints}


ALL = hint("01")


def test_masks_are_all_combinations_small_ones_first() -> None:
    assert [sorted(mask) for mask in masks((0, 1, 2))] == [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]


def test_narrower_mask_has_fewer_nodes_or_lower_ones() -> None:
    assert narrower(frozenset({3}), frozenset({0, 1}))
    assert narrower(frozenset({0}), frozenset({1}))
    assert not narrower(frozenset({1}), frozenset({1}))


@pytest.mark.parametrize(
    ("why", "providers", "expected"),
    [
        ("no hints", [], ALL),
        ("a provider without preference", [{}], ALL),
        ("a resource that cannot be met", [provider()], hint("01", False)),
        ("a single hint", [provider(hint("0"))], hint("0")),
        ("preferred beats the others", [provider(hint("0"), hint("01", False))], hint("0")),
        ("both the same", [provider(hint("0")), provider(hint("0"))], hint("0")),
        (
            "both the same, one not preferred",
            [provider(hint("0")), provider(hint("0", False))],
            hint("0", False),
        ),
        ("nothing in common", [provider(hint("0")), provider(hint("1"))], hint("01", False)),
        ("one is wider", [provider(hint("0")), provider(hint("01"))], hint("0", False)),
        ("the common one of two", [provider(hint("0"), hint("1")), provider(hint("1"))], hint("1")),
        ("lower node of two equal ones", [provider(hint("0"), hint("1"), hint("01", False))], hint("0")),
        ("one provider does not care", [provider(hint("1")), {}], hint("1")),
    ],
)
def test_hints_are_merged_by_best_effort(why: str, providers: list[Hints], expected: Hint) -> None:
    assert merge(BEST_EFFORT, providers, (0, 1)) == (expected, True), why
    assert merge(RESTRICTED, providers, (0, 1)) == (expected, expected.preferred), why


@pytest.mark.parametrize(
    ("why", "providers", "expected"),
    [
        ("no hints mean any node", [], (hint(""), True)),
        ("a single node", [provider(hint("1"))], (hint("1"), True)),
        ("two nodes at once", [provider(hint("01"))], (hint("", False), False)),
        ("one that is not preferred", [provider(hint("0", False))], (hint("", False), False)),
        ("different nodes", [provider(hint("0")), provider(hint("1"))], (hint("", False), False)),
        ("two nodes are never chosen", [provider(hint("0"), hint("01", False)), {}], (hint("0"), True)),
    ],
)
def test_single_numa_node_admits_one_node_only(
    why: str, providers: list[Hints], expected: tuple[Hint, bool]
) -> None:
    assert merge(SINGLE_NUMA_NODE, providers, (0, 1)) == expected, why


def test_not_preferred_hint_is_as_large_as_the_largest_request_needs() -> None:
    """``bestNonPreferredAffinityCount``: the second provider needs two nodes, so one node is too few."""
    first = provider(hint("0"), hint("1"), hint("01", False))
    second = provider(hint("01"))
    assert merge(BEST_EFFORT, [first, second], (0, 1))[0] == hint("01", False)


def test_closest_nodes_are_preferred_if_configured() -> None:
    distances = {0: (10, 30, 20, 30), 1: (30, 10, 30, 20), 2: (20, 30, 10, 30), 3: (30, 20, 30, 10)}
    hints = [provider(hint("01"), hint("13"), hint("02"))]
    assert merge(BEST_EFFORT, hints, (0, 1, 2, 3))[0] == hint("01")
    assert merge(BEST_EFFORT, hints, (0, 1, 2, 3), distances)[0] == hint("02")
