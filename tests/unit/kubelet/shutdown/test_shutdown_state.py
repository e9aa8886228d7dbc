"""The file with the times of the last shutdown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.shutdown.shutdown_state import (
    FILE_NAME,
    NEVER,
    ShutdownRecord,
    ShutdownTimes,
    read_times,
    seconds_of,
    write_times,
)

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"startTime": 3}', '{"startTime": "yesterday"}'])
def test_damaged_times_count_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert read_times(tmp_path) == ShutdownTimes()


def test_times_are_written_as_kubernetes_reads_them(tmp_path: Path) -> None:
    write_times(tmp_path / "folder", ShutdownTimes(start_time=BEGAN))
    text = (tmp_path / "folder" / FILE_NAME).read_text()
    assert text == '{"startTime":"2026-01-01T00:00:00Z","endTime":"0001-01-01T00:00:00Z"}'
    assert read_times(tmp_path / "folder") == ShutdownTimes(start_time=BEGAN)


def test_time_that_has_not_come_is_no_metric() -> None:
    assert seconds_of(NEVER) is None
    assert seconds_of(BEGAN) == 1767225600


async def test_times_are_shown_where_the_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    metrics = KubeletMetrics()
    record = ShutdownRecord(tmp_path / "file", metrics)
    await record.load()
    await record.begin()
    await record.end()
    assert (metrics.shutdown_ended or 0) >= (metrics.shutdown_started or 1)
