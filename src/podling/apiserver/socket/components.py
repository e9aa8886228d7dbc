"""The components in other processes, as the API server shows them: signs of life, errors and metrics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from podling import clock
from podling.apiserver.http.health import Check
from podling.client.base import Unreachable
from podling.client.component_reports import METRICS
from podling.client.metric_families import check_families, decode_families

log = logging.getLogger(__name__)

SILENT_SECONDS = 4.0
"""A process without a sign of life for so long is stopped or overloaded: it sends one every second."""
ANSWER_SECONDS = 2.0
"""The time that a process has to answer with its metrics."""


class Process(Protocol):
    """A connection of a process with components."""

    component: str
    pid: int

    async def request(self, verb: str, body: bytes, seconds: float) -> bytes: ...


class ProcessState(Struct, frozen=True):
    """A connected process: the name that it gave itself, and the seconds since its last sign of life.

    ``errors`` has the error of each component, which is empty for a healthy one.
    """

    name: str
    pid: int
    silent_seconds: float
    errors: dict[str, str]


class _Beat(Struct, frozen=True):
    at: float
    errors: dict[str, str]


class ConnectedComponents:
    """The components in connected processes: a ``Collector`` of their metrics.

    Args:
        checks: the health checks of the control plane's parts, by component; each component that reports
            itself gets one.
    """

    def __init__(self, checks: dict[str, Check]) -> None:
        self._checks = checks
        self._beats: dict[Process, _Beat] = {}
        self._families: dict[Process, bytes] = {}

    def beat(self, process: Process, errors: dict[str, str]) -> None:
        """Take a sign of life."""
        self._beats[process] = _Beat(clock.monotonic(), errors)
        for component in errors:
            self._checks[component] = partial(self._error, component)

    def ended(self, process: Process) -> None:
        """Forget a process that is not connected any more."""
        self._beats.pop(process, None)
        self._families.pop(process, None)

    def states(self) -> tuple[ProcessState, ...]:
        """Return the connected processes, in the order in which they connected."""
        now = clock.monotonic()
        return tuple(
            ProcessState(process.component, process.pid, now - beat.at, beat.errors)
            for process, beat in self._beats.items()
        )

    async def refresh(self) -> None:
        """Read the metrics of every process; those of a process that does not answer are left out.

        A process without signs of life is not waited for.
        """
        self._families.clear()
        since = clock.monotonic() - SILENT_SECONDS
        alive = [process for process, beat in self._beats.items() if beat.at > since]
        await asyncio.gather(*map(self._read, alive))

    def collect(self) -> Iterator[Any]:
        """Yield the families that were read last."""
        for data in tuple(self._families.values()):
            yield from decode_families(data)

    async def _read(self, process: Process) -> None:
        try:
            data = await process.request(METRICS, b"", ANSWER_SECONDS)
            check_families(data)
        except (Unreachable, msgspec.MsgspecError) as error:
            log.warning("no metrics of process %d (%s): %s", process.pid, process.component, error)
            return
        if process in self._beats:
            self._families[process] = data

    def _error(self, component: str) -> str:
        """Return why a component is not healthy; empty if it is."""
        beats = [(process, beat) for process, beat in self._beats.items() if component in beat.errors]
        if not beats:
            return "its process is not connected"
        process, beat = max(beats, key=lambda each: each[1].at)
        silent = clock.monotonic() - beat.at
        if silent >= SILENT_SECONDS:
            return f"no sign of life of process {process.pid} for {silent:.0f} s"
        return beat.errors[component]
