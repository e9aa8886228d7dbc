"""The token bucket of evictions."""

from __future__ import annotations

import pytest

from podling_vpa.updater.rate_limits import RateLimit


def test_burst_comes_at_once_and_the_rest_at_the_rate() -> None:
    limit = RateLimit(0.5, 2)
    assert [limit.reserve(0.0) for _ in range(4)] == [0.0, 0.0, 2.0, 4.0]
    assert limit.reserve(20.0) == 0.0


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_rate_that_is_not_positive_is_no_limit(rate: float) -> None:
    limit = RateLimit(rate, 1)
    assert {limit.reserve(0.0) for _ in range(100)} == {0.0}
