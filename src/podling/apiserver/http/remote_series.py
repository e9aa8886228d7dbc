"""Series of other processes, added to those of this one, which may count under the same labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_Series = tuple[str, frozenset[tuple[str, str]]]
"""The name of a sample and its labels."""


class RemoteSeries:
    """The samples of other processes; those with the same labels are summed."""

    def __init__(self) -> None:
        self._families: dict[str, Any] = {}
        self._samples: dict[str, dict[_Series, Any]] = {}
        """By the name of the family."""

    def add(self, families: Iterable[Any]) -> None:
        """Take in the families of other processes."""
        for family in families:
            self._families.setdefault(family.name, family)
            samples = self._samples.setdefault(family.name, {})
            for sample in family.samples:
                _sum(samples, sample)

    def move_into(self, family: Any) -> None:
        """Add the samples of the same labels to those of ``family``, a family of this process."""
        samples = self._samples.get(family.name)
        if not samples:
            return
        for place, sample in enumerate(family.samples):
            other = samples.pop(_series(sample), None)
            if other is not None:
                family.samples[place] = sample._replace(value=sample.value + other.value)

    def rest(self) -> Iterator[Any]:
        """Yield the families with the samples that were not moved."""
        for name, samples in self._samples.items():
            family = self._families[name]
            family.samples = list(samples.values())
            yield family


def _sum(samples: dict[_Series, Any], sample: Any) -> None:
    series = _series(sample)
    held = samples.get(series)
    samples[series] = sample if held is None else held._replace(value=held.value + sample.value)


def _series(sample: Any) -> _Series:
    return sample.name, frozenset(sample.labels.items())
