"""Defaults of the plugin interface: normalised scores, and nodes that wake a rejected pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest

from podling.scheduler.cache import Cache
from podling.scheduler.framework import ALL, Plugin, Rejected, normalised, one_row
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.scheduling import cache_of, facts, node


@pytest.mark.parametrize(
    ("raw", "expected", "reversed_"),
    [
        ([1, 2, 3, 4], [25, 50, 75, 100], [75, 50, 25, 0]),
        ([1, 2, 3], [33, 66, 100], [67, 34, 0]),
        ([0, 0], [0, 0], [100, 100]),
        ([], [], []),
    ],
)
def test_scores_are_scaled_by_the_highest(raw: list[int], expected: list[int], reversed_: list[int]) -> None:
    numbers = np.array(raw, np.int64)
    assert normalised(numbers).tolist() == expected
    assert normalised(numbers, reverse=True).tolist() == reversed_


class Rejecting(Plugin):
    """A plugin that rejects every row, finally or not."""

    name: ClassVar[str] = "Rejecting"

    def __init__(self, unresolvable: bool) -> None:
        self.unresolvable = unresolvable

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        return (Rejected("no", np.ones(len(rows), np.bool_), self.unresolvable),)


@pytest.mark.parametrize(
    ("plugin", "priority", "helped"),
    [
        (Plugin(), 0, ALL),
        (Rejecting(unresolvable=False), 0, 0),
        (Rejecting(unresolvable=False), 10, ALL),
        (Rejecting(unresolvable=True), 10, 0),
    ],
)
def test_changed_node_helps_if_accepted_or_preemptible(plugin: Plugin, priority: int, helped: int) -> None:
    cache = cache_of(node("a"))
    cache.add_pod(facts(), "a")
    assert plugin.wakes_for_nodes(facts(priority=priority), one_row(0), cache) == helped
