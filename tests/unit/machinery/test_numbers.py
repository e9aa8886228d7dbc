"""Numbers in texts that users write."""

from __future__ import annotations

import pytest

from podling.machinery.numbers import INT64_MAX, natural

TEXTS = [
    ("0", 0),
    ("007", 7),
    ("2147483647", 2147483647),
    ("2147483648", None),
    ("9" * 10_000, None),
    ("0" * 10_000 + "5", 5),
    ("", None),
    ("-1", None),
    ("+1", None),
    ("1 ", None),
    ("²", None),
    ("٣", None),
    ("1_000", None),
]


@pytest.mark.parametrize(("text", "number"), TEXTS)
def test_natural_reads_ascii_digits_up_to_a_limit(text: str, number: int | None) -> None:
    assert natural(text) == number


def test_natural_takes_another_limit() -> None:
    assert natural(str(INT64_MAX), INT64_MAX) == INT64_MAX
    assert natural(str(INT64_MAX + 1), INT64_MAX) is None
