"""The named formats of strings that schemas may ask for. Unknown names ask for nothing.

Names and their meaning: ``kube-openapi/pkg/validation/strfmt``.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

_HEX = re.compile(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").match
_UUID = re.compile(r"^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$").match
_EMAIL = re.compile(r"^[^@\s]+@[^@\s]+$").match
_HOST = re.compile(
    r"^(?=.{1,255}$)[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?)*\.?$"
).match
_MOMENT = re.compile(r"^\d{4}-\d\d-\d\d[tT ]\d\d:\d\d:\d\d(\.\d+)?([zZ]|[+-]\d\d:?\d\d)$").match
_DURATION = re.compile(
    r"^[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$|^0$"
).match
_LONG_DURATION = re.compile(
    r"^\d+\s*(ns|us|ms|s|sec|secs|m|min|mins|minute|minutes|h|hr|hour|hours|d|day|days|w|wk|week|weeks)s?$"
).match
_MAC = re.compile(r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$").match


def matches(name: str, text: str) -> bool:
    """Whether ``text`` is of the format ``name``."""
    check = _FORMATS.get(name.replace("-", ""))
    return check is None or check(text)


def _works(read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _moment(text: str) -> bool:
    return bool(_MOMENT(text)) and _works(lambda each: datetime.fromisoformat(each.upper()))(text)


def _uri(text: str) -> bool:
    return _works(urlsplit)(text) and bool(urlsplit(text).scheme or text.startswith("/"))


def _version_of(number: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        return bool(_UUID(text)) and text.replace("-", "")[12] == str(number)

    return check


_FORMATS: dict[str, Callable[[str], bool]] = {
    "byte": _works(lambda text: base64.b64decode(text, validate=True)),
    "cidr": lambda text: "/" in text and _works(ipaddress.ip_interface)(text),
    "date": lambda text: len(text) == 10 and _works(date.fromisoformat)(text),
    "datetime": _moment,
    "duration": lambda text: bool(_DURATION(text) or _LONG_DURATION(text)),
    "email": lambda text: bool(_EMAIL(text)),
    "hexcolor": lambda text: bool(_HEX(text)),
    "hostname": lambda text: bool(_HOST(text)),
    "ipv4": _works(ipaddress.IPv4Address),
    "ipv6": _works(ipaddress.IPv6Address),
    "mac": lambda text: bool(_MAC(text)),
    "uri": _uri,
    "uuid": lambda text: bool(_UUID(text)),
    "uuid3": _version_of(3),
    "uuid4": _version_of(4),
    "uuid5": _version_of(5),
}
