"""One container of the process runtime: its directory, and its monitor for as long as there is one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import podling
from podling import clock
from podling.runtime.base import Container, ContainerEventType, ContainerState, RuntimeFailure
from podling.runtime.process import records
from podling.runtime.process.link import Link
from podling.runtime.process.records import Ended, Started

BOOTSTRAP = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from podling.runtime.monitor.begin import main; main(sys.argv[2])"
)
"""The monitor's beginning: a bare interpreter that knows nothing but where our code is."""
CODE = str(Path(podling.__file__).parent.parent)

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
        started = records.load(self.directory / "started.json", Started)
        if started is not None:
            self.container = records.as_started(self.container, started)
        if (self.directory / "exit.json").exists():
            self._note_end()
        elif started is not None:
            await self._connect()
        elif (self.directory / "claimed").exists():
            await self._adopt_starting()

    async def let_go(self) -> None:
        """Close the connection; the container runs on."""
        await self.started()
        if self.link is not None:
            await self.link.close()

    async def _start(self) -> None:
        starter = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", "-c", BOOTSTRAP, CODE, str(self.directory)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        _, errors = await starter.communicate()
        started = records.load(self.directory / "started.json", Started)
        if started is None:
            self._note_end()
            failure = self.container.message or errors.decode(errors="replace").strip()
            raise RuntimeFailure(failure or "the container's monitor did not start")
        self.container = records.as_started(self.container, started)
        self._report(ContainerEventType.STARTED, self.container.sandbox_id, self.container.id)
        await self._connect()

    async def _connect(self) -> None:
        """Listen to the container's monitor; without one the container is over."""
        try:
            self.link = await Link.open(self.directory, self._note_end)
        except OSError:
            self._note_end()

    def _note_end(self) -> None:
        ended = records.load(self.directory / "exit.json", Ended)
        if ended is None:
            ended_at = clock.now()
            self.container = records.as_lost(self.container, ended_at)
            nanoseconds = int(ended_at.timestamp() * 1_000_000) * 1000
            records.save(self.directory / "exit.json", Ended(code=records.KILLED, at=nanoseconds))
        else:
            self.container = records.as_ended(self.container, ended, self._command)
        self.exited.set()
        self._report(ContainerEventType.EXITED, self.container.sandbox_id, self.container.id)

    async def _adopt_starting(self) -> None:
        """Its monitor was started, and we left before it said so: it answers once it has."""
        await self._connect()
        if self.link is not None:
            await self.link.order("R")
        started = records.load(self.directory / "started.json", Started)
        if started is not None and not self.exited.is_set():
            self.container = records.as_started(self.container, started)
