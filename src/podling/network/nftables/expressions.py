"""Expressions of rules as the kernel reads them. Pure.

An expression works on registers: one loads a value, the next compares it, looks it up or uses it as the
target of a translation. Each function returns one or more encoded expressions; a rule is their concatenation.
"""

from __future__ import annotations

import sys
from ipaddress import IPv4Network, IPv6Network

from podling.network.nftables.attributes import (
    DATA_VALUE,
    DATA_VERDICT,
    FAMILIES,
    LIST_ELEMENT,
    VERDICT_CHAIN,
    VERDICT_CODE,
    attribute,
    long_number,
    nested,
    number,
    text,
)

DROP = 0
JUMP = -3
GOTO = -4
RETURN = -5

_VERDICT_REGISTER = 0
FIRST = 1
"""The register for most values: 16 bytes, which are the words 8 to 11."""
SECOND = 2
_FIRST_WORD = 8
_EQUAL, _UNEQUAL = 0, 1
_NETWORK_HEADER, _TRANSPORT_HEADER = 1, 2
_SOURCE = {"ip": (12, 4), "ip6": (8, 16)}
"""Offset and length of the source address in the header; that of the destination follows."""
_DESTINATION_PORT = (2, 2)
_NAT_DESTINATION = 1
_PORT_GIVEN = 0x2
_FAMILY_KEY, _PROTOCOL_KEY = 15, 16
_RANDOM = 1
_UPDATE = 1
_PACKETS, _OVER = 0, 1
_ADDRESS_TYPE = 3
_LOOKED_UP_SOURCE = 1
_LOCAL_ADDRESS = 2


def _expression(name: str, body: bytes) -> bytes:
    return nested(LIST_ELEMENT, text(1, name) + nested(2, body))


def verdict_data(code: int, chain: str = "") -> bytes:
    """Return a verdict as data, for a rule or for the element of a map."""
    body = number(VERDICT_CODE, code & 0xFFFFFFFF)
    return nested(DATA_VERDICT, body + text(VERDICT_CHAIN, chain) if chain else body)


def verdict(code: int, chain: str = "") -> bytes:
    return _expression("immediate", number(1, _VERDICT_REGISTER) + nested(2, verdict_data(code, chain)))


def load(value: bytes, register: int = FIRST) -> bytes:
    return _expression("immediate", number(1, register) + nested(2, attribute(DATA_VALUE, value)))


def _equals(value: bytes, operator: int = _EQUAL) -> bytes:
    return _expression(
        "cmp", number(1, FIRST) + number(2, operator) + nested(3, attribute(DATA_VALUE, value))
    )


def family_is(family: str) -> bytes:
    """Go on only for packets of a family, in a table of ``inet``."""
    return _expression("meta", number(1, FIRST) + number(2, _FAMILY_KEY)) + _equals(
        bytes((FAMILIES[family],))
    )


def protocol_is(number_of_protocol: int) -> bytes:
    """Go on only for packets of a transport protocol."""
    return _expression("meta", number(1, FIRST) + number(2, _PROTOCOL_KEY)) + _equals(
        bytes((number_of_protocol,))
    )


def _load_header(header: int, offset: int, length: int) -> bytes:
    return _expression(
        "payload", number(1, FIRST) + number(2, header) + number(3, offset) + number(4, length)
    )


def load_source(family: str) -> bytes:
    """Load the packet's source address."""
    return _load_header(_NETWORK_HEADER, *_SOURCE[family])


def destination_is(family: str, address: bytes, port: int) -> bytes:
    """Go on only for packets to an address and a port."""
    offset, length = _SOURCE[family]
    return (
        _load_header(_NETWORK_HEADER, offset + length, length)
        + _equals(address)
        + _load_header(_TRANSPORT_HEADER, *_DESTINATION_PORT)
        + _equals(port.to_bytes(2, "big"))
    )


def source_is_in(family: str, network: IPv4Network | IPv6Network) -> bytes:
    """Go on only for packets whose source address belongs to ``network``."""
    mask = network.netmask.packed
    masked = _expression(
        "bitwise",
        number(1, FIRST)
        + number(2, FIRST)
        + number(3, len(mask))
        + nested(4, attribute(DATA_VALUE, mask))
        + nested(5, attribute(DATA_VALUE, bytes(len(mask)))),
    )
    return load_source(family) + masked + _equals(network.network_address.packed)


def source_is_local(wanted: bool = True) -> bytes:
    """Go on only for packets whose source address is one of this machine's, or only for the others."""
    found = _expression("fib", number(1, FIRST) + number(2, _ADDRESS_TYPE) + number(3, _LOOKED_UP_SOURCE))
    return found + _equals(_LOCAL_ADDRESS.to_bytes(4, sys.byteorder), _EQUAL if wanted else _UNEQUAL)


def random_number(modulus: int) -> bytes:
    return _expression("numgen", number(1, FIRST) + number(2, modulus) + number(3, _RANDOM) + number(4, 0))


def look_up(name: str, set_id: int, target: int = FIRST) -> bytes:
    """Load into the register ``target`` the value that a map of this transaction has for the first register.

    A packet whose key the map lacks ends the rule.
    """
    return _expression("lookup", text(1, name) + number(2, FIRST) + number(3, target) + number(4, set_id))


def decide_by(name: str, set_id: int) -> bytes:
    """Carry out the verdict that a map of this transaction has for the first register."""
    return look_up(name, set_id, _VERDICT_REGISTER)


def is_in(name: str) -> bytes:
    """Go on only for packets for which the first register is in a set."""
    return _expression("lookup", text(1, name) + number(2, FIRST))


def remember(name: str, each: bytes = b"") -> bytes:
    """Add the first register to a set, or begin its time again.

    ``each``: an expression of which every element has its own; it may end the rule.
    """
    body = text(1, name) + number(3, _UPDATE) + number(4, FIRST)
    return _expression("dynset", body + nested(7, each) if each else body)


def limit_over(per_second: int, burst: int) -> bytes:
    """Go on only for packets beyond a rate, as the content of ``remember``'s ``each``."""
    rate = long_number(1, per_second) + long_number(2, 1) + number(3, burst)
    return text(1, "limit") + nested(2, rate + number(4, _PACKETS) + number(5, _OVER))


def count() -> bytes:
    """Count the packets that come here."""
    return _expression("counter", b"")


def translate_destination(family: str) -> bytes:
    """Send the connection to the address and port that follow each other in the first register."""
    return _translate(family, _FIRST_WORD + _SOURCE[family][1] // 4)


def translate_destination_to(family: str, target: bytes) -> bytes:
    """Send the connection to an address with a port."""
    given = number(7, _PORT_GIVEN)
    return load(target[:-2], FIRST) + load(target[-2:], SECOND) + _translate(family, SECOND, given)


def _translate(family: str, port_register: int, more: bytes = b"") -> bytes:
    body = number(1, _NAT_DESTINATION) + number(2, FAMILIES[family])
    return _expression("nat", body + number(3, FIRST) + number(5, port_register) + more)
