"""Reports of a part's process pass through a pipe that never blocks it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from podling.cluster.processes.reports import (
    Alive,
    Failed,
    Ready,
    Report,
    Reporter,
    ReportReader,
    Started,
    Step,
)

REPORTS: list[Report] = [
    Alive(),
    Step("API server", "https://127.0.0.1:6443"),
    Started(6443, "/data/admin.kubeconfig"),
    Ready(),
    Failed("port 6443 is in use\nby another"),
]


@pytest.fixture
def pipe() -> Iterator[tuple[Reporter, ReportReader, int]]:
    reader, writer = os.pipe()
    found = ReportReader(reader)
    yield Reporter(writer), found, writer
    os.close(writer)
    found.close()


def test_reports_arrive_in_order(pipe: tuple[Reporter, ReportReader, int]) -> None:
    reporter, reader, _ = pipe
    assert list(reader.read()) == []
    for report in REPORTS:
        reporter.send(report)
    assert list(reader.read()) == REPORTS
    assert list(reader.read()) == []


def test_report_in_two_pieces_is_read_once_it_is_whole(pipe: tuple[Reporter, ReportReader, int]) -> None:
    _, reader, writer = pipe
    os.write(writer, b'{"type":"Re')
    assert list(reader.read()) == []
    os.write(writer, b'ady"}\n{"type"')
    assert list(reader.read()) == [Ready()]


def test_reports_that_are_not_read_are_lost(pipe: tuple[Reporter, ReportReader, int]) -> None:
    reporter, reader, _ = pipe
    for _ in range(20_000):
        reporter.send(Alive())
    assert 1000 < len(list(reader.read())) < 20_000


def test_report_to_a_supervisor_that_is_gone_is_lost() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        Reporter(writer).send(Alive())
    finally:
        os.close(writer)
