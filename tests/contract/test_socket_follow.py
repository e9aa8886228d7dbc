"""Following the store over a Unix socket: everything, then every change in order, and the revision."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.apiserver.socket import store_stream
from podling.client.messages import Changes, Snapshot
from podling.client.socket_backend import SocketBackend
from podling.client.store_follow import follow
from podling.machinery.errors import ApiError, is_expired
from podling.store.base import Page
from podling.testing import ControlPlane, memory_cluster
from tests.contract.client_stories import config_map, socket_backend

pytestmark = pytest.mark.asyncio(loop_factories=["real", "uvloop"])


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as running:
        yield running


@pytest.fixture
async def backend(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SocketBackend]:
    async with socket_backend(cluster, tmp_path) as (_, connected):
        yield connected


class Copy:
    """A copy of a store, built from what a follower gets."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[int, int, bytes]] = {}
        self.revision = 0

    def take(self, part: Snapshot | Changes) -> None:
        """Take in a part."""
        if isinstance(part, Snapshot):
            self.revision = part.revision
            for entry in part.entries:
                self.values[entry.key] = entry.create_revision, entry.revision, entry.value
            return
        for event in part.events:
            found = event.entry
            assert found.revision > self.revision
            self.revision = found.revision
            if event.deleted:
                del self.values[found.key]
            else:
                self.values[found.key] = found.create_revision, found.revision, found.value
        assert part.progress >= self.revision
        self.revision = part.progress


def content(page: Page) -> dict[str, tuple[int, int, bytes]]:
    return {each.key: (each.create_revision, each.revision, each.value) for each in page.entries}


async def test_follower_has_what_the_store_has(cluster: ControlPlane, backend: SocketBackend) -> None:
    for number in range(20):
        await cluster.client.create(config_map(f"before-{number}", text="x" * 50_000))
    copy, parts = Copy(), follow(backend)
    while copy.revision < cluster.store.revision:
        copy.take(await anext(parts))
    assert copy.values == content(await cluster.store.list("/registry/"))
    for number in range(20):
        await cluster.client.create(config_map(f"after-{number}"))
        await cluster.client.delete(type(config_map("")), f"before-{number}", "default")
    while copy.revision < cluster.store.revision:
        copy.take(await anext(parts))
    assert copy.values == content(await cluster.store.list("/registry/"))
    await parts.aclose()


async def test_follower_continues_after_a_revision(cluster: ControlPlane, backend: SocketBackend) -> None:
    start = cluster.store.revision
    await cluster.client.create(config_map("a"))
    parts = follow(backend, start)
    while not (isinstance(part := await anext(parts), Changes) and part.events):
        pass
    assert [event.entry.key for event in part.events] == ["/registry/configmaps/default/a"]
    assert part.progress == cluster.store.revision
    await parts.aclose()


async def test_compacted_start_expires(cluster: ControlPlane, backend: SocketBackend) -> None:
    start = cluster.store.revision
    await cluster.client.create(config_map("a"))
    await cluster.client.create(config_map("b"))
    await cluster.store.compact(cluster.store.revision)
    with pytest.raises(ApiError) as gone:
        await anext(follow(backend, start))
    assert is_expired(gone.value)


async def test_start_in_the_future_expires(cluster: ControlPlane, backend: SocketBackend) -> None:
    with pytest.raises(ApiError) as gone:
        await anext(follow(backend, cluster.store.revision + 1))
    assert is_expired(gone.value)


async def test_follower_gets_the_history_that_the_store_keeps(
    cluster: ControlPlane, backend: SocketBackend
) -> None:
    await cluster.client.create(config_map("a"))
    await cluster.store.compact(cluster.store.revision)
    oldest = cluster.store.revision
    await cluster.client.create(config_map("b"))
    await cluster.client.delete(type(config_map("")), "a", "default")
    parts = follow(backend)
    snapshot = await anext(parts)
    assert isinstance(snapshot, Snapshot)
    assert (snapshot.revision, snapshot.newest, snapshot.last) == (oldest, cluster.store.revision, True)
    assert "/registry/configmaps/default/a" in {each.key for each in snapshot.entries}
    beat, changes = await anext(parts), await anext(parts)
    assert isinstance(beat, Changes)
    assert (beat.events, beat.progress, beat.compacted) == ([], oldest, oldest)
    assert isinstance(changes, Changes)
    keys = [(event.deleted, event.entry.key.rpartition("/")[2]) for event in changes.events]
    assert keys == [(False, "b"), (True, "a")]
    await parts.aclose()


async def test_compaction_is_sent_at_the_next_beat(
    cluster: ControlPlane, backend: SocketBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_stream, "BEAT_SECONDS", 0.001)
    parts = follow(backend, cluster.store.revision)
    await anext(parts)
    await cluster.store.compact(cluster.store.revision)
    while not (isinstance(part := await anext(parts), Changes) and part.compacted == cluster.store.revision):
        pass
    await parts.aclose()
