"""The page of metrics: made once for many requests, and collected in turns of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from podling.apiserver.http import metrics_page
from podling.apiserver.http.metrics import HISTOGRAMS_AT_ONCE, Labels, RequestMetrics, exposition
from podling.apiserver.http.metrics_page import MetricsPage
from podling.machinery.histograms import counters
from tests.support.loop_turns import LoopTurns

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


class Counted:
    """Counts its collections, and shows their number."""

    def __init__(self) -> None:
        self.collections = 0

    def collect(self) -> Iterator[Any]:
        self.collections += 1
        yield counters("collections", "x", (), {(): self.collections})


async def test_page_is_made_once_for_requests_that_wait() -> None:
    counted = Counted()
    page = MetricsPage(lambda: [counted], process=False)
    found = await asyncio.gather(*(page.page() for _ in range(32)))
    assert counted.collections == 2, "one for the first, and one begun after the others came"
    assert [body.count(b"collections_total 2.0") for body in found] == [0] + [1] * 31


async def test_later_request_sees_later_counts() -> None:
    counted = Counted()
    page = MetricsPage(lambda: [counted], process=False)
    for number in range(1, 4):
        assert f"collections_total {number}.0".encode() in await page.page()


async def test_failure_of_one_page_is_not_that_of_the_next() -> None:
    failing = True

    def collectors() -> list[Counted]:
        if failing:
            raise ValueError("out of order")
        return [Counted()]

    page = MetricsPage(collectors, process=False)
    with pytest.raises(ValueError, match="out of order"):
        await page.page()
    failing = False
    assert b"collections_total 1.0" in await page.page()


async def test_many_series_are_collected_in_turns_of_the_loop() -> None:
    requests = RequestMetrics(dict)
    count = 5 * HISTOGRAMS_AT_ONCE
    for number in range(count):
        labels = Labels("GET", "g", f"v{number}", "pods", "", "resource")
        counts = requests.of(labels)
        counts.begin()
        counts.end(200, 0.01)
    turns = LoopTurns()

    class Counting:
        def collect(self) -> Iterator[Any]:
            for family in requests.collect():
                turns.add(len(family.samples))
                yield family

    async with turns:
        text = (await MetricsPage(lambda: [Counting()], process=False).page()).decode()
    assert turns.most <= 26 * HISTOGRAMS_AT_ONCE
    assert text.count("# TYPE apiserver_request_duration_seconds histogram") == 1
    assert text.count("apiserver_request_duration_seconds_count{") == count
    assert text.count("apiserver_request_total{") == count
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP ")]
    assert len(names) == len(set(names)), "samples of one name stand together"


async def test_page_in_parts_is_the_page_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = RequestMetrics(lambda: {("", "pods"): 3})
    for number in range(HISTOGRAMS_AT_ONCE + 1):
        labels = Labels("GET", "g", f"v{number}\n# HELP x", "pods", "", "resource")
        counts = requests.of(labels)
        counts.begin()
        counts.end(200, 0.01)
    at_once = exposition(list(requests.collect()), process=False)
    monkeypatch.setattr(metrics_page, "WRITTEN_AT_ONCE", 1)
    assert await MetricsPage(lambda: [requests], process=False).page() == at_once
    assert b"python_gc_objects" in await MetricsPage(lambda: [requests], process=True).page()
