"""Records of containers on disk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling.runtime.base import ContainerState
from podling.runtime.oci.records import PAGE, ContainerRecord, Records
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


RECORD = ContainerRecord(
    id="c1",
    sandbox_id="s1",
    pod_uid="u",
    name="app",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    log_path="/log",
    cgroup="/pods/a/c1",
)


@pytest.mark.parametrize("sizes", [(5, 900, 5), (5, 2 * PAGE, 5), (2 * PAGE, 3 * PAGE), (2 * PAGE, 5, 6)])
def test_the_last_record_of_any_size_is_found(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    records = Records(tmp_path, ContainerRecord)
    for size in sizes:
        saved = records.save(replace(RECORD, message="m" * size))
        again = Records(tmp_path, ContainerRecord)
        assert again.load() == []
        assert again.all() == (saved,)
        assert [file.name for file in (tmp_path / "c1").iterdir()] == ["record.json"]


def test_a_small_record_is_written_over_the_one_before(tmp_path: Path) -> None:
    records = Records(tmp_path, ContainerRecord)
    file = tmp_path / "c1" / "record.json"
    records.save(RECORD)
    before = file.stat()
    records.save(replace(RECORD, state=ContainerState.RUNNING))
    assert (file.stat().st_ino, file.stat().st_size) == (before.st_ino, PAGE)

    again = Records(tmp_path, ContainerRecord)
    again.load()
    again.save(RECORD)
    assert file.stat().st_ino != before.st_ino, "a file of another run may have any size"


def test_a_removed_record_is_written_anew(tmp_path: Path) -> None:
    records = Records(tmp_path, ContainerRecord)
    records.save(RECORD)
    (tmp_path / "c1" / "record.json").unlink()
    records.save(RECORD)
    assert Records(tmp_path, ContainerRecord).load() == []
