"""The supervisor's loop: starts the parts, starts them again, listens for their signs of life, stops them.

It runs no event loop and no threads, so that its forks are whole processes.
"""

from __future__ import annotations

import logging
import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NamedTuple

from podling import clock
from podling.cluster.processes import states
from podling.cluster.processes.children import HANDLED, Child, Main, fork
from podling.cluster.processes.parts import STOP_ORDER, Part
from podling.cluster.processes.reports import Alive, Failed, Ready, Report, Started
from podling.cluster.processes.state_file import StateFile
from podling.cluster.processes.states import PartState
from podling.cluster.start_failure import StartFailure

logger = logging.getLogger(__name__)

STAGE_SECONDS = 7.0
"""Each kind of parts may take so long to stop; then it is killed. ``podling down`` waits for all of them."""
KILLED_SECONDS = 5.0


class PartWork(NamedTuple):
    """Calls of the supervisor for its parts."""

    prepare: Callable[[Part], None]
    """Called in the supervisor before the process of a part is started."""
    main_of: Callable[[Part], Main]
    """Returns what runs in the process of a part."""
    on_report: Callable[[Part, Report], None]
    """Receives every report that is more than a sign of life."""
    housekeep: Callable[[], None]
    """Called every second or more often."""


class Supervision:
    """The parts of one cluster and their processes. ``state_file`` shows their states."""

    def __init__(self, parts: Sequence[Part], work: PartWork, state_file: StateFile) -> None:
        self._work = work
        self._file = state_file
        self._states = {part.name: PartState(part=part) for part in parts}
        self._children: dict[str, Child] = {}
        self._started: set[str] = set()
        """Parts that have served once: from then on, they are started again when they end."""
        self._ready: set[str] = set()
        self.is_stopping = False
        self._wake_reader, self._wake_writer = os.pipe()
        for descriptor in (self._wake_reader, self._wake_writer):
            os.set_blocking(descriptor, False)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT as requests to stop, as long as the block lasts."""
        before = {number: signal.signal(number, self._stop_requested) for number in HANDLED}
        wakeup = signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)

    def start_all(self) -> None:
        """Start every part."""
        for name in self._states:
            if not self.is_stopping:
                self._begin(name)

    def wait_ready(self, seconds: float) -> bool:
        """Wait until every part is Ready, a request to stop, or too long; return whether they are Ready.

        Raises ``StartFailure`` if a part ends before it has started.
        """
        deadline = clock.monotonic() + seconds
        while not self.is_stopping and len(self._ready) < len(self._states):
            left = deadline - clock.monotonic()
            if left <= 0:
                return False
            self._pass(left)
            self._raise_first_failure()
        return not self.is_stopping

    def run(self) -> None:
        """Keep the parts running until a request to stop."""
        while not self.is_stopping:
            self._pass(states.SIGN_SECONDS)

    def stop(self) -> None:
        """Stop the parts, kind by kind, and kill those that do not stop."""
        self.is_stopping = True
        for kind in STOP_ORDER:
            self._stop_kind(kind)

    def _close_in_child(self) -> None:
        """Close what a new child must not hold."""
        for child in self._children.values():
            child.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def _stop_requested(self, number: int, frame: FrameType | None) -> None:
        self.is_stopping = True

    def _stop_kind(self, kind: str) -> None:
        for number, seconds in ((signal.SIGTERM, STAGE_SECONDS), (signal.SIGKILL, KILLED_SECONDS)):
            for child in self._of_kind(kind):
                child.signal(number)
                child.signal(signal.SIGCONT)
            deadline = clock.monotonic() + seconds
            while self._of_kind(kind) and (left := deadline - clock.monotonic()) > 0:
                self._pass(left)
            if not self._of_kind(kind):
                return
        logger.error("processes of kind %s do not end: they hang in the kernel", kind)

    def _of_kind(self, kind: str) -> list[Child]:
        return [child for name, child in self._children.items() if self._states[name].part.kind == kind]

    def _raise_first_failure(self) -> None:
        for name, state in self._states.items():
            if state.phase == states.WAITING and state.starts and name not in self._started:
                raise StartFailure(state.failure or f"part {name} did not start: {state.last_exit}")

    # ---- one pass

    def _pass(self, seconds: float) -> None:
        """Wait for news, at most ``seconds``, and deal with them."""
        self._begin_due()
        now = clock.monotonic()
        timeout = min(seconds, *(states.next_change(each, now) for each in self._states.values()))
        poll = select.poll()
        poll.register(self._wake_reader, select.POLLIN)
        names: dict[int, str] = {}
        for name, child in self._children.items():
            for descriptor in (child.reports.descriptor, child.handle):
                names[descriptor] = name
                poll.register(descriptor, select.POLLIN)
        found = [descriptor for descriptor, _ in poll.poll(max(1, round(timeout * 1000)))]
        with suppress(BlockingIOError):
            os.read(self._wake_reader, 4096)
        for name in dict.fromkeys(names[each] for each in found if each in names):
            self._hear(name)
            if self._children[name].handle in found:
                self._bury(name)
        self._note_silence()
        self._show()
        self._work.housekeep()

    def _begin_due(self) -> None:
        now = clock.monotonic()
        for name, state in self._states.items():
            if not self.is_stopping and name in self._started and states.is_due(state, now):
                self._begin(name)

    def _begin(self, name: str) -> None:
        part = self._states[name].part
        self._work.prepare(part)
        child = fork(name, self._work.main_of(part), self._close_in_child)
        self._children[name] = child
        self._states[name] = states.begun(self._states[name], child.pid, clock.monotonic())
        self._show()

    def _hear(self, name: str) -> None:
        state = self._states[name]
        for report in self._children[name].reports.read():
            state = states.alive(state, clock.monotonic())
            if isinstance(report, Started):
                state = states.running(state)
                self._started.add(name)
            elif isinstance(report, Failed):
                state = states.failed_to_start(state, report.text)
            elif isinstance(report, Ready):
                self._ready.add(name)
            if not isinstance(report, Alive):
                self._work.on_report(state.part, report)
        self._states[name] = state

    def _bury(self, name: str) -> None:
        how = self._children.pop(name).bury()
        state = states.exited(self._states[name], how, clock.monotonic(), stopping=self.is_stopping)
        self._states[name] = state
        if name in self._started and not self.is_stopping:
            logger.warning("part %s: %s", name, states.problem(state, clock.monotonic(), clock.now()))

    def _note_silence(self) -> None:
        now = clock.monotonic()
        for name, state in self._states.items():
            seen = states.looked_at(state, now)
            if seen is not state:
                self._states[name] = seen
                logger.warning("part %s: %s", name, states.problem(seen, now, clock.now()))

    def _show(self) -> None:
        self._file.write(states.snapshot(os.getpid(), self._states.values()))
