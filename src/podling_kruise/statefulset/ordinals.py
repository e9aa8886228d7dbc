"""The ordinals of a set's pods, without those that are reserved. Pure.

Reserved ordinals are kept as ranges: ``0-2000000000`` costs no more than ``0``.
Upstream: ``getStatefulSetReplicasRange``, ``pkg/util/api/asts.go``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from podling.machinery.numbers import INT64_MAX, natural


def parse_range(text: str) -> range:
    """Return the ordinals of ``3-5``, both ends among them. Raises ``ValueError``."""
    ends = text.split("-")
    if len(ends) != 2:
        raise ValueError(f"invalid range {text}")
    first, last = (_number(each) for each in ends)
    if first > last:
        raise ValueError(f"invalid range {text}")
    return range(first, last + 1)


def _number(text: str) -> int:
    value = natural(text, INT64_MAX)
    if value is None:
        why = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
        raise ValueError(f'strconv.Atoi: parsing "{text}": {why}')
    return value


def reserved_ranges(reserved: Iterable[int | str]) -> list[range]:
    """Return the reserved ordinals as ranges in order that do not touch; none where one cannot be read."""
    try:
        found = [parse_range(each) if isinstance(each, str) else range(each, each + 1) for each in reserved]
    except ValueError:
        return []
    merged: list[range] = []
    for each in sorted(found, key=lambda some: some.start):
        if merged and each.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, each.stop))
        else:
            merged.append(each)
    return merged


class Ordinals(Collection[int]):
    """``count`` ordinals from ``start``, the lowest first, without the ``reserved`` ones."""

    def __init__(self, start: int, count: int, reserved: Iterable[int | str] = ()) -> None:
        self._spans: list[range] = []
        self._count = count
        left, at = count, start
        for gap in reserved_ranges(reserved):
            if gap.stop <= at:
                continue
            taken = min(left, max(0, gap.start - at))
            left -= taken
            if taken:
                self._spans.append(range(at, at + taken))
            if not left:
                break
            at = gap.stop
        if left > 0:
            self._spans.append(range(at, at + left))
        self._starts = [span.start for span in self._spans]

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._spans)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, ordinal: object) -> bool:
        if not isinstance(ordinal, int):
            return False
        at = bisect_right(self._starts, ordinal) - 1
        return at >= 0 and ordinal in self._spans[at]

    def position(self, ordinal: int) -> int:
        """Return the number of ordinals below this one."""
        return sum(max(0, min(ordinal, span.stop) - span.start) for span in self._spans)
