"""One simulated container: a state that moves along its script by timers of the event loop.

A life is CREATED, then RUNNING, then EXITED, never back. All moves happen in ``begin`` and ``end``,
so the first end (by its script, a signal, a loss of power) wins and the rest is ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from signal import SIGKILL

from msgspec.structs import replace

from podling import clock
from podling.runtime.base import Container, ContainerEventType, ContainerState
from podling.runtime.signals import KILLED_BASE
from podling.runtime.sim.memory_log import MemoryLog
from podling.runtime.sim.script import ContainerScript, LogScript

Report = Callable[[ContainerEventType, Container], None]
Listener = Callable[[bytes, str], None]
"""Gets each chunk of output and the stream it is on."""

KILLED = KILLED_BASE + SIGKILL


class Life:
    """A container, its script, its log and those attached to it."""

    def __init__(
        self,
        container: Container,
        script: ContainerScript,
        log: MemoryLog,
        report: Report,
        *,
        stdin_once: bool,
    ) -> None:
        self.container = container
        self.script = script
        self.log = log
        self.stdin_once = stdin_once
        self.exited = asyncio.Event()
        self.listeners: list[Listener] = []
        self.starting = False
        self._began: float | None = None
        self._ended: float | None = None
        """When the process began and ended, in monotonic time: its age does not change with a clock."""
        self._report = report
        self._timers: dict[int, clock.Timer] = {}
        self._timer_number = 0

    @property
    def state(self) -> ContainerState:
        return self.container.state

    @property
    def running(self) -> bool:
        return self.container.state is ContainerState.RUNNING

    def age(self) -> float:
        """Seconds since the container started (in its current state: until it ended)."""
        if self._began is None:
            return 0.0
        until = clock.monotonic() if self._ended is None else self._ended
        return round(until - self._began, 6)  # timers are exact to a fraction of a microsecond

    def seconds_to_next_use(self) -> float | None:
        """Return the time until the script's use changes; None if it does not."""
        if not self.running:
            return None
        age = self.age()
        return min((step.after - age for step in self.script.usage if step.after > age), default=None)

    def seconds_to_next_answer(self) -> float | None:
        """Return the time until the script's answers to commands and probes change; None if they do not."""
        age = self.age()
        changes = [*(each.after for each in self.script.exec), *(each.after for each in self.script.probes)]
        return min((after - age for after in changes if after > age), default=None)

    def begin(self, pid: int) -> None:
        """The process runs: set the timers of its script."""
        self._began = clock.monotonic()
        self.container = replace(
            self.container, state=ContainerState.RUNNING, started_at=clock.now(), pid=pid
        )
        self._report(ContainerEventType.STARTED, self.container)
        run = self.script.run_for(self.container.attempt)
        for line in self.script.logs:
            self._later(line.after, self._write_scripted, line)
        if run.seconds is not None:
            reason = "OOMKilled" if run.out_of_memory else ""
            code = KILLED if run.out_of_memory else run.exit_code
            self._later(run.seconds, self.end, code, reason, run.message)

    def end(self, exit_code: int, reason: str = "", message: str = "") -> None:
        """The container is over, unless it was already."""
        if self.exited.is_set():
            return
        self._drop_timers()
        self._ended = clock.monotonic()
        self.container = replace(
            self.container,
            state=ContainerState.EXITED,
            finished_at=clock.now(),
            exit_code=exit_code,
            reason=reason or ("Completed" if exit_code == 0 else "Error"),
            message=message,
            pid=None,
        )
        self.exited.set()
        self._report(ContainerEventType.EXITED, self.container)

    def signal(self, number: int) -> None:
        """Deliver a signal to the running process."""
        if not self.running:
            return
        if number == SIGKILL:
            self.end(KILLED)
        elif not self.script.ignores_signals:
            stated = self.script.stop_exit_code
            code = KILLED_BASE + number if stated is None else stated
            self._later(self.script.stop_seconds, self.end, code)

    def write(self, text: str, stream: str = "stdout") -> None:
        """Output of the container: into the log, line by line, and to everyone attached."""
        at = clock.now()
        for line in text.removesuffix("\n").split("\n"):
            self.log.write(at, line.encode(), stream)
        for listener in list(self.listeners):
            listener(text.encode(), stream)

    def lose_power(self, at: datetime) -> None:
        """End at ``at``, as the machine lost its power: without an event or a report."""
        if self.running or self.starting:
            self._drop_timers()
            self._ended = clock.monotonic()
            self.container = replace(
                self.container,
                state=ContainerState.EXITED,
                finished_at=at,
                exit_code=255,
                reason="Unknown",
                pid=None,
            )
            self.exited.set()

    def _write_scripted(self, line: LogScript) -> None:
        self.write(line.text + "\n", line.stream)
        if line.every > 0:
            self._later(line.every, self._write_scripted, line)

    def _later(self, seconds: float, call: Callable[..., None], *args: object) -> None:
        self._timer_number += 1
        number = self._timer_number

        def fire() -> None:
            del self._timers[number]
            call(*args)

        self._timers[number] = clock.call_later(seconds, fire)

    def _drop_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
