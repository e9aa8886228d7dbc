"""The SQLite file behind a durable store: a log of changes, one row per revision.

The latest row of a key is its current value, so a write is one insertion, history needs no second
table and a crash can lose nothing but a transaction that was not acknowledged. Compaction removes
rows that no request can read any more: those replaced, and the deletions, up to the compacted
revision. It first records that revision and then removes oldest first, in small transactions; cut
short at any point, what remains still reads as the same state, because a row never outlives the row
that replaced it.

Everything here blocks. After ``open`` the writer's thread alone uses it, but for ``size_bytes``.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from podling.store.base import Entry, Event, EventType, StoreDamaged, StoreError, WriteFailed
from podling.store.lockfile import LockFile

FORMAT = 1
"""Written into the file's ``user_version``; a file of another format is refused, not guessed at."""

APPLICATION_ID = 0x506F646C
"""``Podl``: distinguishes a store from any other SQLite file."""

JOURNAL_BYTES_KEPT = 64 * 1024 * 1024
"""The write-ahead log is cut back to this size after it was folded into the file."""

VACUUM_PAGES = 4096
"""The most free pages that one compaction step returns to the file system."""

ROWS_AT_ONCE = 64
"""The most rows that one statement inserts: so few that SQLite keeps every such statement compiled."""

_SCHEMA = f"""
BEGIN;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    created INTEGER NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE compaction (revision INTEGER NOT NULL);
INSERT INTO compaction VALUES (0);
COMMIT;
"""


@dataclass
class Contents:
    """The contents of a file: the entries as of ``compacted``, the changes since, and rows to remove."""

    compacted: int
    entries: dict[str, Entry] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    garbage: list[int] = field(default_factory=list)


class LogFile:
    """One store's file, locked for this process.

    Raises ``StoreLocked`` while another process has it, ``StoreDamaged`` when it is not a sound store.

    Args:
        size_limit_bytes: the file does not grow past this (writes fail instead); 0 for no limit.
    """

    def __init__(self, path: Path, size_limit_bytes: int = 0) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = LockFile(path.with_name(path.name + ".lock"))
        try:
            with _damage_told(path):
                self._connection = _connect(path)
                _limit_size(self._connection, size_limit_bytes)
        except BaseException:
            self._lock.release()
            raise

    @property
    def size_bytes(self) -> int:
        """The file and its write-ahead log, as they are on disk."""
        found = 0
        for path in (self._path, self._path.with_name(f"{self._path.name}-wal")):
            with suppress(FileNotFoundError):
                found += path.stat().st_size
        return found

    def read(self) -> Contents:
        """Everything in the file. Raises ``StoreDamaged``."""
        with _damage_told(self._path):
            (compacted,) = self._connection.execute("SELECT revision FROM compaction").fetchone()
            rows = self._connection.execute(
                "SELECT revision, key, deleted, created, value FROM log ORDER BY revision"
            )
            return self._replay(compacted, rows)

    def append(self, events: Sequence[Event]) -> None:
        """Make ``events`` durable, all or none. Raises ``WriteFailed``."""
        if len(events) <= ROWS_AT_ONCE:
            # One statement is a transaction of its own. Between any two, this thread has to get the
            # interpreter back from the event loop's, which costs more than the statements do.
            with _failure_told():
                self._insert(events)
            return
        with self._transaction():
            for start in range(0, len(events), ROWS_AT_ONCE):
                self._insert(events[start : start + ROWS_AT_ONCE])

    def mark_compacted(self, revision: int) -> None:
        """Record that history up to ``revision`` is given up. Raises ``WriteFailed``."""
        with self._transaction() as connection:
            connection.execute("UPDATE compaction SET revision = ?", (revision,))

    def remove(self, revisions: Sequence[int]) -> None:
        """Remove these rows, all or none, and give space back. Raises ``WriteFailed``."""
        with self._transaction() as connection:
            connection.executemany("DELETE FROM log WHERE revision = ?", ((each,) for each in revisions))
        with _failure_told():
            # A script, because ``execute`` stops at the pragma's first row, of which each freed page is one.
            self._connection.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")

    def close(self) -> None:
        """Fold the write-ahead log into the file and unlock it."""
        try:
            self._connection.close()
        finally:
            self._lock.release()

    def _insert(self, events: Sequence[Event]) -> None:
        values: list[object] = []
        for event in events:
            entry = event.entry
            deleted = event.type is EventType.DELETE
            values += (entry.revision, entry.key, deleted, entry.create_revision, entry.value)
        rows = ", ".join(["(?, ?, ?, ?, ?)"] * len(events))
        self._connection.execute(f"INSERT INTO log VALUES {rows}", values)

    def _replay(self, compacted: int, rows: Iterable[tuple[int, str, int, int, bytes]]) -> Contents:
        contents = Contents(compacted)
        current = contents.entries
        expected = compacted + 1
        for revision, key, deleted, created, value in rows:
            if revision > compacted:
                if revision != expected:
                    raise StoreDamaged(f"{self._path}: revision {expected} is missing")
                if expected == compacted + 1:
                    current = dict(contents.entries)
                expected += 1
            entry = Entry(key, value, revision, created)
            previous = current.pop(key, None)
            if not deleted:
                current[key] = entry
            if revision > compacted:
                if deleted and previous is None:
                    raise StoreDamaged(f"{self._path}: revision {revision} deletes {key}, which is not there")
                kind = EventType.DELETE if deleted else EventType.PUT
                contents.events.append(Event(kind, entry, previous))
            else:
                contents.garbage.extend(replaced_rows(revision, bool(deleted), previous))
        contents.garbage.sort()
        return contents

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        with _failure_told():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back by itself after some errors, a full disk among them.
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise


def replaced_rows(revision: int, deleted: bool, previous: Entry | None) -> Iterator[int]:
    """Yield the rows that a change makes superfluous once its revision is compacted."""
    if previous is not None:
        yield previous.revision
    if deleted:
        yield revision


def _connect(path: Path) -> sqlite3.Connection:
    # Created here because SQLite would make it readable by others; its companions take its mode over.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        # Keeps the index of the write-ahead log in memory. A file for it would be mapped, and needs space: a
        # write to the map of a file system that became read-only ends the process (SIGBUS).
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA mmap_size = 0")
        new = _pragma(connection, "schema_version") == 0
        if new:
            connection.execute(
                "PRAGMA auto_vacuum = INCREMENTAL"
            )  # a write, for which a full disk has no space
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES_KEPT}")
        if new:
            connection.executescript(_SCHEMA)
            _sync_directory(path.parent)
        if _pragma(connection, "application_id") != APPLICATION_ID:
            raise StoreDamaged(f"{path} is not a store")
        if (version := _pragma(connection, "user_version")) != FORMAT:
            raise StoreError(f"{path} has format {version}; this version reads format {FORMAT}")
    except BaseException:
        connection.close()
        raise
    return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _limit_size(connection: sqlite3.Connection, size_limit_bytes: int) -> None:
    if size_limit_bytes > 0:
        pages = max(size_limit_bytes // _pragma(connection, "page_size"), 1)
        connection.execute(f"PRAGMA max_page_count = {pages}")


def _sync_directory(directory: Path) -> None:
    """Make a new file's name as durable as its contents."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} cannot be opened: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreDamaged(f"{path} is damaged or not a store: {error}") from error


@contextmanager
def _failure_told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise WriteFailed(f"the write was not saved: {error}") from error
