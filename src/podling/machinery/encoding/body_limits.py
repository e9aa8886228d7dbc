"""Limits on the number of values in a body: decoded, they take up to 100 times the memory of their text.

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


VALUES_OF_DEFINITIONS_MAX = 500_000
"""The same of definitions of custom resources, which administrators write: their schemas are long."""


def check_json(data: bytes, values_max: int) -> None:
    """Raise 413 for JSON with more values than ``values_max``."""
    if (
        len(data) > values_max
        and _count(data) > values_max
        and _count_outside_strings(data, values_max) > values_max
    ):
        raise too_many(values_max)


def too_many(values_max: int) -> ApiError:
    return too_large(f"limit is {values_max} values")


def _count(data: bytes) -> int:
    """Return the number of values that JSON has, without most of the first ones of objects and lists."""
    return data.count(b"{") + data.count(b"[") + data.count(b",")


def _count_outside_strings(data: bytes, enough: int) -> int:
    found, start, inside = 0, 0, False
    while start < len(data) and found <= enough:
        end = start + _CHUNK
        while data[end - 1 : end] == b"\\":
            end += 1  # a character behind a backslash belongs to the same chunk
        rest, strings = _string.subn(rb"\1", (b'"' if inside else b"") + data[start:end])
        inside = strings != rest.count(b'"')
        found += _count(rest)
        start = end
    return found
