"""The function that a shape of points describes."""

from __future__ import annotations

import pytest

from podling.scheduler.configuration.plugin_args import UtilizationShapePoint
from podling.scheduler.plugins.resource_shares import broken_linear


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ([(10, 1), (90, 9)], {0: 10, 9: 10, 10: 10, 15: 15, 50: 50, 89: 89, 90: 90, 99: 90, 100: 90}),
        ([(0, 2), (40, 10), (100, 0)], {0: 20, 20: 60, 40: 100, 70: 50, 100: 0, 45: 92}),
        ([(0, 2), (40, 2), (100, 0)], {0: 20, 20: 20, 40: 20, 70: 10, 100: 0}),
        ([(30, 5)], {0: 50, 30: 50, 100: 50}),
    ],
)
def test_function_of_a_shape_is_a_broken_line(shape: list[tuple[int, int]], expected: dict[int, int]) -> None:
    points = [UtilizationShapePoint(utilization=at, score=score) for at, score in shape]
    table = broken_linear(points)
    assert {percent: int(table[percent]) for percent in expected} == expected
