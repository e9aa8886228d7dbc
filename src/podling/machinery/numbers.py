"""Numbers in texts that users write: annotations, labels, percentages."""

from __future__ import annotations

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
UINT64_MAX = 2**64 - 1


def natural(text: str, most: int = INT32_MAX) -> int | None:
    """Return the number that the ASCII digits of ``text`` say; None for anything else, or more than ``most``.

    Python itself refuses to read several thousand digits, and takes digits of other scripts.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    if len(digits) > len(str(most)):
        return None
    number = int(digits or "0")
    return number if number <= most else None
