"""The texts of ``podling clock``: durations, and the line about a clock."""

from __future__ import annotations

import pytest

from podling.cli.clock import described, duration_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("1d12h", 129_600),
        ("10ms", 0.01),
    ],
)
def test_duration_is_read_as_seconds(text: str, seconds: float) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "1 day", "-5m", "5x"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        duration_seconds(text)


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ({"mode": "paused", "speed": 0}, "2026-01-02T03:04:05Z  paused"),
        ({"mode": "running", "speed": 60}, "2026-01-02T03:04:05Z  running at 60x"),
        (
            {
                "mode": "winding",
                "speed": 0,
                "target": "2026-01-03T00:00:00Z",
                "nextTimer": "2026-01-02T03:04:06.5Z",
            },
            "2026-01-02T03:04:05Z  winding until 2026-01-03T00:00:00Z; next timer at 2026-01-02T03:04:06Z",
        ),
    ],
)
def test_line_about_a_clock(state: dict[str, object], line: str) -> None:
    assert described({"now": "2026-01-02T03:04:05.678Z", **state}) == line
