"""Reading of CRI logs: records become lines, and options select among them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.kubelet.server.logs import LogOptions, LogText, TailSearch, format_time, parse_record
from podling.runtime.cri_log import format_line

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LOG = (
    b"2026-01-01T12:00:00.000000000Z stdout F one\n"
    b"2026-01-01T12:00:01.000000000Z stderr F two\n"
    b"2026-01-01T12:00:02.000000000Z stdout P thr\n"
    b"2026-01-01T12:00:03.000000000Z stdout F ee\n"
    b"2026-01-01T12:00:04.000000000Z stdout F four\n"
)


def tail_offset(read: Callable[[int, int], bytes], size: int, lines: int) -> int:
    search = TailSearch(size, lines)
    while (offset := search.step(read)) is None:
        pass
    return offset


def shown(log: bytes, options: LogOptions) -> bytes:
    return LogText(options).feed(log)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (LogOptions(), b"one\ntwo\nthree\nfour\n"),
        (LogOptions(stream="stderr"), b"two\n"),
        (LogOptions(since=NOON.replace(second=3)), b"ee\nfour\n"),
        (LogOptions(since=NOON.replace(minute=1)), b""),
        (LogOptions(limit_bytes=6), b"one\ntw"),
        (
            LogOptions(timestamps=True, since=NOON.replace(second=1)),
            b"2026-01-01T12:00:01.000000000Z two\n"
            b"2026-01-01T12:00:02.000000000Z three\n"
            b"2026-01-01T12:00:04.000000000Z four\n",
        ),
    ],
)
def test_options_select_the_lines(options: LogOptions, expected: bytes) -> None:
    assert shown(LOG, options) == expected


@given(st.lists(st.integers(min_value=0, max_value=len(LOG)), max_size=6))
def test_sizes_of_chunks_do_not_matter(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(LOG)]
    text = LogText(LogOptions(timestamps=True))
    pieces = [text.feed(LOG[start:end]) for start, end in pairwise(edges)]
    assert b"".join(pieces) == shown(LOG, LogOptions(timestamps=True))


def test_reading_ends_with_the_byte_limit() -> None:
    text = LogText(LogOptions(limit_bytes=4))
    assert text.feed(LOG) == b"one\n"
    assert text.finished
    assert text.feed(LOG) == b""


@pytest.mark.parametrize("line", [b"", b"no record", b"2026-01-01T12:00:00Z stdin F x", b"time stdout F"])
def test_malformed_lines_are_skipped(line: bytes) -> None:
    assert parse_record(line) is None
    assert shown(line + b"\n", LogOptions()) == b""


def test_later_tags_are_ignored() -> None:
    record = parse_record(b"2026-01-01T12:00:00Z stdout P:new-tag text with blanks")
    assert record is not None
    assert (record.full, record.text) == (False, b"text with blanks")


def test_utc_is_written_as_z() -> None:
    assert format_time(b"2026-01-01T12:00:00.000000000+00:00") == b"2026-01-01T12:00:00.000000000Z"
    assert format_time(b"2026-01-01T12:00:00.000000000+02:00") == b"2026-01-01T12:00:00.000000000+02:00"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (0, b""),
        (1, b"four\n"),
        (2, b"three\nfour\n"),
        (3, b"two\nthree\nfour\n"),
        (9, b"one\ntwo\nthree\nfour\n"),
    ],
)
def test_tail_counts_lines_and_not_records(lines: int, expected: bytes) -> None:
    start = tail_offset(lambda offset, length: LOG[offset : offset + length], len(LOG), lines)
    assert shown(LOG[start:], LogOptions()) == expected


def test_unfinished_line_counts_as_one() -> None:
    log = LOG + format_line(NOON, "stdout", b"fi", partial=True)
    start = tail_offset(lambda offset, length: log[offset : offset + length], len(log), 2)
    assert shown(log[start:], LogOptions()) == b"four\nfi"


def test_tail_of_a_long_log_is_found_from_its_end() -> None:
    log = b"".join(format_line(NOON, "stdout", b"%d" % number) for number in range(100_000))
    read: list[int] = []

    def count(offset: int, length: int) -> bytes:
        read.append(length)
        return log[offset : offset + length]

    start = tail_offset(count, len(log), 10)
    assert shown(log[start:], LogOptions()) == b"".join(b"%d\n" % number for number in range(99_990, 100_000))
    assert sum(read) < len(log) / 50


@given(st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=30), st.integers(0, 12))
def test_tail_equals_the_last_lines(parts: list[tuple[bytes, bool]], lines: int) -> None:
    log = b"".join(
        format_line(NOON, "stdout", text.replace(b"\n", b" "), partial=partial) for text, partial in parts
    )
    start = tail_offset(lambda offset, length: log[offset : offset + length], len(log), lines)
    unended = bool(parts) and parts[-1][1]
    everything = shown(log, LogOptions()).split(b"\n")
    wanted = everything if unended else everything[:-1]
    kept = wanted[-lines:] if lines else []
    assert shown(log[start:], LogOptions()) == b"\n".join(kept) + (b"" if unended or not kept else b"\n")
