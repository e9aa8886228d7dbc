"""A cluster on a loop of its own, in a thread of its own: usable from any test, with any client.

The thread and its loop belong to one cluster. ``stop`` ends both, and leaves no socket, file or task behind.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec

from podling import clock
from podling.runtime.sim import Scenario
from podling.sim.simulated_cluster import ClusterSettings, SimulatedCluster, simulated_cluster
from podling.sim.simulated_node import NodeSettings
from podling.sim.wound_loop import WoundLoop
from podling.testing.credentials import Credentials, credentials
from podling.testing.https_front import FaultyServer, Front, serve
from podling.testing.operations import Operations
from podling.testing.settings import TestSettings, moment_of, ranges_of, speed_of

T = TypeVar("T")

STOP_SECONDS = 60.0


class ClusterThread:
    """One cluster in a thread.

    Args:
        front: address and certificates of its HTTPS server.
    """

    def __init__(self, settings: TestSettings, front: Front | None = None) -> None:
        self.settings = settings
        self._front = front or Front()
        self._keys: Credentials = credentials()
        self._loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self._operations: Operations
        self._server: FaultyServer | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="podling-cluster", daemon=True)

    def start(self) -> None:
        """Start the cluster; return when its nodes are Ready. Raises what prevents that."""
        self._thread.start()
        self._started.result()

    def stop(self) -> None:
        """End the cluster and its thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(STOP_SECONDS)
            if self._thread.is_alive():
                raise RuntimeError("the cluster of a test does not end")
        if self._folder is not None:
            self._folder.cleanup()

    def call(self, work: Callable[[Operations], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run ``work`` on the cluster's loop. Raises ``RuntimeError`` once it has ended."""
        if not self._thread.is_alive():
            raise RuntimeError("the cluster has ended with its test")
        return asyncio.run_coroutine_threadsafe(work(self._operations), self._loop)

    def result(self, work: Callable[[Operations], Coroutine[Any, Any, T]]) -> T:
        """Run ``work`` on the cluster's loop, and wait for its result."""
        return self.call(work).result()

    # HTTPS.

    @property
    def keys(self) -> Credentials:
        return self._keys

    def server(self) -> FaultyServer:
        """Return the HTTPS server; the first call starts it."""
        if self._server is None:
            self._server = self.result(self._serve)
        return self._server

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return f"https://127.0.0.1:{self.server().port}"

    def kubeconfig(self) -> Path:
        """Return the file of an administrator's kubeconfig, which lasts as long as the cluster."""
        content = self._keys.kubeconfig(self.url)
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="podling-cluster-")
            path = Path(self._folder.name, "kubeconfig")
            path.touch(mode=0o600)
            path.write_bytes(content)
        return Path(self._folder.name, "kubeconfig")

    async def _serve(self, operations: Operations) -> FaultyServer:
        return await serve(operations.cluster, self._keys, self._front)

    # The thread.

    def _run(self) -> None:
        start = moment_of(self.settings.start) or clock.now()
        try:
            with asyncio.Runner(loop_factory=lambda: WoundLoop(start, self.settings.seed)) as runner:
                runner.run(self._live())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _live(self) -> None:
        winding = _winding()
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        context = simulated_cluster(self._nodes(), self._cluster_settings())
        cluster = await winding.run_while(_entered(context))
        self._operations = Operations(cluster, winding)
        winding.settle_seconds = self.settings.settle
        winding.set_speed(speed_of(self.settings.clock))
        self._started.set_result(None)
        await self._end.wait()
        winding.settle_seconds = 0
        if self._server is not None:
            await self._server.stop()
        await winding.run_while(_left(context))

    def _nodes(self) -> int | list[NodeSettings]:
        if isinstance(self.settings.nodes, int):
            return self.settings.nodes
        return [msgspec.convert(each, NodeSettings) for each in self.settings.nodes]

    def _cluster_settings(self) -> ClusterSettings:
        keys, scripts = self._keys, self.settings.runtime
        return ClusterSettings(
            ca_certificate=keys.ca_pem.decode(),
            signer=keys.signer,
            signing_key=keys.signing_key,
            ranges=ranges_of(self.settings),
            has_network=True,
            scenario=None if scripts is None else msgspec.convert(scripts, Scenario),
        )


async def _entered(context: Any) -> SimulatedCluster:
    found: SimulatedCluster = await context.__aenter__()
    return found


async def _left(context: Any) -> None:
    await context.__aexit__(None, None, None)


def _winding() -> Any:
    found = clock.wound_clock()
    assert found is not None
    return found
