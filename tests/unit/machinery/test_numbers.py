"""Numbers in texts that others write."""

from __future__ import annotations

import re

import pytest

from podling.machinery.numbers import INT64_MAX, is_number, natural, parse_uint
from podling.runtime.base import RuntimeFailure
from podling.runtime.signals import signal_number

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


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", True),
        ("2147483647", True),
        ("2147483648", True),
        ("9" * 18, True),
        ("9" * 19, False),
        ("9" * 5000, False),
        ("²", False),
        ("١٢", False),
        ("-1", False),
        ("", False),
    ],
)
def test_text_is_recognised_as_number(text: str, number: bool) -> None:
    assert is_number(text) == number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("65535", 65535), ("0" * 99 + "7", 7)])
def test_parse_uint_reads_decimal_digits(text: str, number: int) -> None:
    assert parse_uint(text, 16) == number


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "invalid syntax"),
        ("+1", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("65536", "value out of range"),
        ("9" * 5000, "value out of range"),
        ("1" + "0" * 60, "value out of range"),
    ],
)
def test_parse_uint_fails_with_gos_message(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f'^strconv.ParseUint: parsing "{re.escape(text)}": {problem}$'):
        parse_uint(text, 16)


@pytest.mark.parametrize("name", ["²", "9" * 5000, "RTMIN+²", "SIG١"])
def test_signals_of_images_are_not_taken_for_numbers(name: str) -> None:
    with pytest.raises(RuntimeFailure, match="unknown signal"):
        signal_number(name)
