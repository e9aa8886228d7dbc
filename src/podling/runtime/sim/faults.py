"""Faults of a simulated runtime: chosen calls hang, fail or return wrong results.

    runtime.faults.append(Fault(verb="start_container", pod="web", hangs=True))

The first fault in the list that fits a call decides its result; a call without a fault succeeds. Calls on
images are named ``images.pull`` and so on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, MutableSequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from podling import clock
from podling.runtime.base import ContainerEvent, ContainerSpec, SandboxSpec
from podling.runtime.changes import Changes
from podling.runtime.feed import Feed
from podling.runtime.sim.runtime import SimRuntime
from podling.runtime.sim.script import Scenario

_VERBS = (
    "status",
    "run_sandbox",
    "stop_sandbox",
    "remove_sandbox",
    "list_sandboxes",
    "create_container",
    "start_container",
    "stop_container",
    "remove_container",
    "list_containers",
    "container_status",
    "exec",
    "update_resources",
    "stats",
)
_IMAGE_VERBS = ("image_status", "pull", "list_images", "remove_image")
VERBS = (*_VERBS, *(f"images.{verb}" for verb in _IMAGE_VERBS))
"""The calls that can be faulty, but for ``events``."""


@dataclass(kw_only=True)
class Fault:
    """A fault of one verb, for the pods and containers whose names fit (``*`` and ``?``).

    A call does not come back (``hangs``), raises ``error``, or returns the result of ``lie`` on the true
    value; without any of them it returns None and does nothing. ``seconds`` delays it; alone, it is carried
    out after them. ``done``: the call is carried out before it hangs or fails. ``times``: the number of
    faulty calls; None: always.
    """

    verb: str
    pod: str = "*"
    container: str = "*"
    hangs: bool = False
    error: Exception | None = None
    lie: Callable[[Any], Any] | None = None
    seconds: float = 0.0
    done: bool = False
    times: int | None = None
    met: int = 0
    """The number of calls that it has decided."""

    def fits(self, verb: str, pod: str, container: str) -> bool:
        left = self.times is None or self.met < self.times
        names = fnmatchcase(pod, self.pod) and fnmatchcase(container, self.container)
        return left and verb == self.verb and names


class _Faults(MutableSequence[Fault]):
    """A list of faults that notes each of its changes."""

    def __init__(self, changes: Changes) -> None:
        self._items: list[Fault] = []
        self._changes = changes

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._items[index] = value
        self._changes.note()

    def __delitem__(self, index: Any) -> None:
        del self._items[index]
        self._changes.note()

    def __len__(self) -> int:
        return len(self._items)

    def insert(self, index: int, value: Fault) -> None:
        self._items.insert(index, value)
        self._changes.note()


class FaultyRuntime(SimRuntime):
    """``SimRuntime`` with ``faults``, which may change at any time."""

    def __init__(self, scenario: Scenario | None = None, *, pod_cidr: str = "10.244.0.0/16") -> None:
        super().__init__(scenario, pod_cidr=pod_cidr)
        self._faults = _Faults(self.changes)
        for verb in _VERBS:
            setattr(self, verb, partial(self._call, verb, getattr(self, verb)))
        for verb in _IMAGE_VERBS:
            setattr(self.images, verb, partial(self._call, f"images.{verb}", getattr(self.images, verb)))

    @property
    def faults(self) -> MutableSequence[Fault]:
        """The faults, of which the first that fits a call decides it."""
        return self._faults

    @faults.setter
    def faults(self, faults: MutableSequence[Fault]) -> None:
        self._faults[:] = list(faults)

    def is_predictable(self) -> bool:
        return not self._faults

    def events(self) -> AsyncIterator[ContainerEvent]:
        """Events, or none at all as long as ``events`` is faulty."""
        return Feed() if self._fault("events", "", "") is not None else super().events()

    async def _call(
        self, verb: str, truly: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **named: Any
    ) -> Any:
        fault = self._fault(verb, *self._subject(args)) if self._faults else None
        if fault is None:
            return await truly(*args, **named)
        await clock.sleep(fault.seconds)
        is_slow_only = fault.seconds > 0 and not fault.hangs and fault.error is None
        answer = await truly(*args, **named) if fault.done or fault.lie or is_slow_only else None
        if fault.hangs:
            await asyncio.Event().wait()
        if fault.error is not None:
            raise fault.error.with_traceback(None)  # one exception for many calls: their traces would add up
        return fault.lie(answer) if fault.lie else answer

    def _fault(self, verb: str, pod: str, container: str) -> Fault | None:
        found = next((fault for fault in self._faults if fault.fits(verb, pod, container)), None)
        if found is not None:
            found.met += 1
        return found

    def _subject(self, args: tuple[Any, ...]) -> tuple[str, str]:
        """Return the names of the pod and the container that a call is about, as far as it is about one."""
        pod = container = ""
        for argument in args:
            if isinstance(argument, SandboxSpec):
                pod = argument.pod_name
            elif isinstance(argument, ContainerSpec):
                container = argument.name
            elif isinstance(argument, str) and argument in self._sandboxes:
                pod = self._sandboxes[argument].pod_name
            elif isinstance(argument, str) and argument in self._lives:
                life = self._lives[argument].container
                pod, container = self._sandboxes[life.sandbox_id].pod_name, life.name
        return pod, container
