"""How many values a body may hold: read, they take up to a hundred times as much memory as their text.

A list of ``{}`` takes three bytes of a body for each, and seventy bytes and more once it is read; three
megabytes of it became gigabytes of errors in validation. So the number of values in one body is bounded
before it is read. Kubernetes bounds bytes alone (3 MB, and 1.5 MB for what is stored).
"""

from __future__ import annotations

import re

from podling.machinery.errors import ApiError, too_large

VALUES_MAX = 50_000
"""Values in one body: objects, lists, their members and items. The largest ConfigMap has 44,000 keys."""

_CHUNK = 64 * 1024
"""Bytes that are looked at before other threads get a turn."""

_string = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)', re.DOTALL)
"""A string, or the beginning of one that does not end."""


def check_json(data: bytes) -> None:
    """Raise 413 for JSON with more values than a body may hold."""
    if _count(data) > VALUES_MAX and _count_outside_strings(data) > VALUES_MAX:
        raise too_many()


def too_many() -> ApiError:
    return too_large(f"limit is {VALUES_MAX} values")


def _count(data: bytes) -> int:
    """The number of values that JSON has, without most of the first ones of objects and lists."""
    return data.count(b"{") + data.count(b"[") + data.count(b",")


def _count_outside_strings(data: bytes) -> int:
    found, start, inside = 0, 0, False
    while start < len(data) and found <= VALUES_MAX:
        end = start + _CHUNK
        while data[end - 1 : end] == b"\\":
            end += 1  # a character behind a backslash belongs to the same chunk
        rest, strings = _string.subn(rb"\1", (b'"' if inside else b"") + data[start:end])
        inside = strings != rest.count(b'"')
        found += _count(rest)
        start = end
    return found
