"""Container logs as users see them: pure reading of CRI logs from any source.

A log is a sequence of records (``podling.runtime.cri_log``). One line of the container may be several
records, all but the last marked partial. ``tail`` counts lines, not records, so a line is never cut
because it was long or was written in pieces.

``read_log`` works on a ``LogSource``: a file that may be rotated meanwhile, or memory. As in Kubernetes,
following a log ends with its container; the next attempt is another log.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from podling.kubelet.server.log_turns import LogTurns

BLOCK = 64 * 1024
PARTIAL = b"P"


class LogOptions(Struct, frozen=True, kw_only=True):
    """``PodLogOptions`` as they apply to one log; None and empty mean not given."""

    follow: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: str = ""
    """``stdout`` or ``stderr``; empty: both."""


class LogSource(Protocol):
    """One container's log. Offsets count from the log's beginning, across rotation."""

    def size(self) -> int:
        """Return the offset of the log's present end."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset`` on; fewer at the end."""
        ...

    async def wait_for_more(self, offset: int) -> bool:
        """Return True once there is more after ``offset``, False when there never will be."""
        ...


class Record(Struct, frozen=True):
    """One line of a CRI log."""

    time: bytes
    stream: bytes
    full: bool
    text: bytes


def parse_record(line: bytes) -> Record | None:
    """Return the record in ``line`` (without its newline), or None if it is malformed.

    Further tags after the first may follow, separated by colons; they are for later versions.
    """
    parts = line.split(b" ", 3)
    if len(parts) < 4 or parts[1] not in (b"stdout", b"stderr"):
        return None
    return Record(parts[0], parts[1], parts[2].split(b":", 1)[0] != PARTIAL, parts[3])


def record_time(record: Record) -> datetime | None:
    try:
        return datetime.fromisoformat(record.time.decode())
    except ValueError:
        return None


def format_time(time: bytes) -> bytes:
    """Return a record's time as ``timestamps`` shows it: UTC as ``Z``, also for ``+00:00``."""
    return time[:-6] + b"Z" if time.endswith(b"+00:00") else time


class LogText:
    """Converts records to the displayed text. Takes bytes as they come, and keeps an incomplete line."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._rest = b""
        self._open_line = False
        self._left = options.limit_bytes
        self.finished = False
        """True once the byte limit is reached."""

    def feed(self, chunk: bytes) -> bytes:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return self._limit(b"".join(map(self._display, lines)))

    def _display(self, line: bytes) -> bytes:
        record = parse_record(line)
        if record is None or not self._is_selected(record):
            return b""
        text = record.text + b"\n" if record.full else record.text
        if self._options.timestamps and not self._open_line:
            text = format_time(record.time) + b" " + text
        self._open_line = not record.full
        return text

    def _is_selected(self, record: Record) -> bool:
        if self._options.stream and record.stream.decode() != self._options.stream:
            return False
        if self._options.since is None:
            return True
        at = record_time(record)
        return at is not None and at >= self._options.since

    def _limit(self, text: bytes) -> bytes:
        if self._left is None:
            return text
        text = text[: self._left]
        self._left -= len(text)
        self.finished = self._left == 0
        return text


class TailSearch:
    """Looks for the beginning of the last ``lines`` lines of a log of ``size`` bytes, from its end on.

    ``first`` is where the log begins. A line that the container has not ended yet counts as one.
    """

    def __init__(self, size: int, lines: int, first: int = 0) -> None:
        self._size = size
        self._lines = lines
        self._first = first
        self._position = size
        self._carried = b""
        self._seen = 0

    def step(self, read: Callable[[int, int], bytes]) -> int | None:
        """Look through one more block; return the offset once it is found."""
        if self._lines <= 0:
            return self._size
        if self._position <= self._first:
            return self._first
        length = min(BLOCK, self._position - self._first)
        self._position -= length
        block = read(self._position, length) + self._carried
        starts = _line_starts(block, whole=self._position == self._first)
        for start, end in reversed(starts):
            ends_a_line = _is_full(block[start:end]) or self._position + end >= self._size
            if ends_a_line and self._seen == self._lines:
                return self._position + end
            self._seen += ends_a_line
        self._carried = block[: starts[0][0]] if starts else block
        return None


def _line_starts(block: bytes, *, whole: bool) -> list[tuple[int, int]]:
    """Return start and end (after the newline) of each line; the first is incomplete unless ``whole``."""
    starts = [0] if whole else []
    found = block.find(b"\n")
    while found >= 0 and found + 1 < len(block):
        starts.append(found + 1)
        found = block.find(b"\n", found + 1)
    return list(zip(starts, [*starts[1:], len(block)], strict=True))


def _is_full(line: bytes) -> bool:
    record = parse_record(line)
    return record is None or record.full


async def read_log(source: LogSource, options: LogOptions, turns: LogTurns) -> AsyncIterator[bytes]:
    """Yield the selected text of a log in pieces, until its end. Each piece is read in a turn."""
    text = LogText(options)
    size = source.size()
    offset: int | None = 0
    if options.tail_lines is not None:
        search, offset = TailSearch(size, options.tail_lines), None
    while offset is None:
        async with turns.turn():
            offset = search.step(source.read)
    while not text.finished:
        async with turns.turn():
            chunk = source.read(offset, BLOCK)
            shown = text.feed(chunk)
        offset += len(chunk)
        if shown:
            yield shown
        if not chunk and not (options.follow and await source.wait_for_more(offset)):
            return
