"""Numbers in texts that others write.

``str.isdigit`` is true for characters that ``int`` refuses (``²``) and for digits of other scripts, and
``int`` refuses texts of thousands of digits.
"""

from __future__ import annotations

DIGITS_MAX = 18
"""The digits of a number that fits into 64 bits in any case."""


def is_number(text: str) -> bool:
    """Return whether ``text`` is a number in the digits 0 to 9 that fits into 64 bits."""
    return text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX
