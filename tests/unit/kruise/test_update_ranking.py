"""The order of updates.

Cases: ``TestScatterPodsByRule``, ``TestSort``, ``TestCompare`` and ``Test_prioritySort_Sort`` upstream.
"""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling_kruise.common_types import OrderTerm, PriorityStrategy, ScatterTerm, WeightTerm
from podling_kruise.update_ranking import by_priority, scattered


def pods(*labels: dict[str, str]) -> list[Pod]:
    return [Pod(metadata=ObjectMeta(name=str(number), labels=each)) for number, each in enumerate(labels)]


def numbers(found: list[Pod]) -> list[int]:
    return [int(pod.metadata.name or "") for pod in found]


@pytest.mark.parametrize(
    ("matching", "order"),
    [
        (".", [0]),
        ("A", [0]),
        ("A.", [0, 1]),
        ("....AA", [4, 0, 1, 2, 3, 5]),
        ("...A..A", [3, 0, 1, 2, 4, 5, 6]),
        ("......AAA", [6, 0, 1, 2, 7, 3, 4, 5, 8]),
        ("..AAAA", [2, 3, 0, 4, 1, 5]),
        ("...AAA", [3, 0, 1, 4, 2, 5]),
        ("..A.AAAAA", [2, 4, 0, 5, 6, 1, 7, 3, 8]),
        (".A.A..AAA", [1, 0, 3, 2, 6, 4, 7, 5, 8]),
        (".......AAA", [7, 0, 1, 2, 3, 8, 4, 5, 6, 9]),
    ],
)
def test_matching_pods_are_spread_over_the_update(matching: str, order: list[int]) -> None:
    found = pods(*({"key": "A"} if letter == "A" else {} for letter in matching))
    assert numbers(scattered([ScatterTerm(key="key", value="A")], found, found)) == order


def test_term_of_the_most_pods_is_spread_first() -> None:
    found = pods({"a": "1"}, {"a": "1"}, {"b": "1"}, {"b": "1"}, {"b": "1"}, {}, {}, {})
    terms = [
        ScatterTerm(key="a", value="1"),
        ScatterTerm(key="b", value="1"),
        ScatterTerm(key="c", value="1"),
    ]
    reversed_terms = [terms[1], terms[0]]
    assert numbers(scattered(terms, found, found)) == numbers(scattered(reversed_terms, found, found))


def lettered(text: str) -> list[Pod]:
    """Return a pod for each word: letters are its labels, a dot is a pod without any."""
    return pods(*({letter: "1" for letter in word if letter != "."} for word in text.split()))


@pytest.mark.parametrize(
    ("pods_by_label", "terms", "order"),
    [
        ("AB", "A", [0]),
        (". . . . . .", "", [0, 1, 2, 3, 4, 5]),
        (". . . . A A", "A", [4, 0, 1, 2, 3, 5]),
        (". . . . x y B A A AB", "B", [6, 0, 1, 2, 3, 4, 5, 7, 8, 9]),
        ("B B . . A A", "AB", [0, 4, 2, 3, 5, 1]),
        (". . . B AB A", "AB", [4, 0, 1, 2, 5, 3]),
        (". . . . x y B A A B", "BA", [7, 6, 0, 1, 2, 3, 4, 5, 9, 8]),
        (". . . . x y B A A B", "AB", [6, 7, 0, 1, 2, 3, 4, 5, 8, 9]),
        (". . . . x y AB . . AB", "AB", [6, 0, 1, 2, 3, 4, 5, 7, 8, 9]),
        (". . . x y AB . . AB", "AB", [5, 0, 1, 2, 3, 4, 6, 7, 8]),
        (". . . A x y AB . . .", "AB", [3, 0, 1, 2, 4, 5, 7, 6]),
        (". . . A . . x y AB . . AB", "AB", [0, 1, 2, 4, 3, 5, 6, 7, 9, 10, 8]),
        (". . . A xA y AB . . AB", "AB", [6, 3, 0, 1, 4, 2, 5, 7, 8, 9]),
        (". A A x y AB . . AB", "AB", [5, 1, 0, 3, 2, 4, 6, 7, 8]),
        ("A . . A xA y AB . . AB", "AB", [1, 0, 2, 3, 5, 4, 7, 6]),
        (". . A A . A x y AB . . AB", "AB", [0, 2, 1, 4, 3, 6, 7, 5, 9, 10, 8]),
        (". A A B B C C C C C", "ABC", [3, 1, 5, 0, 6, 7, 8, 9, 2, 4]),
        (". A AC BC B . . C C C", "ABC", [3, 2, 0, 7, 8, 5, 6, 9, 1, 4]),
        (". . . . A A A", "A", [0, 1, 4, 2, 3, 5]),
        ("A A . . . . . . . A", "A", [2, 0, 3, 4, 5, 6, 1]),
    ],
)
def test_pods_are_spread_over_several_terms(pods_by_label: str, terms: str, order: list[int]) -> None:
    """Only the first pods of the table are updated: as many as the order has."""
    found = lettered(pods_by_label)
    strategy = [ScatterTerm(key=letter, value="1") for letter in terms]
    assert numbers(scattered(strategy, found[: len(order)], found)) == order


