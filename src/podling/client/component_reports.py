"""State and metrics of the components in this process, for the API server in another one to show.

    reports = ComponentReports("control")
    async with SocketBackend(path, reports=reports) as backend:
        await run_components(partial(LocalClient, backend), ..., observer=reports)

Every second the process sends a sign of life with the error of each component that it looks after, and it
answers the server's requests for metrics. So the API server's ``/metrics`` and ComponentStatuses show the
components as if they were in its own process.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from podling.client.metric_families import encode_families
from podling.client.task_metrics import SupervisedTasks
from podling.machinery.histograms import counters, gauges

METRICS = "metrics"
"""The server's request for the families of this process."""
BEAT_SECONDS = 1.0
"""Between two signs of life."""


class Collector(Protocol):
    """A source of metric families."""

    def collect(self) -> Iterable[Any]:
        """Return the families of ``prometheus_client``."""
        ...


class ComponentReports:
    """The components of this process. ``name`` names the process: ``control``, ``node/n1``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._checks: dict[str, Callable[[], str]] = {}
        self._collectors: list[Collector] = [SupervisedTasks()]

    def look_after(self, component: str, task: asyncio.Task[None]) -> None:
        """Report ``component`` as healthy as long as ``task`` runs."""
        self._checks[component] = lambda: _error(task)

    def count(self, collector: Collector) -> None:
        """Report what ``collector`` counts."""
        self._collectors.append(collector)

    def errors(self) -> dict[str, str]:
        """Return the error of each component; empty for a healthy one."""
        return {component: check() for component, check in self._checks.items()}

    async def metrics(self, _: bytes) -> bytes:
        """Return the families of this process, encoded."""
        families = [family for collector in self._collectors for family in collector.collect()]
        return encode_families([*families, *self._process()])

    def _process(self) -> Iterator[Any]:
        """Yield the size of the process. The API server's own is shown by the metrics library."""
        label = (self.name,)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        text = "Resident memory of a process of the cluster in bytes."
        size = {label: pages * os.sysconf("SC_PAGE_SIZE")}
        yield gauges("podling_process_resident_memory_bytes", text, ("process",), size)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        text = "Processor time of a process of the cluster in seconds."
        yield counters(
            "podling_process_cpu_seconds", text, ("process",), {label: usage.ru_utime + usage.ru_stime}
        )


def _error(task: asyncio.Task[None]) -> str:
    """Return why a task that never ends has ended; empty while it runs."""
    if not task.done():
        return ""
    return "it was cancelled" if task.cancelled() else str(task.exception() or "it has ended")
