"""A store that writes to one in memory and reads from a replica of it, fed by encoded messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from podling import clock
from podling.api.meta_v1 import Status
from podling.apiserver.socket import store_stream
from podling.apiserver.socket.store_stream import StoreStream
from podling.apiserver.workers import following
from podling.apiserver.workers.following import Follower
from podling.client.base import Unreachable
from podling.client.messages import Changes, Ended, Failure, Snapshot, read_from_server
from podling.machinery.errors import ApiError
from podling.store.base import Conflict, Encode, Entry, Page, Store, StoreClosed, Watch
from podling.store.memory import MemoryStore
from podling.store.replica import Replica


class _Outlet:
    """Takes the encoded messages of a stream."""

    is_writable = True

    def __init__(self) -> None:
        self.messages: asyncio.Queue[bytes] = asyncio.Queue()

    async def writable(self) -> None:
        """Return at once."""

    def send(self, message: Any) -> None:
        self.messages.put_nowait(msgspec.msgpack.encode(message))


class ReplicatedStore:
    """A ``Store``: each write and compaction returns when the replica shows it."""

    def __init__(
        self, patch: pytest.MonkeyPatch, watch_capacity: int = 10_000, source: Store | None = None
    ) -> None:
        patch.setattr(store_stream, "BEAT_SECONDS", 0.001)
        patch.setattr(following, "RETRY_SECONDS", 0.001)
        self.source = source or MemoryStore()
        self.replica = Replica(watch_capacity=watch_capacity)
        if source is None:  # a watch may be opened at once, before the loop has run
            self.replica.begin(0, 0)
            self.replica.complete()
        self.is_cut = False
        """The next part is the last of its connection."""
        follower = Follower(self.replica, self.parts)
        self._following = asyncio.get_running_loop().create_task(follower.run())

    async def parts(self, after: int | None) -> AsyncGenerator[Snapshot | Changes, None]:
        """Follow the source as a client of the Unix socket does, without the socket."""
        outlet = _Outlet()
        stream = StoreStream(outlet, 1, 1 << 40, self.source, after)
        try:
            while True:
                message = read_from_server(await outlet.messages.get())
                if isinstance(message, Ended):
                    return
                if isinstance(message, Failure):
                    raise ApiError(msgspec.json.decode(message.status, type=Status))
                yield message
                if self.is_cut:
                    self.is_cut = False
                    raise Unreachable("the writer was killed")
        finally:
            stream.close()

    @property
    def revision(self) -> int:
        return self.replica.revision

    @property
    def compacted(self) -> int:
        return self.replica.compacted

    @property
    def trouble(self) -> str:
        return self.replica.trouble

    @property
    def size_bytes(self) -> int:
        return self.replica.size_bytes

    @property
    def history_bytes(self) -> int:
        return self.replica.history_bytes

    def history_beyond(self, size_bytes: int) -> int:
        return self.replica.history_beyond(size_bytes)

    async def forget_derived(self) -> None:
        await self.source.forget_derived()
        await self.replica.forget_derived()

    async def get(self, key: str) -> Entry | None:
        return await self.replica.get(key)

    def peek(self, key: str) -> Entry | None:
        return self.replica.peek(key)

    async def list(
        self, prefix: str, *, revision: int | None = None, limit: int = 0, after: str = ""
    ) -> Page:
        return await self.replica.list(prefix, revision=revision, limit=limit, after=after)

    def count(self, prefix: str) -> int:
        return self.replica.count(prefix)

    def watch(self, prefix: str, *, after: int) -> Watch:
        return self.replica.watch(prefix, after=after)

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        try:
            return await self._shown(await self.source.put(key, encode, expect=expect), memo)
        except Conflict:  # who reads and tries again finds what is in the way
            await self.replica.reached(self.source.revision)
            raise

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        return await self._shown(await self.source.delete(key, expect=expect, encode=encode))

    async def compact(self, revision: int) -> None:
        await self.source.compact(revision)
        while self.compacted < self.source.compacted:
            await clock.sleep(0)

    async def close(self) -> None:
        await self.source.close()
        await self.stop()

    async def stop(self) -> None:
        """Close the replica alone."""
        await self.replica.close()
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)

    async def _shown(self, entry: Entry, memo: Any = None) -> Entry:
        """Return the replica's entry of a change that the source has made."""
        await self.replica.reached(entry.revision)
        try:
            watch = self.replica.watch("", after=entry.revision - 1)
        except StoreClosed:
            return entry
        shown = watch.ready()[0].entry
        watch.close()
        shown.memo = memo
        return shown
