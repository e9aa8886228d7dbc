"""Records of containers on disk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from podling.runtime.base import ContainerState
from podling.runtime.oci.records import ContainerRecord, Records
from tests.support.descriptors import no_descriptors


def test_record_that_cannot_be_opened_now_is_no_stray(tmp_path: Path) -> None:
    """Taken for a stray, the container would be removed."""
    (tmp_path / "c1").mkdir()
    (tmp_path / "c1" / "record.json").write_text("{}")
    with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
        Records(tmp_path, ContainerRecord).load()


def test_records_survive_and_strays_are_reported(tmp_path: Path) -> None:
    records = Records(tmp_path, ContainerRecord)
    record = ContainerRecord(
        id="c1",
        sandbox_id="s1",
        pod_uid="u",
        name="app",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        state=ContainerState.RUNNING,
        log_path="/log",
        cgroup="/pods/a/c1",
        user=(1, 2, (2, 3)),
    )
    records.save(record)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "record.json").write_text('{"id": "ha')
    (tmp_path / "empty").mkdir()

    again = Records(tmp_path, ContainerRecord)
    assert again.load() == ["empty", "half"]
    assert again.all() == (record,)
    again.forget("c1")
    assert not (tmp_path / "c1").exists()
    assert again.get("c1") is None