def weights(*terms: tuple[int, str, str]) -> PriorityStrategy:
    return PriorityStrategy(
        weight_priority=tuple(
            WeightTerm(weight=weight, match_selector=LabelSelector(match_labels={key: value}))
            for weight, key, value in terms
        )
    )


def orders(*keys: str) -> PriorityStrategy:
    return PriorityStrategy(order_priority=tuple(OrderTerm(ordered_key=key) for key in keys))


ONE_KEY = weights((20, "key", "foo"), (10, "key", "bar"))


@pytest.mark.parametrize(
    ("strategy", "first", "second", "in_order"),
    [
        (None, {}, {"key": "foo"}, True),
        (ONE_KEY, {}, {}, True),
        (ONE_KEY, {"key": "foo"}, {"key": "foo"}, True),
        (ONE_KEY, {"key": "bar"}, {"key": "foo"}, False),
        (ONE_KEY, {}, {"key": "bar"}, False),
        (
            weights((20, "key1", "foo"), (10, "key2", "bar"), (15, "key3", "baz")),
            {"key1": "foo"},
            {"key2": "bar", "key3": "baz"},
            False,
        ),
        (
            weights((20, "key1", "foo"), (10, "key2", "bar"), (5, "key3", "baz")),
            {"key2": "bar", "key3": "baz"},
            {"key1": "foo"},
            False,
        ),
        (orders("key1", "key2"), {"key1": "1"}, {"key1": "2"}, False),
        (orders("key1", "key2"), {"key1": "web-10"}, {"key1": "web-9"}, True),
        (orders("key1", "key2"), {"key2": "9"}, {"key1": "1"}, False),
        (orders("key1", "key2"), {"key1": "none"}, {"key1": "also"}, True),
        (orders("key1", "key2"), {}, {}, True),
        (orders("key1", "key2"), {"key1": "o-10"}, {"key1": "o-5"}, True),
        (orders("key1", "key2"), {"key1": "o-10"}, {"key1": "o-10"}, True),
        (orders("key1", "key2"), {"key1": "o-10"}, {"key1": "o-20"}, False),
        (orders("key1", "key2"), {"key2": "o-20"}, {"key1": "o-10"}, False),
        (orders("key1", "key2"), {"key2": "o-20"}, {"key2": "o-10"}, True),
    ],
)
def test_preferred_pods_come_first(
    strategy: PriorityStrategy | None, first: dict[str, str], second: dict[str, str], in_order: bool
) -> None:
    assert numbers(by_priority(strategy, pods(first, second))) == ([0, 1] if in_order else [1, 0])


TWO_KEYS = weights((100, "foo", "bar"), (90, "hello", "world"))


@pytest.mark.parametrize(
    ("strategy", "labels", "order"),
    [
        (PriorityStrategy(), [{}, {}, {}], [0, 1, 2]),
        (TWO_KEYS, [{"hello": "world"}, {}, {"foo": "bar"}, {}], [2, 0, 1, 3]),
        (TWO_KEYS, [{"hello": "bar"}, {}, {"foo": "world"}, {}], [0, 1, 2, 3]),
    ],
)
def test_pods_of_equal_weight_keep_their_order(
    strategy: PriorityStrategy, labels: list[dict[str, str]], order: list[int]
) -> None:
    assert numbers(by_priority(strategy, pods(*labels))) == order


def test_pods_without_an_ordered_key_come_first() -> None:
    found = pods({"a": "1"}, {}, {"b": "9"}, {"a": "2"}, {})
    strategy = PriorityStrategy(order_priority=(OrderTerm(ordered_key="a"), OrderTerm(ordered_key="b")))
    assert numbers(by_priority(strategy, found)) == [1, 4, 3, 0, 2]
