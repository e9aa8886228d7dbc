"""The file under the durable store: locked, private, distinct from other files, never half-compacted."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.store.base import (
    Entry,
    Event,
    EventType,
    StoreDamaged,
    StoreError,
    StoreLocked,
    WriteFailed,
)
from podling.store.logfile import ROWS_AT_ONCE, LogFile


def changes() -> Iterator[Event]:
    """Two keys: one lives, one is written twice and deleted."""
    live = Entry("/live", b"1", 1, 1)
    doomed = Entry("/doomed", b"2", 2, 2)
    doomed_again = Entry("/doomed", b"3", 3, 2)
    live_again = Entry("/live", b"4", 4, 1)
    gone = Entry("/doomed", b"3", 5, 2)
    newest = Entry("/live", b"6", 6, 1)
    yield Event(EventType.PUT, live, None)
    yield Event(EventType.PUT, doomed, None)
    yield Event(EventType.PUT, doomed_again, doomed)
    yield Event(EventType.PUT, live_again, live)
    yield Event(EventType.DELETE, gone, doomed_again)
    yield Event(EventType.PUT, newest, live_again)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "store.db"


@pytest.fixture
def file(path: Path) -> Iterator[LogFile]:
    opened = LogFile(path)
    opened.append(list(changes()))
    yield opened
    opened.close()


def test_written_events_are_read_back(file: LogFile) -> None:
    contents = file.read()
    assert contents.entries == {}
    assert [(event.revision, event.type, event.entry.key) for event in contents.events] == [
        (event.revision, event.type, event.entry.key) for event in changes()
    ]
    replaced = [event.previous.revision if event.previous else 0 for event in contents.events]
    assert replaced == [0, 0, 2, 1, 3, 4]


@pytest.mark.parametrize("removed", range(6))
def test_a_compaction_cut_short_anywhere_reads_as_the_same_state(
    path: Path, file: LogFile, removed: int
) -> None:
    """First the mark, then the rows, oldest first: what was deleted never comes back to life."""
    file.mark_compacted(5)
    garbage = file.read().garbage
    assert garbage == [1, 2, 3, 5]
    file.remove(garbage[:removed])
    contents = file.read()
    assert {key: entry.revision for key, entry in contents.entries.items()} == {"/live": 4}
    assert [event.revision for event in contents.events] == [6]
    assert contents.garbage == garbage[removed:]


def test_second_process_is_refused_with_lock_holder(path: Path, file: LogFile) -> None:
    with pytest.raises(StoreLocked, match=r"store\.db\.lock is locked: process \d+ has this store open"):
        LogFile(path)


def test_the_lock_ends_with_its_holder(path: Path) -> None:
    LogFile(path).close()
    LogFile(path).close()


def test_others_on_the_machine_cannot_read_it(path: Path, file: LogFile) -> None:
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert {"store.db", "store.db-wal", "store.db.lock"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_a_file_that_is_no_database(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"certainly not a database, though long enough to look at" * 100)
    with pytest.raises(StoreDamaged, match="damaged or not a store"):
        LogFile(path)
    path.unlink()
    LogFile(path).close()  # and the failed attempt holds no lock


def test_a_database_that_is_no_store(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE somebody_elses (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreDamaged, match="is not a store"):
        LogFile(path)


def test_a_store_of_a_later_version(path: Path, file: LogFile) -> None:
    file.close()
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(StoreError, match="has format 99"):
        LogFile(path)


def overwrite(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as raw:
        raw.seek(start)
        raw.write(b"\xa5" * length)


def test_a_damaged_page(path: Path, file: LogFile) -> None:
    file.close()
    overwrite(path, 4096, path.stat().st_size - 4096)
    with pytest.raises(StoreDamaged):
        LogFile(path).read()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM log WHERE revision = 3", "revision 3 is missing"),
        ("UPDATE log SET key = '/other' WHERE revision = 5", "deletes /other, which is not there"),
    ],
)
def test_a_log_that_contradicts_itself(path: Path, file: LogFile, damage: str, message: str) -> None:
    file.close()
    raw = sqlite3.connect(path)
    raw.execute(damage)
    raw.commit()
    raw.close()
    with pytest.raises(StoreDamaged, match=message):
        LogFile(path).read()


def test_a_failed_transaction_leaves_nothing_behind(file: LogFile) -> None:
    taken = Event(EventType.PUT, Entry("/x", b"", 7, 7), None)
    clash = Event(EventType.PUT, Entry("/y", b"", 6, 6), None)
    with pytest.raises(WriteFailed, match="the write was not saved"):
        file.append([taken, clash])
    assert file.read().events[-1].revision == 6
    file.append([taken])
    assert file.read().events[-1].revision == 7


@pytest.mark.parametrize("more", [0, 1, ROWS_AT_ONCE + 1])
def test_a_batch_of_any_length_is_written_whole_or_not_at_all(path: Path, more: int) -> None:
    """Also when only its last change cannot be written, and it takes several statements."""
    file = LogFile(path)
    batch = [put(revision) for revision in range(1, ROWS_AT_ONCE + more + 1)]
    with pytest.raises(WriteFailed):
        file.append([*batch[:-1], put(1)])
    assert file.read().events == []
    file.append(batch)
    assert [event.revision for event in file.read().events] == [event.revision for event in batch]
    file.close()


def put(revision: int) -> Event:
    return Event(EventType.PUT, Entry(f"/key/{revision}", b"value", revision, revision), None)


def test_no_file_of_the_store_is_mapped_into_memory(path: Path, file: LogFile) -> None:
    """A write to a mapped file ends the process when the file system has become read-only (SIGBUS)."""
    file.read()
    assert str(path.parent) not in Path("/proc/self/maps").read_text()
    assert not path.with_name("store.db-shm").exists()


@pytest.mark.parametrize("cut", [1, 100, 4096, 4200])
def test_half_written_end_of_the_log_is_no_damage(path: Path, file: LogFile, cut: int) -> None:
    """A power failure leaves the last, never acknowledged transaction half written."""
    before = file.read().events[-1].revision
    wal = path.with_name("store.db-wal")
    whole = wal.stat().st_size
    file.append([put(7)])
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    written = wal.read_bytes()
    assert len(written) > whole
    copy.with_name("copy.db-wal").write_bytes(written[: max(len(written) - cut, whole)])
    opened = LogFile(copy)
    assert opened.read().events[-1].revision == before
    opened.close()
