"""Shuffle sharding, by upstream's tests (``shufflesharding_test.go``)."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from podling.apiserver.flowcontrol.shuffle_sharding import (
    HASH_BITS_MAX,
    check_sizes,
    deal,
    hash_of_flow,
    required_entropy_bits,
)


@pytest.mark.parametrize(("deck", "hand", "bits"), [(1024, 6, 60), (512, 8, 72)])
def test_required_entropy_bits(deck: int, hand: int, bits: int) -> None:
    assert required_entropy_bits(deck, hand) == bits


@pytest.mark.parametrize(
    ("deck", "hand", "why"),
    [
        (-100, 8, "deckSize -100 or handSize 8 is not positive"),
        (100, 0, "deckSize 100 or handSize 0 is not positive"),
        (100, 101, "handSize 101 is greater than deckSize 100"),
        (1 << 27, 2, "deckSize 134217728 is impractically large"),
        (512, 8, "required entropy bits of deckSize 512 and handSize 8 is greater than 60"),
    ],
)
def test_impossible_sizes_are_refused(deck: int, hand: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_sizes(deck, hand)


def test_possible_sizes_are_accepted() -> None:
    check_sizes(1024, 6)


@pytest.mark.parametrize(("deck", "hand"), [(4, 4), (8, 8), (10, 10), (12, 12), (128, 8), (256, 7), (512, 6)])
def test_hand_has_no_queue_twice(deck: int, hand: int) -> None:
    for number in range(200):
        found = deal(hash_of_flow("schema", str(number)), deck, hand)
        assert len(set(found)) == hand
        assert all(0 <= queue < deck for queue in found)


def _falling_factorial(number: int, length: int) -> int:
    return math.prod(range(number - length + 1, number + 1))


@pytest.mark.parametrize(
    ("deck", "hand", "spare"),
    [(16, 3, 64 - HASH_BITS_MAX), (24, 3, 0), (13, 4, 0)],
)
def test_hands_are_equally_likely(deck: int, hand: int, spare: int) -> None:
    possible = _falling_factorial(deck, hand)
    deals = 1 << (math.ceil(math.log2(possible)) + spare) if spare else possible
    found = Counter(tuple(sorted(deal(number, deck, hand))) for number in range(deals))
    permutations = math.factorial(hand)
    least, most = permutations * math.floor(deals / possible), permutations * math.ceil(deals / possible)
    assert all(least <= count <= most for count in found.values())
    assert len(found) == possible // permutations


def test_flows_of_a_schema_have_different_hashes() -> None:
    assert hash_of_flow("a", "b") != hash_of_flow("a", "c") != hash_of_flow("ab", "")
    assert hash_of_flow("a", "b") < 1 << 64
