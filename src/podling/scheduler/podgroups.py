"""Counts per node of pods that are equal to the scheduler.

Spreading and affinity count similar pods per node. Replicas of one workload have the same namespace, labels
and terms, so a selector is evaluated once per group instead of once per pod.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from podling.machinery.selectors import LabelSelector, Operator
from podling.scheduler.podfacts import NO_AFFINITIES, Affinities, PodFacts

_FEW = 16
"""Up to so many rows a plain loop is faster than making arrays."""

GroupKey = tuple[str, tuple[tuple[str, str], ...], bool, bytes]


class PodGroup:
    """``rows``: how many of these pods are on which row."""

    __slots__ = ("affinities", "labels", "namespace", "rows", "terminating")

    def __init__(self, facts: PodFacts) -> None:
        self.namespace = facts.namespace
        self.labels: Mapping[str, str] = facts.labels
        self.affinities: Affinities = facts.affinities
        self.terminating = facts.terminating
        self.rows: dict[int, int] = {}


def group_key(facts: PodFacts) -> GroupKey:
    affinity = b"" if facts.affinities is NO_AFFINITIES else msgspec.json.encode(facts.spec.affinity)
    return facts.namespace, tuple(sorted(facts.labels.items())), facts.terminating, affinity


class PodGroups:
    """All placed pods, by group."""

    def __init__(self) -> None:
        self._groups: dict[GroupKey, PodGroup] = {}
        self._found_by: dict[tuple[str, ...], dict[GroupKey, PodGroup]] = {}
        """By namespace, and by namespace, key and value of each label."""
        self._with_affinity: dict[GroupKey, PodGroup] = {}

    def add(self, facts: PodFacts, row: int) -> None:
        key = group_key(facts)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = PodGroup(facts)
            for place in _places(facts):
                self._found_by.setdefault(place, {})[key] = group
            if facts.affinities is not NO_AFFINITIES:
                self._with_affinity[key] = group
        group.rows[row] = group.rows.get(row, 0) + 1

    def remove(self, facts: PodFacts, row: int) -> None:
        key = group_key(facts)
        group = self._groups[key]
        group.rows[row] -= 1
        if not group.rows[row]:
            del group.rows[row]
        if not group.rows:
            del self._groups[key]
            for place in _places(facts):
                found = self._found_by[place]
                del found[key]
                if not found:
                    del self._found_by[place]
            self._with_affinity.pop(key, None)

    def all(self) -> Iterable[PodGroup]:
        return self._groups.values()

    def with_affinity(self) -> Collection[PodGroup]:
        """Return the groups whose pods have an opinion on their neighbours."""
        return self._with_affinity.values()

    def selected(self, namespace: str, selector: LabelSelector) -> list[PodGroup]:
        """Return the groups of the namespace whose labels the selector matches."""
        place: tuple[str, ...] = (namespace,)
        for each in selector.requirements:
            if each.operator in _EQUAL:
                place = (namespace, each.key, each.values[0])
                break
        return [group for group in self._found_by.get(place, {}).values() if selector.matches(group.labels)]


_EQUAL = (Operator.EQUALS, Operator.DOUBLE_EQUALS)


def _places(facts: PodFacts) -> Iterator[tuple[str, ...]]:
    yield (facts.namespace,)
    for key, value in facts.labels.items():
        yield facts.namespace, key, value


def counts_per_row(groups: Iterable[PodGroup], capacity: int) -> npt.NDArray[np.int64]:
    """Return the number of pods of these groups on each row."""
    counts = np.zeros(capacity, np.int64)
    for group in groups:
        length = len(group.rows)
        if length > _FEW:
            rows = np.fromiter(group.rows.keys(), np.intp, length)
            counts[rows] += np.fromiter(group.rows.values(), np.int64, length)
        else:
            for row, number in group.rows.items():
                counts[row] += number
    return counts
