"""Parsing of completion index lists: ``1,3-5,7``.

Upstream: ``validateIndexesFormat`` in ``pkg/apis/batch/validation/validation.go``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_INTEGER = re.compile("[+-]?[0-9]+", re.ASCII).fullmatch


class IndexesError(ValueError):
    """The text is not a list of indexes below the number of completions."""


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in ``text``. Raises ``IndexesError``."""
    return sum(last - first + 1 for first, last in _intervals(text, completions))


def common_index(one: str, other: str, completions: int) -> int | None:
    """Return the first index in both lists; None if there is none. Raises ``IndexesError``."""
    intervals = list(_intervals(other, completions))
    for first, last in _intervals(one, completions):
        for low, high in intervals:
            if first <= high and low <= last:
                return max(first, low)
    return None


def _intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    before: int | None = None
    for part in text.split(",") if text else ():
        first, last = _interval(part, completions)
        if before is not None and before >= first:
            raise IndexesError(f"non-increasing order, previous: {before}, current: {first}")
        before = last
        yield first, last


def _interval(text: str, completions: int) -> tuple[int, int]:
    ends = text.split("-")
    if len(ends) > 2:
        raise IndexesError(
            f"the fragment {json.dumps(text)} violates the requirement that an index interval can have "
            "at most two parts separated by '-'"
        )
    first = last = _index(ends[0], completions)
    if len(ends) > 1:
        last = _index(ends[1], completions)
        if first >= last:
            raise IndexesError(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not _INTEGER(text):
        raise IndexesError(f"cannot convert string to integer for index: {json.dumps(text)}")
    if int(text) >= completions:
        raise IndexesError(f"too large index: {json.dumps(text)}")
    return int(text)
