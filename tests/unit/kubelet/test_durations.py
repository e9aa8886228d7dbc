"""Durations as Go prints them, as a table."""

from __future__ import annotations

import pytest

from podling.machinery.durations import go_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.35, "350ms"),
        (1.5, "1.5s"),
        (10, "10s"),
        (80, "1m20s"),
        (300, "5m0s"),
        (3605, "1h0m5s"),
    ],
)
def test_durations_are_printed_as_go_does(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
