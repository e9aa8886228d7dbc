"""The settings of a test's cluster, as markers and options write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from podling.testing.settings import TestSettings, moment_of, settings_from, span_of, speed_of


@pytest.mark.parametrize(("clock", "speed"), [("paused", 0), ("running", 1), ("60x", 60), ("0.5x", 0.5)])
def test_clock_has_a_speed(clock: str, speed: float) -> None:
    assert speed_of(clock) == speed


@pytest.mark.parametrize("clock", ["", "60", "fast", "-1x", "0x", "nanx"])
def test_other_clocks_are_refused(clock: str) -> None:
    with pytest.raises(ValueError, match="there are 'paused', 'running'"):
        speed_of(clock)


@pytest.mark.parametrize(
    ("start", "moment"),
    [
        (None, None),
        ("2030-01-02", datetime(2030, 1, 2, tzinfo=UTC)),
        ("2030-01-02T03:04:05Z", datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (datetime(2030, 1, 2, tzinfo=timezone(timedelta(hours=1))), datetime(2030, 1, 1, 23, tzinfo=UTC)),
    ],
)
def test_start_is_a_moment_in_utc(start: str | datetime | None, moment: datetime | None) -> None:
    assert moment_of(start) == moment


@pytest.mark.parametrize(("length", "seconds"), [("5m", 300), ("1h30m", 5400), (90, 90), (0.5, 0.5)])
def test_span_is_text_or_number(length: str | float, seconds: float) -> None:
    assert span_of(length) == seconds


def test_keywords_become_settings() -> None:
    assert settings_from({"nodes": 3, "seed": 7}) == TestSettings(nodes=3, seed=7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"node": 3}, "unknown settings of a cluster: node; there are: nodes, "),
        ({"nodes": -1}, "nodes=-1"),
        ({"nodes": 20_000}, "there are 0 to 10,000"),
        ({"clock": "fast"}, "clock='fast'"),
        ({"start": "soon"}, "Invalid isoformat string"),
        ({"service_range": "10.0.0.0"}, "10.0.0.0"),
    ],
)
def test_impossible_settings_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings_from(values)
