"""A run of a scenario that stops at a moment, and can then be visited over HTTPS like any cluster.

It lives here because only ``podling.testing`` serves clusters in memory; ``podling sim --at`` calls it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from podling import clock
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.sim.held_loop import HeldLoop
from podling.sim.runner import Outcome, Run, start_of
from podling.sim.scenario import Scenario
from podling.sim.statistics import Statistics
from podling.testing.credentials import Credentials, credentials
from podling.testing.https_front import Front, serve


class Visit(Struct, frozen=True):
    """The way to a stopped run: the data directory for ``podling``, with a kubeconfig for everything else."""

    directory: Path
    kubeconfig: Path
    url: str
    run: Run


Visitor = Callable[[Visit], Awaitable[object]]


class StoppedRun(Run):
    """A run that stands still ``at`` seconds after its begin, and goes on until ``finish``."""

    def __init__(self, at: float, scenario: Scenario, folder: Path, seed: int, **options: Any) -> None:
        super().__init__(scenario, folder, seed, **options)
        self._at = at
        self.reached = asyncio.Event()
        self._finish = asyncio.Event()

    def finish(self) -> None:
        """End the run at the moment where it is."""
        self._finish.set()
        self.observation.failed.set()

    async def _until_end(self) -> bool:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, HeldLoop)
        loop.hold_at(clock.monotonic() + self._at - self.seconds, self.reached.set)
        # Waits in this task, and ends by ``failed`` in both runs: timers of the same moment keep their order.
        await super()._until_end()
        is_complete = not self._finish.is_set() or self.seconds >= self.scenario.until
        await self._finish.wait()
        return is_complete


def visit_run(
    at: float, scenario: Scenario, folder: Path, seed: int, visitor: Visitor, **options: Any
) -> tuple[Outcome, Statistics]:
    """Run a scenario until ``at``, call ``visitor``, and return what had happened when that has ended.

    ``options`` are those of ``Run``. Raises what the run or the visitor raises.
    """
    keys = credentials()  # made in the machine's time
    with asyncio.Runner(loop_factory=lambda: HeldLoop(seed, start_of(scenario))) as runner:
        # The run must be made inside of the loop.
        return runner.run(_visited(lambda: StoppedRun(at, scenario, folder, seed, **options), visitor, keys))


async def _visited(
    make: Callable[[], StoppedRun], visitor: Visitor, keys: Credentials
) -> tuple[Outcome, Statistics]:
    run = make()
    whole = asyncio.create_task(run.execute())
    reached = asyncio.create_task(run.reached.wait())
    try:
        await asyncio.wait((whole, reached), return_when=asyncio.FIRST_COMPLETED)
        if reached.done():
            await _serve(run, visitor, keys)
    finally:
        reached.cancel()
        run.finish()
        _released()
        outcome = await whole
    return outcome, run.statistics


async def _serve(run: StoppedRun, visitor: Visitor, keys: Credentials) -> None:
    """Let a visitor reach the cluster of a run that stands still."""
    server = await serve(run.cluster, keys, Front())
    url = f"https://127.0.0.1:{server.port}"
    try:
        with TemporaryDirectory(prefix="podling-sim-") as name:
            directory = DataDirectory(Path(name, "cluster"))
            directory.create()
            with directory.locked():
                directory.remember(ClusterSettings(port=server.port, runtime="sim", clock="virtual"))
                directory.kubeconfig.touch(mode=0o600)
                directory.kubeconfig.write_bytes(keys.kubeconfig(url))
                await visitor(Visit(directory.path, directory.kubeconfig, url, run))
    finally:
        # Connections end in virtual time, which must pass for that.
        run.finish()
        _released()
        await server.stop()


def _released() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, HeldLoop)
    loop.release()
