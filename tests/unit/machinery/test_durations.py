"""Durations in Go's notation, read and written."""

from __future__ import annotations

import pytest

from podling.machinery.durations import go_duration, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("5s", 5),
        ("1h30m", 5400),
        ("-1.5h", -5400),
        ("+.5m", 30),
        ("1.s", 1),
        ("250ms", 0.25),
        ("3us", 3e-6),
        ("3µs", 3e-6),
        ("7ns", 7e-9),
        ("1m0.5s", 60.5),
        ("2562047h", 2562047 * 3600),
    ],
)
def test_duration_is_read_as_seconds(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("h", 'time: invalid duration "h"'),
        ("3", 'time: missing unit in duration "3"'),
        ("1m3", 'time: missing unit in duration "1m3"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("2562048h", 'time: invalid duration "2562048h"'),
    ],
)
def test_invalid_duration_is_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^time: ") as caught:
        seconds_of(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.35, "350ms"),
        (1.5, "1.5s"),
        (60, "1m0s"),
        (120.25, "2m0.25s"),
        (3605, "1h0m5s"),
    ],
)
def test_seconds_are_written_as_duration(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
