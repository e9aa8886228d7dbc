"""The process of the scheduler and the controllers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial

from podling.apiserver.auth.pki import Pki
from podling.client.component_reports import ComponentReports
from podling.client.local import LocalClient
from podling.client.other_apis import SocketOtherApis
from podling.client.socket_backend import SocketBackend
from podling.cluster.components import CONTROLLER_MANAGER
from podling.cluster.control_plane import ControlPlane
from podling.cluster.processes.part_backend import part_backend
from podling.cluster.processes.reports import Started
from podling.cluster.processes.surroundings import Surroundings


class ControlPart:
    """The scheduler and the controllers, in this process."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._stack = AsyncExitStack()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> Started:
        """Start the loops once the API server answers."""
        found = self._surroundings
        reports = ComponentReports(found.part.name)
        backend = SocketBackend(found.directory.socket, reports)
        await self._stack.enter_async_context(backend)
        await backend.connected()
        control = ControlPlane(found.directory, found.settings, Pki(found.directory.pki))
        self._stack.push_async_callback(control.stop)
        counted = part_backend(backend, found.directory, reports)
        others = SocketOtherApis(backend, CONTROLLER_MANAGER)
        self._task = control.start(partial(LocalClient, counted), others, reports)
        found.reporter.step("control plane", control.description)
        return Started()

    async def ready(self) -> None:
        """Return at once: the loops wait for what they need by themselves."""

    def tasks(self) -> Mapping[str, asyncio.Task[None]]:
        return {"control-plane": self._task} if self._task is not None else {}

    async def stop(self) -> None:
        await self._stack.aclose()
