"""The numbers of users and groups, as texts of images and of their passwd files give them."""

from __future__ import annotations

ID_MAX = (1 << 31) - 1
"""The largest number that a container may run as (containerd's ``maxUserID``); the API's status shows no
larger one."""


def is_number(text: str) -> bool:
    """Return whether ``text`` is meant as a number: then it is never a name, even where one is called so
    (CVE-2016-3697), and even if it is too large."""
    return text.isascii() and text.isdigit()


def id_number(text: str) -> int | None:
    """Return the user or group that ``text`` numbers; None for a name, and beyond ``ID_MAX``."""
    if not is_number(text):
        return None
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(ID_MAX)):
        return None
    number = int(digits)
    return number if number <= ID_MAX else None
