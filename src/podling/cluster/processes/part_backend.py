"""The API server as the parts reach it: requests wait for a restarted server, and are counted.

A server that was killed is back within a second. Without the wait, every informer would fail once more in
between, and then wait for its back-off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

from podling.api.meta_v1 import DeleteOptions
from podling.client.base import Listing, Unreachable, WatchEvent
from podling.client.component_reports import ComponentReports
from podling.client.informer import close_watch
from podling.client.request_counts import CountedBackend
from podling.client.requests import ListOptions, Patch, Target, User, WriteOptions
from podling.client.socket_backend import SocketBackend
from podling.cluster.directory import DataDirectory
from podling.cluster.served_api import LOOPBACK

WAIT_SECONDS = 5.0
"""The time that a request without a connection waits for one."""


def part_backend(
    backend: SocketBackend, directory: DataDirectory, reports: ComponentReports
) -> CountedBackend:
    """Return ``backend`` for components: its requests are counted, under the API server's address."""
    counted = CountedBackend(WaitingBackend(backend), lambda: f"{LOOPBACK}:{directory.settings().port}")
    reports.count(counted)
    return counted


class WaitingBackend:
    """A ``Backend`` whose requests wait for a connection. Those under way fail with their connection."""

    def __init__(self, backend: SocketBackend) -> None:
        self._backend = backend

    async def get(self, target: Target, user: User) -> Any:
        await self._wait()
        return await self._backend.get(target, user)

    async def list(self, target: Target, user: User, options: ListOptions) -> Listing[Any]:
        await self._wait()
        return await self._backend.list(target, user, options)

    def watch(self, target: Target, user: User, options: ListOptions) -> AsyncIterator[WatchEvent[Any]]:
        if self._is_connected():
            return self._backend.watch(target, user, options)
        return self._watch_later(target, user, options)

    async def _watch_later(
        self, target: Target, user: User, options: ListOptions
    ) -> AsyncIterator[WatchEvent[Any]]:
        await self._wait()
        watch = self._backend.watch(target, user, options)
        try:
            async for event in watch:
                yield event
        finally:
            await close_watch(watch)

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        await self._wait()
        return await self._backend.create(target, user, body, options)

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        await self._wait()
        return await self._backend.update(target, user, body, options)

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any:
        await self._wait()
        return await self._backend.patch(target, user, patch, options)

    async def delete(self, target: Target, user: User, options: DeleteOptions) -> Any:
        await self._wait()
        return await self._backend.delete(target, user, options)

    async def delete_collection(
        self, target: Target, user: User, selection: ListOptions, options: DeleteOptions
    ) -> Sequence[Any]:
        await self._wait()
        return await self._backend.delete_collection(target, user, selection, options)

    def _is_connected(self) -> bool:
        try:
            self._backend.connection()
        except Unreachable:
            return False
        return True

    async def _wait(self) -> None:
        if self._is_connected():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                await self._backend.connected()
