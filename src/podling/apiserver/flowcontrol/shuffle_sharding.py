"""Shuffle sharding: each flow has a hand of few queues out of many, chosen by a hash of the flow. Pure.

Source: ``apiserver/pkg/util/shufflesharding``, ``apf_controller.go`` (``hashFlowID``).
"""

from __future__ import annotations

import math
from hashlib import sha256

HASH_BITS_MAX = 60
"""Bits of the hash that may be needed: with more, the last queue of a hand is chosen unevenly."""
DECK_SIZE_MAX = 1 << 26


def required_entropy_bits(deck_size: int, hand_size: int) -> int:
    """Return the number of bits of the hash that dealing a hand uses, a little overestimated."""
    return math.ceil(math.log2(deck_size) * hand_size)


def check_sizes(deck_size: int, hand_size: int) -> None:
    """Raise ``ValueError`` if no hand of ``hand_size`` can be dealt from ``deck_size`` queues."""
    if deck_size <= 0 or hand_size <= 0:
        raise ValueError(f"deckSize {deck_size} or handSize {hand_size} is not positive")
    if hand_size > deck_size:
        raise ValueError(f"handSize {hand_size} is greater than deckSize {deck_size}")
    if deck_size > DECK_SIZE_MAX:
        raise ValueError(f"deckSize {deck_size} is impractically large")
    if required_entropy_bits(deck_size, hand_size) > HASH_BITS_MAX:
        raise ValueError(
            f"required entropy bits of deckSize {deck_size} and handSize {hand_size} is greater than "
            f"{HASH_BITS_MAX}"
        )


def deal(hash_value: int, deck_size: int, hand_size: int) -> tuple[int, ...]:
    """Return the indices of a hand of different queues, decided by ``hash_value``."""
    remainders: list[int] = []
    for left in range(deck_size, deck_size - hand_size, -1):
        hash_value, remainder = divmod(hash_value, left)
        remainders.append(remainder)
    hand = []
    for number, card in enumerate(remainders):
        for earlier in reversed(remainders[:number]):
            if card >= earlier:
                card += 1
        hand.append(card)
    return tuple(hand)


def hash_of_flow(schema: str, distinguisher: str) -> int:
    """Return the 64-bit hash of a flow: a flow schema's name and the user or namespace within it."""
    digest = sha256(schema.encode() + b"\0" + distinguisher.encode()).digest()
    return int.from_bytes(digest[:8], "little")
