"""Numbers of users and groups in texts of images."""

from __future__ import annotations

import pytest

from podling.runtime.user_ids import ID_MAX, id_number, is_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("1000", 1000),
        ("0001000", 1000),
        ("000", 0),
        (str(ID_MAX), ID_MAX),
        (str(ID_MAX + 1), None),
        ("9" * 5000, None),
        ("", None),
        ("nobody", None),
        ("-1", None),
        ("+1", None),
        ("1_000", None),
        ("\u0661", None),
    ],
)
def test_id_number_accepts_decimal_digits_up_to_the_limit(text: str, number: int | None) -> None:
    assert id_number(text) == number


def test_number_beyond_the_limit_is_still_no_name() -> None:
    assert is_number("9" * 30)
    assert not is_number("user1")
