"""Faults in background tasks: an exception is raised inside a running task, at its current await.

The supervisor and the components are the real ones. Only the coroutines that a supervisor is given are
driven through ``Driven``, which throws the exception into them as if what they wait for had raised it.
"""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from podling.supervisor import Supervisor, Work

SOURCE = Path(__file__).resolve().parents[2] / "src" / "podling"
STARTERS = ("keep_running", "run_once")

Site = tuple[str, int]
"""A file below ``src/podling`` and the line of a call that starts a task."""


@cache
def sites() -> frozenset[Site]:
    """Return every call in the source that starts a supervised task."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if path.name == "supervisor.py" or not any(starter in text for starter in STARTERS):
            continue
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in STARTERS
            ):
                found.add((path.relative_to(SOURCE).as_posix(), node.lineno))
    return frozenset(found)


class Driven:
    """A coroutine into which an exception can be thrown where it waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], fault: Exception | None) -> None:
        self._coroutine = coroutine
        self._fault = fault
        self._task: asyncio.Task[Any] | None = None
        self._own_cancellations = 0

    def fail(self, fault: Exception) -> None:
        """Throw ``fault`` at the current wait."""
        assert self._task is not None
        self._fault = fault
        self._own_cancellations += 1
        self._task.cancel()

    def _is_cancelled_by_others(self, task: asyncio.Task[Any]) -> bool:
        """Take back the cancellations that carried a fault; return whether there are more, which count."""
        while self._own_cancellations:
            self._own_cancellations -= 1
            task.uncancel()
        return task.cancelling() > 0

    @property
    def place(self) -> str:
        """Return the innermost line at which the coroutine waits."""
        place = "not begun"
        waiting: Any = self._coroutine
        while (frame := getattr(waiting, "cr_frame", None)) is not None:
            place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            waiting = waiting.cr_await
        return place

    def __await__(self) -> Generator[Any, Any, None]:
        self._task = task = asyncio.current_task()
        assert task is not None
        steps = self._coroutine.__await__()
        step = partial(steps.send, None)
        while True:
            try:
                waited = step()
            except StopIteration:
                return
            if self._fault is not None and isinstance(waited, asyncio.Future):
                waited.cancel()  # its wait ends, which the loop's selector must learn
            try:
                yield waited
                if self._fault is None:
                    step = partial(steps.send, None)
                    continue
            except (asyncio.CancelledError, Exception) as error:
                if self._fault is None:
                    step = partial(steps.throw, error)
                    continue
                if self._is_cancelled_by_others(task):
                    self._fault = None
                    step = partial(steps.throw, error)
                    continue
                if _has_ended(waited):
                    step = partial(steps.send, None)  # the wait has just ended by itself; the next one fails
                    continue
            fault, self._fault = self._fault, None
            step = partial(steps.throw, fault)


def _has_ended(waited: object) -> bool:
    """Return whether a wait ended otherwise than by a cancellation, which ``gather`` has as its error."""
    if not isinstance(waited, asyncio.Future) or not waited.done() or waited.cancelled():
        return False
    return not isinstance(waited.exception(), asyncio.CancelledError)


@dataclass(eq=False, slots=True)
class Running:
    """One run of one task."""

    name: str
    subject: str
    driven: Driven


class FailingTasks:
    """Starts every kind of task with a failure of its first run; ``fail_all`` fails those that run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
        self.sites: set[Site] = set()
        self.failed: set[str] = set()
        """Names of the tasks whose first run was made to fail."""
        self.running: list[Running] = []
        self._fault = fault
        for name in STARTERS:
            monkeypatch.setattr(Supervisor, name, self._starting(name))

    def long_lived(self) -> set[tuple[str, str]]:
        """Return the tasks that run now, by name and subject."""
        return {(run.name, run.subject) for run in self.running}

    def places(self) -> str:
        """Return each running task with the line at which it waits, for a test that fails."""
        return "\n".join(sorted(f"{run.name}/{run.subject}: {run.driven.place}" for run in self.running))

    def fail(self, name: str, subject: str) -> None:
        """Make a running task fail."""
        for run in self.running:
            if (run.name, run.subject) == (name, subject):
                run.driven.fail(self._new_fault())

    def _new_fault(self) -> Exception:
        """Return a new exception each time: one that is raised again carries every earlier traceback."""
        return type(self._fault)(*self._fault.args)

    def _starting(self, starter: str) -> Any:
        real = getattr(Supervisor, starter)

        def start(supervisor: Supervisor, name: str, work: Work, subject: str = "") -> asyncio.Task[None]:
            frame = sys._getframe(1)
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(SOURCE):
                self.sites.add((path.relative_to(SOURCE).as_posix(), frame.f_lineno))
            task: asyncio.Task[None] = real(
                supervisor, name, partial(self._run, name, subject, work), subject
            )
            return task

        return start

    async def _run(self, name: str, subject: str, work: Work) -> None:
        fault = None if name in self.failed else self._new_fault()
        self.failed.add(name)
        run = Running(name, subject, Driven(work(), fault))
        self.running.append(run)
        try:
            await run.driven
        finally:
            self.running.remove(run)
