"""Pools of numbers: what is given out, to whom, and from which end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podling.apiserver.registry.number_pool import NumberPool, static_band

BANDS = [
    (14, 16, 256, 0),
    (254, 16, 256, 16),
    (4094, 16, 256, 255),
    (1 << 20, 16, 256, 256),
    (2768, 32, 128, 86),
]


@pytest.mark.parametrize(("size", "step", "most", "band"), BANDS)
def test_static_band_has_kubernetes_size(size: int, step: int, most: int, band: int) -> None:
    assert static_band(size, step, most) == band


def used(*numbers: int) -> Callable[[int], bool]:
    return set(numbers).__contains__


def test_draw_leaves_the_static_band_for_last() -> None:
    pool = NumberPool(range(20), static=15)
    drawn = [pool.draw("a", used()) for _ in range(20)]
    assert set(drawn[:5]) == set(range(15, 20))
    assert set(drawn[5:]) == set(range(15))
    assert pool.draw("a", used()) is None


def test_number_in_use_is_never_drawn() -> None:
    pool = NumberPool(range(4))
    assert pool.draw("a", used(0, 1, 3)) == 2
    assert pool.draw("b", used(0, 1, 3)) is None


def test_holder_may_take_its_number_again_and_others_may_not() -> None:
    pool = NumberPool(range(4))
    assert pool.take("a", 1, used())
    assert pool.take("a", 1, used())
    assert not pool.take("b", 1, used())
    assert not pool.take("b", 2, used(2))
    pool.release("a")
    assert pool.take("b", 1, used())
