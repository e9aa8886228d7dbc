"""The named formats of strings in schemas. Unknown names check nothing.

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

from podling.machinery import names

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

_CARD = re.compile(
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)"
    r"[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$"
).match
_BYTE = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_RGB = re.compile(rf"^rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)$").match


def matches(name: str, text: str) -> bool:
    """Return whether ``text`` is of the format ``name``."""
    check = _FORMATS.get(name.replace("-", ""))
    return check is None or check(text)


def is_known(name: str) -> bool:
    """Return whether ``name`` is a format with a check."""
    return name.replace("-", "") in _FORMATS


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


def _luhn(digits: str) -> bool:
    doubled = [int(each) * 2 if at % 2 else int(each) for at, each in enumerate(reversed(digits))]
    return sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


def _credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    return bool(_CARD(digits)) and _luhn(digits)


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((10 if each == "X" else int(each)) * (10 - at) for at, each in enumerate(digits)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(each) * (3 if at % 2 else 1) for at, each in enumerate(digits)) % 10 == 0


_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": lambda text: bool(re.fullmatch(r"[0-9a-fA-F]{24}", text)),
    "byte": _works(lambda text: base64.b64decode(text, validate=True)),
    "cidr": lambda text: "/" in text and _works(ipaddress.ip_interface)(text),
    "creditcard": _credit_card,
    "date": lambda text: len(text) == 10 and _works(date.fromisoformat)(text),
    "datetime": _moment,
    "duration": lambda text: bool(_DURATION(text) or _LONG_DURATION(text)),
    "email": lambda text: bool(_EMAIL(text)),
    "hexcolor": lambda text: bool(_HEX(text)),
    "hostname": lambda text: bool(_HOST(text)),
    "ipv4": _works(ipaddress.IPv4Address),
    "ipv6": _works(ipaddress.IPv6Address),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "k8slongname": lambda text: not names.dns_subdomain_errors(text),
    "k8sshortname": lambda text: not names.dns_label_errors(text),
    "mac": lambda text: bool(_MAC(text)),
    "password": lambda text: True,
    "rgbcolor": lambda text: bool(_RGB(text)),
    "ssn": lambda text: bool(re.fullmatch(r"\d{3}[- ]?\d{2}[- ]?\d{4}", text)),
    "uri": _uri,
    "uuid": lambda text: bool(_UUID(text)),
    "uuid3": _version_of(3),
    "uuid4": _version_of(4),
    "uuid5": _version_of(5),
}
