"""The process of the API server: store, HTTPS, and the Unix socket that the other parts use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

from podling.apiserver.auth.pki import Pki
from podling.apiserver.socket.server import SocketServer
from podling.apiserver.workers.inside import InsideServer
from podling.cluster.processes.part_checks import component_checks, part_checks
from podling.cluster.processes.reports import Started
from podling.cluster.processes.surroundings import Surroundings
from podling.cluster.served_api import ServedApi, Sharing
from podling.store.shared_revision import SharedRevision
from podling.supervisor import Supervisor


class ApiPart:
    """The API server and its store, in this process."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._stack = AsyncExitStack()
        self._supervisor = Supervisor()

    async def start(self) -> Started:
        """Serve HTTPS and the socket, and write the kubeconfig."""
        found = self._surroundings
        directory = found.directory
        self._stack.push_async_callback(self._supervisor.close)
        sharing = self._sharing()
        served = ServedApi(
            directory,
            found.settings,
            Pki(directory.pki),
            found.reporter.step,
            set_aside=found.set_aside,
            parts=part_checks(found.states),
            sharing=sharing,
        )
        self._stack.push_async_callback(served.stop)
        api = await served.start()
        api.components.update(component_checks(found.states))
        socket = SocketServer(api, directory.socket)
        self._stack.push_async_callback(socket.stop)
        await socket.start()
        if sharing is not None and sharing.revision is not None:
            inside = InsideServer(served.http, directory.inside)
            self._stack.push_async_callback(inside.stop)
            await inside.start()
        kubeconfig = served.write_kubeconfig_now_or_later(found.kubeconfig, self._supervisor)
        return Started(served.port, str(kubeconfig))

    def _sharing(self) -> Sharing | None:
        """Return the things shared with other processes."""
        found = self._surroundings
        if found.listening is None:
            return None
        if not found.settings.api_workers:
            return Sharing(found.listening)
        revision = SharedRevision(found.directory.revision)
        self._stack.callback(revision.close)
        return Sharing(found.listening, revision)

    async def ready(self) -> None:
        """Return at once: a server that has started is ready."""

    def tasks(self) -> Mapping[str, asyncio.Task[None]]:
        return {}

    async def stop(self) -> None:
        await self._stack.aclose()
