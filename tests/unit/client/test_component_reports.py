"""Reports of the components of a process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from podling.client.component_reports import ComponentReports
from podling.client.metric_families import decode_families
from podling.machinery.histograms import counters


async def test_components_are_healthy_as_long_as_their_tasks_run() -> None:
    async def fail() -> None:
        raise RuntimeError("out of order")

    async def end() -> None:
        return None

    reports = ComponentReports("control")
    running = asyncio.create_task(asyncio.Event().wait())
    failed, ended = asyncio.create_task(fail()), asyncio.create_task(end())
    cancelled = asyncio.create_task(end())
    cancelled.cancel()
    await asyncio.wait([failed, ended, cancelled])
    reports.look_after("scheduler", running)  # type: ignore[arg-type]
    for name, task in (("failed", failed), ("ended", ended), ("cancelled", cancelled)):
        reports.look_after(name, task)
    assert reports.errors() == {
        "scheduler": "",
        "failed": "out of order",
        "ended": "it has ended",
        "cancelled": "it was cancelled",
    }
    running.cancel()


class Counts:
    """A collector of one family."""

    def collect(self) -> Iterator[Any]:
        yield counters("requests", "Requests.", (), {(): 3})


async def test_metrics_have_the_size_of_the_process() -> None:
    reports = ComponentReports("node/n1")
    reports.count(Counts())
    families = {family.name: family for family in decode_families(await reports.metrics(b""))}
    assert families["requests"].samples[0].value == 3
    assert "podling_task_failures" in families
    (memory,) = families["podling_process_resident_memory_bytes"].samples
    assert memory.labels == {"process": "node/n1"}
    assert memory.value > 1_000_000
    (seconds,) = families["podling_process_cpu_seconds"].samples
    assert seconds.value > 0
