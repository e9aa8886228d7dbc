"""Large current values: which of them keep their memo."""

from __future__ import annotations

import pytest

from podling.store.base import Entry
from podling.store.large_values import DERIVED_BYTES, LARGE_BYTES
from podling.store.memory import MemoryStore

QUARTER = b"x" * (DERIVED_BYTES // 4)


async def put(store: MemoryStore, key: str, value: bytes, memo: str = "derived") -> Entry:
    present = store.peek(key)
    return await store.put(key, lambda _: value, expect=present.revision if present else 0, memo=memo)


def kept(store: MemoryStore, *keys: str) -> list[str]:
    found = {key: store.peek(key) for key in keys}
    return [key for key, entry in found.items() if entry is not None and entry.memo is not None]


async def test_newest_large_values_keep_their_memo() -> None:
    store = MemoryStore()
    for key in "/a", "/b", "/c", "/d", "/e", "/f":
        await put(store, key, b"x" * (DERIVED_BYTES // 4 - 1))
    await put(store, "/small", b"x" * LARGE_BYTES)
    assert kept(store, "/a", "/b", "/c", "/d", "/e", "/f", "/small") == ["/c", "/d", "/e", "/f", "/small"]


async def test_newest_value_keeps_its_memo_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podling.store.large_values.DERIVED_BYTES", 1)
    store = MemoryStore()
    await put(store, "/a", QUARTER)
    assert kept(store, "/a") == ["/a"]


async def test_idle_store_lets_go_of_all_memos_of_large_values() -> None:
    store = MemoryStore()
    for key in "/a", "/b":
        await put(store, key, QUARTER)
    await put(store, "/small", b"x")
    await store.forget_derived()
    await put(store, "/c", QUARTER)
    assert kept(store, "/a", "/b", "/c", "/small") == ["/a", "/b", "/c", "/small"]
    await store.forget_derived()
    assert kept(store, "/a", "/b", "/c", "/small") == ["/c", "/small"]
    for key in "/a", "/c":
        entry = store.peek(key)
        assert entry is not None
        entry.memo = "made by a reader"
    await store.forget_derived()
    assert kept(store, "/a", "/b", "/c", "/small") == ["/small"]


async def test_value_that_was_replaced_or_deleted_is_no_current_one() -> None:
    store = MemoryStore()
    first = await put(store, "/a", QUARTER)
    await put(store, "/a", b"small")
    deleted = await put(store, "/b", QUARTER)
    await store.delete("/b", expect=deleted.revision)
    again = await put(store, "/b", b"small")
    for _ in range(3):
        await store.forget_derived()
    assert kept(store, "/a", "/b") == ["/a", "/b"]
    assert first.memo is None, "history has let go of it"
    assert again.memo == "derived"
