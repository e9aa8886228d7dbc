"""One container of the process runtime: its directory, and its monitor for as long as there is one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import podling
from podling import clock
from podling.runtime.base import Container, ContainerEventType, ContainerState, RuntimeFailure
from podling.runtime.process import claims, records
from podling.runtime.process.link import Link
from podling.runtime.process.records import Ended, Started

BOOTSTRAP = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from podling.runtime.monitor.begin import main; main(*sys.argv[2:])"
)
"""The monitor's beginning: a bare interpreter that knows nothing but where our code is."""
CODE = str(Path(podling.__file__).parent.parent)
START_SECONDS = 10.0
"""Seconds that a monitor may take to start its command. A node's start waits for it that long at most."""
KILL_SECONDS = 2.0
POLL_SECONDS = 0.01

Report = Callable[[ContainerEventType, str, str], None]
"""Reports an event of a sandbox and container."""


class Member:
    """A container as it is now. What its directory says is true; the monitor only brings news at once."""

    def __init__(self, container: Container, directory: Path, command: str, report: Report) -> None:
        self.container = container
        self.directory = directory
        self.link: Link | None = None
        self.exited = asyncio.Event()
        self._command = command
        self._report = report
        self._starting: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.container.state is ContainerState.RUNNING

    @property
    def is_starting(self) -> bool:
        return self._starting is not None and not self._starting.done()

    async def started(self) -> None:
        """Wait until its start, if there is one, has succeeded or failed."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    async def start(self) -> None:
        """Start its monitor, which starts it. Raises ``RuntimeFailure``."""
        if self.container.state is not ContainerState.CREATED or self._starting is not None:
            state = self.container.state.value.lower()
            raise RuntimeFailure(f'container "{self.container.id}" is already {state}')
        # Shielded: a cancelled caller must not leave behind an unrecorded process.
        self._starting = asyncio.create_task(self._start())
        self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._starting)

    async def stop(self, signal: int, grace_seconds: float) -> None:
        """Signal it, and kill it when the grace is over."""
        await self.started()
        if not self.running or self.link is None:
            return
        if grace_seconds > 0:
            await self.link.order("S", str(signal).encode())
            if await clock.wait_for(self.exited, grace_seconds):
                return
        await self.kill()

    async def kill(self) -> None:
        await self.started()
        if self.running and self.link is not None:
            await self.link.order("S", b"9")
            await self.exited.wait()

    async def adopt(self) -> None:
        """Go on with what an earlier instance left behind."""
        await self._settle()
        started = records.load(self.directory / "started.json", Started)
        if started is not None:
            self.container = records.as_started(self.container, started)
        if (self.directory / "exit.json").exists():
            self._note_end()
        elif started is not None:
            await self._connect()
        elif (self.directory / claims.CLAIM).exists():
            self._note_end()  # its monitor ended without a record

    async def let_go(self) -> None:
        """Close the connection; the container runs on."""
        await self.started()
        if self.link is not None:
            await self.link.close()

    async def _start(self) -> None:
        try:
            errors = await self._run_starter()
        except OSError as error:
            raise RuntimeFailure(f"the container's monitor cannot be started: {error}") from error
        finally:
            claims.revoke_permits(self.directory)
        await self._settle()
        started = records.load(self.directory / "started.json", Started)
        if started is None:
            self._note_end()
            raise RuntimeFailure(self.container.message or errors or "the container's monitor did not start")
        self.container = records.as_started(self.container, started)
        self._report(ContainerEventType.STARTED, self.container.sandbox_id, self.container.id)
        await self._connect()

    async def _run_starter(self) -> str:
        """Run the process that becomes the monitor; return what it says on errors."""
        permit = claims.permit_start(self.directory)
        starter = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", "-c", BOOTSTRAP, CODE, str(self.directory), permit),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        _, errors = await starter.communicate()
        return errors.decode(errors="replace").strip()

    async def _settle(self) -> None:
        """Wait until the container has started, has failed to, or never will.

        Until then a monitor may be on its way to the start, without a record and without its socket.
        """
        claims.revoke_permits(self.directory)
        deadline = clock.monotonic() + START_SECONDS
        while not self._has_record() and claims.is_claimed(self.directory):
            if clock.monotonic() >= deadline:
                await end_monitor(self.directory)
                return
            await clock.sleep(POLL_SECONDS)

    def _has_record(self) -> bool:
        return any((self.directory / name).exists() for name in ("started.json", "exit.json"))

    async def _connect(self) -> None:
        """Listen to the container's monitor; without one the container is over."""
        try:
            self.link = await Link.open(self.directory, self._note_end)
        except OSError:
            self._note_end()

    def _note_end(self) -> None:
        ended = records.load(self.directory / "exit.json", Ended)
        if ended is None:
            claims.kill_claimant(self.directory)  # if it cannot be reached: it must not run on unnoticed
            ended_at = clock.now()
            self.container = records.as_lost(self.container, ended_at)
            nanoseconds = int(ended_at.timestamp() * 1_000_000) * 1000
            records.save(self.directory / "exit.json", Ended(code=records.KILLED, at=nanoseconds))
        else:
            self.container = records.as_ended(self.container, ended, self._command)
        self.exited.set()
        self._report(ContainerEventType.EXITED, self.container.sandbox_id, self.container.id)


async def end_monitor(directory: Path) -> None:
    """Kill the monitor of a container that is given up, if there is one, and wait until it is gone."""
    claims.revoke_permits(directory)
    deadline = clock.monotonic() + KILL_SECONDS
    while claims.is_claimed(directory) and clock.monotonic() < deadline:
        claims.kill_claimant(directory)
        await clock.sleep(POLL_SECONDS)
