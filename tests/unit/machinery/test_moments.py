"""Moments and spans of any length."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.moments import EARLIEST, LATEST, shifted

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        (90, NOW + timedelta(seconds=90)),
        (-90, NOW - timedelta(seconds=90)),
        (0, NOW),
        (0.5, NOW.replace(microsecond=500_000)),
    ],
)
def test_shifted_within_calendar(seconds: float, found: datetime) -> None:
    assert shifted(NOW, seconds) == found


@pytest.mark.parametrize("seconds", [10**12, 10**14, 1 << 62, (1 << 63) - 1, 1e300])
def test_shifted_beyond_calendar_is_its_end(seconds: float) -> None:
    assert shifted(NOW, seconds) == LATEST
    assert shifted(NOW, -seconds) == EARLIEST
    assert shifted(LATEST, seconds) == LATEST
    assert shifted(EARLIEST, -seconds) == EARLIEST


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1))
def test_more_seconds_never_come_sooner(first: int, second: int) -> None:
    fewer, more = sorted((first, second))
    assert EARLIEST <= shifted(NOW, fewer) <= shifted(NOW, more) <= LATEST + timedelta(microseconds=999_999)
