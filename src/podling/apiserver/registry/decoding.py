"""Work on many stored objects in pieces, each of which waits for its turn of the event loop.

The size of a piece is counted in bytes (``podling.turns``): those of the objects that are decoded, and 512
for each object that is looked at.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from podling import turns
from podling.apiserver.registry.objects import is_decoded, lacks_object, problem, schemas_of
from podling.store.base import Entry
from podling.turns import TURN_BYTES

LOOK_BYTES = 512
"""To look at a decoded object takes as long as to decode so many bytes."""
DECODING_WEIGHT = 2
"""To decode takes twice as long as to encode or to send."""
CUSTOM_WEIGHT = 8
"""Objects of custom resources are completed by their schema after they are decoded."""
FEW = 16
"""So many decoded objects are looked at without waiting."""
FEW_BYTES = 32 * 1024
"""So many bytes are decoded without waiting."""
SPAN, SPAN_BYTES = 4096, 256 * 1024
"""So many entries are searched for those that need work in one piece, which counts as so many bytes."""


async def decode(entries: Sequence[Entry], kind: type[Any]) -> list[Entry]:
    """Decode the entries that are not decoded yet; return those that cannot be.

    ``stored`` raises the errors of the latter.
    """
    schemas = schemas_of(kind)
    weight = CUSTOM_WEIGHT if schemas else DECODING_WEIGHT
    failed: list[Entry] = []
    async for span in _spans(entries):
        if schemas is None:
            fresh = [each for each in span if each.memo is None]
        else:
            fresh = [each for each in span if not is_decoded(each, kind)]
        for block, size in blocks(fresh, weight):
            if size > FEW_BYTES:
                await turns.take(size)
            failed += [entry for entry in block if problem(entry, kind)]
    return failed


async def in_turns(
    entries: Sequence[Entry], weight: int = 0, *, always: bool = False
) -> AsyncIterator[Sequence[Entry]]:
    """Yield ``entries``, which are decoded, a block at a time: large ones will be decoded once more.

    Args:
        weight: multiple of their bytes that the work on them takes.
        always: wait for a turn also before few of them, because there will be more.
    """
    if len(entries) <= FEW and not (weight or always or any(map(lacks_object, entries))):
        yield entries
        return
    async for span in _spans(entries):
        for block, size in blocks(span, weight or (DECODING_WEIGHT if any(map(lacks_object, span)) else 0)):
            await turns.take(size)
            yield block


async def _spans(entries: Sequence[Entry]) -> AsyncIterator[Sequence[Entry]]:
    """Yield the entries, ``SPAN`` at a time, each but a lone one in a turn of its own."""
    if len(entries) <= SPAN:
        yield entries
        return
    for start in range(0, len(entries), SPAN):
        await turns.take(SPAN_BYTES)
        yield entries[start : start + SPAN]


def first_of(entries: Sequence[Entry], size_bytes: int) -> Sequence[Entry]:
    """Return as many of the first entries as have ``size_bytes`` together, but one at least."""
    left = size_bytes
    for position, entry in enumerate(entries):
        left -= len(entry.value)
        if left < 0:
            return entries[: max(position, 1)]
    return entries


def blocks(entries: Sequence[Entry], weight: int) -> Iterator[tuple[Sequence[Entry], int]]:
    """Yield consecutive ``entries`` in blocks of ``TURN_BYTES`` (or one larger entry), with their sizes."""
    if not weight:
        at_once = TURN_BYTES // LOOK_BYTES
        for start in range(0, len(entries), at_once):
            block = entries[start : start + at_once]
            yield block, len(block) * LOOK_BYTES
        return
    start = size = 0
    for position, entry in enumerate(entries):
        own = LOOK_BYTES + len(entry.value) * weight
        if size and size + own > TURN_BYTES:
            yield entries[start:position], size
            start, size = position, 0
        size += own
    if size:
        yield entries[start:], size
