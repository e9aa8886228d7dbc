"""Numbers and shares such as ``maxSurge``, scaled to a total."""

from __future__ import annotations

import pytest

from podling.controllers.workloads.int_or_percent import scaled


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [
        (None, 10, 0, 0),
        (3, 10, 3, 3),
        (-1, 10, -1, -1),
        ("25%", 10, 3, 2),
        ("0%", 10, 0, 0),
        ("100%", 7, 7, 7),
        ("150%", 3, 5, 4),
        ("1%", 0, 0, 0),
    ],
)
def test_value_is_scaled_to_total(value: int | str | None, total: int, up: int, down: int) -> None:
    assert scaled(value, total, round_up=True) == up
    assert scaled(value, total, round_up=False) == down


@pytest.mark.parametrize("value", ["", "%", "5", "5%%", "-5%", "a%", "1.5%"])
def test_text_that_is_no_percentage_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="string is not a percentage") as caught:
        scaled(value, 10, round_up=True)
    assert str(caught.value).endswith(f': "{value}"')
