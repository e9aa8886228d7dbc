"""Samples of metrics, read as a monitor would."""

from __future__ import annotations

from collections.abc import Iterable

from podling.apiserver.http.metrics import Collector


def samples(collectors: Iterable[Collector], name: str) -> dict[tuple[str, ...], float]:
    """Return the samples of this name, by the values of their labels, in the labels' order."""
    return {
        tuple(each.labels.values()): each.value
        for collector in collectors
        for family in collector.collect()
        for each in family.samples
        if each.name == name
    }
