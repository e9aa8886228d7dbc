"""Lists that admission reads at every write: cached while nothing changes, and never stale."""

from __future__ import annotations

from podling.api.core_v1 import LimitRange
from podling.apiserver.registry.internal_reads import StoredObjects
from podling.machinery.encoding import codec
from podling.store.memory import MemoryStore

PREFIX = "/registry/limitranges/"


async def put(store: MemoryStore, where: str) -> None:
    namespace, _, name = where.partition("/")
    value = codec.encode(LimitRange()).replace(
        b'"metadata":{}', f'"metadata":{{"namespace":"{namespace}","name":"{name}"}}'.encode()
    )
    current = store.peek(PREFIX + where)
    await store.put(PREFIX + where, lambda _: value, expect=current.revision if current else 0)


async def names(objects: StoredObjects, namespace: str = "") -> list[str]:
    return [each.metadata.name or "" for each in await objects.list(LimitRange, namespace)]


async def test_list_is_read_once_while_nothing_changes() -> None:
    store = MemoryStore()
    objects = StoredObjects(store)
    await put(store, "a/one")
    first = await objects.list(LimitRange, "a")
    await store.put("/registry/pods/a/p", lambda _: b"", expect=0)
    assert await objects.list(LimitRange, "a") is first
    objects.close()


async def test_every_change_is_seen_by_the_next_read() -> None:
    store = MemoryStore()
    objects = StoredObjects(store)
    assert await names(objects, "a") == []
    await put(store, "a/one")
    assert await names(objects, "a") == ["one"]
    await put(store, "b/two")
    assert (await names(objects, "a"), await names(objects, "b")) == (["one"], ["two"])
    await put(store, "a/one")
    assert (await objects.list(LimitRange, "a"))[0].metadata.name == "one"
    gone = store.peek(PREFIX + "a/one")
    assert gone is not None
    await store.delete(gone.key, expect=gone.revision)
    assert (await names(objects, "a"), await names(objects)) == ([], ["two"])
    objects.close()


async def test_reader_that_fell_behind_lists_again() -> None:
    store = MemoryStore(watch_capacity=4)
    objects = StoredObjects(store)
    assert await names(objects, "a") == []
    for number in range(20):
        await put(store, f"a/l{number:02}")
    assert len(await names(objects, "a")) == 20
    objects.close()


async def test_kind_has_none_only_while_no_object_was_seen() -> None:
    store = MemoryStore()
    objects = StoredObjects(store)
    assert not objects.has_none(LimitRange)  # nothing has looked yet
    assert await names(objects, "a") == []
    assert objects.has_none(LimitRange)
    await put(store, "b/one")
    assert not objects.has_none(LimitRange)
    assert await names(objects, "a") == []
    assert not objects.has_none(LimitRange)
    gone = store.peek(PREFIX + "b/one")
    assert gone is not None
    await store.delete(gone.key, expect=gone.revision)
    assert not objects.has_none(LimitRange)
    assert await names(objects, "a") == []
    assert objects.has_none(LimitRange)
    objects.close()
    assert not objects.has_none(LimitRange)
