"""One informer per kind, shared by everything in the process that reads that kind."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from podling.client.base import ApiObject, Client
from podling.client.informer import Informer, Transform
from podling.supervisor import Supervisor

T = TypeVar("T", bound=ApiObject)


class InformerFactory:
    """Makes informers on demand over one client and runs them all.

    Request informers, add handlers and indexes, then ``run``; informers requested while running start at
    once. ``transforms`` has for some kinds the function that makes their objects smaller, ``default`` is the
    one of all other kinds.
    """

    def __init__(
        self,
        client: Client,
        transforms: Mapping[type[Any], Transform[Any]] | None = None,
        *,
        default: Transform[Any] | None = None,
    ) -> None:
        self.client = client
        self._transforms = dict(transforms or {})
        self._default = default
        self._informers: dict[type[Any], Informer[Any]] = {}
        self._supervisor: Supervisor | None = None
        self._tasks: dict[type[Any], asyncio.Task[None]] = {}

    def informer(self, kind: type[T]) -> Informer[T]:
        """Return the shared informer of ``kind`` in all namespaces."""
        found = self._informers.get(kind)
        if found is None:
            transform = self._transforms.get(kind, self._default)
            found = self._informers[kind] = Informer(self.client, kind, transform=transform)
            if self._supervisor is not None:
                self._start(self._supervisor, found)
        return cast("Informer[T]", found)

    def forget(self, kind: type[Any]) -> None:
        """Stop following ``kind``: its resource is gone. Who reads its informer keeps the last state."""
        self._informers.pop(kind, None)
        task = self._tasks.pop(kind, None)
        if task is not None:
            task.cancel()

    async def run(self) -> None:
        """Keep every informer fresh until cancelled."""
        try:
            async with Supervisor() as supervisor:
                self._supervisor = supervisor
                for informer in self._informers.values():
                    self._start(supervisor, informer)
                await asyncio.Event().wait()
        finally:
            self._supervisor = None
            self._tasks.clear()

    async def synced(self) -> None:
        """Wait until every informer requested so far holds its first list."""
        for informer in tuple(self._informers.values()):
            await informer.synced()

    def _start(self, supervisor: Supervisor, informer: Informer[Any]) -> None:
        task = supervisor.keep_running("informer", informer.run, informer.kind.__name__)
        self._tasks[informer.kind] = task
