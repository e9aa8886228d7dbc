"""Numbers in texts that others write: annotations, labels, percentages, headers.

``str.isdigit`` is true for characters that ``int`` refuses (``²``) and for digits of other scripts, and
``int`` refuses texts of thousands of digits.
"""

from __future__ import annotations

import json

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
UINT64_MAX = 2**64 - 1

DIGITS_MAX = 18
"""The digits of a number that fits into 64 bits in any case."""


def natural(text: str, most: int = INT32_MAX) -> int | None:
    """Return the number that the ASCII digits of ``text`` say; None for anything else, or above ``most``."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    if len(digits) > len(str(most)):
        return None
    number = int(digits or "0")
    return number if number <= most else None


def is_number(text: str) -> bool:
    """Return whether ``text`` is a number in the digits 0 to 9 that fits into 64 bits."""
    return text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX


def parse_uint(text: str, bits: int) -> int:
    """Return the unsigned number that ``text`` writes in decimal digits.

    Raises ``ValueError`` with the message of Go's ``strconv.ParseUint``.
    """
    problem = ""
    if not (text.isascii() and text.isdigit()):
        problem = "invalid syntax"
    elif len(text.lstrip("0")) > len(str(1 << bits)) or int(text[-40:]) >> bits:
        problem = "value out of range"
    if problem:
        raise ValueError(f"strconv.ParseUint: parsing {json.dumps(text, ensure_ascii=False)}: {problem}")
    return int(text[-40:])
