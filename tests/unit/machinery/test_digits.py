"""Numbers in texts that others write."""

from __future__ import annotations

import pytest

from podling.machinery.digits import is_number
from podling.runtime.base import RuntimeFailure
from podling.runtime.signals import signal_number


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
def test_numbers(text: str, number: bool) -> None:
    assert is_number(text) == number


@pytest.mark.parametrize("name", ["²", "9" * 5000, "RTMIN+²", "SIG١"])
def test_signals_of_images_are_not_taken_for_numbers(name: str) -> None:
    with pytest.raises(RuntimeFailure, match="unknown signal"):
        signal_number(name)
