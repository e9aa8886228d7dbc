"""IP addresses as Go's ``net/netip`` reads them, in its words where they are none. Pure."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address

Address = IPv4Address | IPv6Address


class NotAllowed(ValueError):
    """An address that is one, but of a kind that Kubernetes' rules do not take."""


def _at(text: str, rest: str) -> str:
    return f"{text} (at {_quoted(rest)})" if rest else text


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse(text: str) -> Address:
    """Return an address without a zone. Raises ``ValueError``."""
    plain, percent, zone = text.partition("%")
    first = next((each for each in text if each in ".:%"), "")
    if first == ".":
        return _version4(text)
    if first == "%":
        raise ValueError("missing IPv6 address")
    if first != ":":
        raise ValueError("unable to parse IP")
    if percent and not zone:
        raise ValueError("zone must be a non-empty string")
    found = _version6(plain)
    if zone:
        raise NotAllowed(f"IP address {_quoted(text)} with zone value is not allowed")
    if found.ipv4_mapped is not None:
        raise NotAllowed(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    return found


def parse_prefix(text: str) -> tuple[Address, int]:
    """Return an address and how many bits of it are the network's. Raises ``ValueError``."""
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise ValueError("no '/'")
    try:
        found = parse(address)
    except NotAllowed:
        if "%" in address:
            raise ValueError("IPv6 zones cannot be present in a prefix") from None
        raise NotAllowed(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed") from None
    except ValueError as error:
        raise ValueError(f"ParseAddr({_quoted(address)}): {error}") from None
    if (len(bits) > 1 and not "1" <= bits[0] <= "9") or not re.fullmatch("[0-9]+", bits):
        raise ValueError(f"bad bits after slash: {_quoted(bits)}")
    if int(bits) > found.max_prefixlen:
        raise ValueError("prefix length out of range")
    return found, int(bits)


def _version4(text: str) -> IPv4Address:
    fields = _fields4(text)
    if len(fields) < 4:
        raise ValueError("IPv4 address too short")
    return IPv4Address(bytes(fields))


def _fields4(text: str) -> list[int]:
    found: list[int] = []
    value, digits = 0, 0
    for at, sign in enumerate(text):
        if "0" <= sign <= "9":
            if digits == 1 and value == 0:
                raise ValueError("IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(sign), digits + 1
            if value > 255:
                raise ValueError("IPv4 field has value >255")
        elif sign == ".":
            # .1.2.3, 1.2.3., 1..2.3
            if at in (0, len(text) - 1) or text[at - 1] == ".":
                raise ValueError(_at("IPv4 field must have at least one digit", text[at:]))
            if len(found) == 3:
                raise ValueError("IPv4 address too long")
            found.append(value)
            value, digits = 0, 0
        else:
            raise ValueError(_at("unexpected character", text[at:]))
    return [*found, value] if len(found) == 3 else found


def _version6(text: str) -> IPv6Address:
    rest, found = text, bytearray()
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return IPv6Address(0)
    while len(found) < 16:
        digits = re.match("[0-9a-fA-F]*", rest)
        assert digits is not None
        field = digits.group()
        if len(field) > 4:
            raise ValueError(_at("IPv6 field has value >=2^16", rest))
        if not field:
            raise ValueError(_at("each colon-separated field must have at least one digit", rest))
        if rest[len(field) : len(field) + 1] == ".":
            rest = _embedded4(rest, found, ellipsis)
            break
        found += int(field, 16).to_bytes(2, "big")
        rest = rest[len(field) :]
        if not rest:
            break
        if rest[0] != ":":
            raise ValueError(_at("unexpected character, want colon", rest))
        if len(rest) == 1:
            raise ValueError(_at("colon must be followed by more characters", rest))
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis >= 0:
                raise ValueError(_at("multiple :: in address", rest))
            ellipsis, rest = len(found), rest[1:]
            if not rest:
                break
    if rest:
        raise ValueError(_at("trailing garbage after address", rest))
    return IPv6Address(bytes(_filled(found, ellipsis)))


def _embedded4(rest: str, found: bytearray, ellipsis: int) -> str:
    """``rest`` is an IPv4 address, which stands for the last two fields."""
    if ellipsis < 0 and len(found) != 12:
        raise ValueError(_at("embedded IPv4 address must replace the final 2 fields of the address", rest))
    if len(found) + 4 > 16:
        raise ValueError(_at("too many hex fields to fit an embedded IPv4 at the end of the address", rest))
    found += _version4(rest).packed
    return ""


def _filled(found: bytearray, ellipsis: int) -> bytearray:
    if len(found) < 16:
        if ellipsis < 0:
            raise ValueError("address string too short")
        return found[:ellipsis] + bytes(16 - len(found)) + found[ellipsis:]
    if ellipsis >= 0:
        raise ValueError("the :: must expand to at least one field of zeros")
    return found
