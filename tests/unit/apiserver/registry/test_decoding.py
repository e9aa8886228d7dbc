"""Work on many stored objects: how much of it runs in one turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry import decoding, objects
from podling.apiserver.registry.decoding import (
    FEW,
    LOOK_BYTES,
    SPAN,
    SPAN_BYTES,
    blocks,
    decode,
    first_of,
    in_turns,
)
from podling.apiserver.registry.objects import is_decoded
from podling.machinery.encoding import codec
from podling.store.base import Entry
from podling.testing import ControlPlane
from podling.turns import TURN_BYTES
from tests.support.loop_turns import LoopTurns


def entries(count: int, size: int) -> list[Entry]:
    def value(number: int) -> bytes:
        metadata = ObjectMeta(name=f"c{number}", namespace="default")
        return codec.encode(ConfigMap(metadata=metadata, data={"text": "x" * size}))

    return [Entry(f"/registry/configmaps/default/c{each}", value(each), 1, 1) for each in range(count)]


def _value_of(entry: Entry, revision: int) -> bytes:
    return entry.value


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> LoopTurns:
    """The bytes of values that are decoded, by turn."""
    turns = LoopTurns()

    def problem(entry: Entry, kind: type[Any]) -> str:
        turns.add(len(entry.value))
        return real(entry, kind)

    real = objects.problem
    monkeypatch.setattr(decoding, "problem", problem)
    return turns


async def test_many_lists_decode_one_block_in_each_turn(decoded: LoopTurns) -> None:
    lists = [entries(800, 4000) for _ in range(4)]
    async with decoded:
        await asyncio.gather(*(decode(each, ConfigMap) for each in lists))
    assert decoded.most <= TURN_BYTES
    assert sum(decoded.work.values()) == sum(len(entry.value) for each in lists for entry in each)
    assert all(is_decoded(entry, ConfigMap) for each in lists for entry in each)


async def test_decoded_objects_are_not_decoded_again(decoded: LoopTurns) -> None:
    found = entries(30, 10)
    await decode(found, ConfigMap)
    objects = [entry.memo.object for entry in found]
    decoded.work.clear()
    await decode(found, ConfigMap)
    assert not decoded.work
    assert all(entry.memo.object is obj for entry, obj in zip(found, objects, strict=True))


class Sliced(list[Entry]):
    """Entries that count how many of them are taken in each turn."""

    def __init__(self, found: Sequence[Entry], turns: LoopTurns) -> None:
        super().__init__(found)
        self._turns = turns

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        self._turns.add(len(part))
        return part


async def test_many_decoded_objects_are_looked_at_in_several_turns() -> None:
    turns, found = LoopTurns(), entries(30, 10)
    await decode(found, ConfigMap)
    many = Sliced(found * 1000, turns)
    async with turns:
        assert not await decode(many, ConfigMap)
        looked = [entry async for block in in_turns(many) for entry in block]
    assert looked == list(many)
    assert turns.most <= TURN_BYTES // SPAN_BYTES * SPAN
    assert sum(turns.work.values()) == 2 * len(many)


async def test_values_that_cannot_be_decoded_are_left_to_the_reader() -> None:
    broken = Entry("/registry/configmaps/default/x", b"\xff", 1, 1)
    assert await decode([*entries(2, 10), broken], ConfigMap) == [broken]
    assert broken.memo is None


@pytest.mark.parametrize("weight", [1, 4])
@pytest.mark.parametrize("sizes", [[], [10], [10] * 5000, [300_000] * 10, [5, 2_000_000, 5, 2_000_000]])
def test_blocks_are_consecutive_and_bounded(sizes: Sequence[int], weight: int) -> None:
    found = [Entry(str(number), b"x" * size, 1, 1) for number, size in enumerate(sizes)]
    made = list(blocks(found, weight))
    assert [entry for block, _ in made for entry in block] == found
    for block, size in made:
        assert size == sum(LOOK_BYTES + weight * len(entry.value) for entry in block)
        assert size <= TURN_BYTES or len(block) == 1


async def test_objects_are_looked_at_in_blocks() -> None:
    found = entries(3 * TURN_BYTES // LOOK_BYTES, 1)
    async with LoopTurns() as turns:
        async for block in in_turns(found):
            turns.add(len(block))
    assert (turns.most, len(turns.work)) == (TURN_BYTES // LOOK_BYTES, 3)


async def test_few_objects_need_no_turn() -> None:
    found = entries(FEW, 1)
    assert [block async for block in in_turns(found)] == [found]


async def test_list_of_objects_from_disk_decodes_in_turns(cluster: ControlPlane, decoded: LoopTurns) -> None:
    for entry in entries(600, 4000):
        await cluster.store.put(entry.key, partial(_value_of, entry), expect=0)
    for selector in ("", "app=x", "!app"):
        for stored in (await cluster.store.list("/registry/configmaps/")).entries:
            stored.memo = None
        decoded.work.clear()
        async with decoded:
            found = await cluster.client.list(ConfigMap, "default", label_selector=selector)
        assert len(found.items) == (0 if selector == "app=x" else 600)
        assert sum(decoded.work.values()) > 1_000_000
        assert decoded.most <= TURN_BYTES


async def test_large_objects_are_looked_at_one_in_each_turn() -> None:
    found = entries(3, TURN_BYTES)
    await decode(found, ConfigMap)
    async with LoopTurns() as turns:
        async for block in in_turns(found):
            turns.add(len(block))
    assert (turns.most, len(turns.work)) == (1, 3)


@pytest.mark.parametrize(("size", "count"), [(10, 4), (300, 4), (301, 3), (1000, 1), (2000, 1)])
def test_first_entries_of_a_size_are_one_at_least(size: int, count: int) -> None:
    found = [Entry("/a", b"x" * size, 1, 1) for _ in range(4)]
    assert len(first_of(found, 1200)) == count
    assert first_of([], 1200) == []
