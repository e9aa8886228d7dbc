"""The indexes of an Indexed job: sets of numbers written as ``1,3-5,7``. Pure.

A set is kept as its ranges, so that ``0-2147483646`` costs no more than ``0``.

Upstream: ``pkg/controller/job/indexed_job_utils.go`` and ``success_policy.go``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from podling.api.batch_v1 import SuccessPolicyRule
from podling.api.core_v1 import Pod
from podling.machinery.numbers import natural

INDEX = "batch.kubernetes.io/job-completion-index"
"""The annotation and label that carry a pod's index."""

Range = tuple[int, int]
"""The first and the last index."""


def index_of(pod: Pod) -> int | None:
    """Return the pod's index, or None if it has none that can be read."""
    return natural(pod.metadata.annotations.get(INDEX, ""))


class Indexes:
    """An immutable set of indexes. ``ranges`` are sorted, and neither overlap nor touch."""

    __slots__ = ("_firsts", "ranges")

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self.ranges = tuple(_joined(ranges))
        self._firsts = [first for first, _ in self.ranges]

    @staticmethod
    def of(indexes: Iterable[int]) -> Indexes:
        return Indexes((index, index) for index in indexes)

    @staticmethod
    def parse(text: str | None, completions: int) -> Indexes:
        """Return the indexes below ``completions`` that ``text`` lists; unreadable parts are left out."""
        found: list[Range] = []
        for part in (text or "").split(","):
            left, dash, right = part.partition("-")
            first, last = natural(left), natural(right if dash else left)
            if first is not None and last is not None:
                found.append((first, min(last, completions - 1)))
        return Indexes(found)

    def __str__(self) -> str:
        """``{1, 3, 4, 5}`` as ``1,3-5``."""
        return ",".join(_text(first, last) for first, last in self.ranges)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __contains__(self, index: int) -> bool:
        position = bisect_right(self._firsts, index) - 1
        return position >= 0 and index <= self.ranges[position][1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return hash(self.ranges)

    def __or__(self, other: Indexes) -> Indexes:
        return Indexes((*self.ranges, *other.ranges)) if other.ranges else self

    def __and__(self, other: Indexes) -> Indexes:
        return Indexes(_common(self.ranges, other.ranges))

    def free(self, count: int, completions: int) -> list[int]:
        """Return the lowest ``count`` indexes below ``completions`` that are not in the set."""
        found: list[int] = []
        start = 0
        for first, last in (*self.ranges, (completions, completions)):
            found += range(start, min(first, completions, start + count - len(found)))
            start = last + 1
        return found


def _joined(ranges: Iterable[Range]) -> Iterator[Range]:
    """Sort ranges and join those that overlap or touch; empty ones are left out."""
    present: Range | None = None
    for first, last in sorted(each for each in ranges if each[0] <= each[1]):
        if present is not None and first <= present[1] + 1:
            present = (present[0], max(present[1], last))
            continue
        if present is not None:
            yield present
        present = (first, last)
    if present is not None:
        yield present


def _common(one: tuple[Range, ...], other: tuple[Range, ...]) -> Iterator[Range]:
    left = right = 0
    while left < len(one) and right < len(other):
        (first, last), (low, high) = one[left], other[right]
        yield max(first, low), min(last, high)
        if last < high:
            left += 1
        else:
            right += 1


def _text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def rule_met(rules: Iterable[SuccessPolicyRule], succeeded: Indexes, completions: int) -> int | None:
    """Return the number of the first success rule that these indexes meet, or None; none meets no index."""
    if not len(succeeded):
        return None
    for number, rule in enumerate(rules):
        named = rule.succeeded_indexes is not None
        wanted = Indexes.parse(rule.succeeded_indexes, completions) if named else None
        counting = succeeded & wanted if wanted is not None else succeeded
        if rule.succeeded_count is not None:
            if len(counting) >= rule.succeeded_count:
                return number
        elif wanted is not None and len(wanted) and counting == wanted:
            return number
    return None
