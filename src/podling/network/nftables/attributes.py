"""Attributes and message headers of nf_tables. Pure.

Numbers are in network byte order, unlike those of routing messages; what a packet's registers hold is in the
order of the packet.
"""

from __future__ import annotations

import struct

NEWTABLE, DELTABLE = 0, 2
NEWCHAIN, GETCHAIN, DELCHAIN = 3, 4, 5
NEWRULE, GETRULE, DELRULE = 6, 7, 8
NEWSET, GETSET, DELSET = 9, 10, 11
NEWSETELEM, GETSETELEM, DELSETELEM = 12, 13, 14

SUBSYSTEM = 10
BATCH_BEGIN, BATCH_END = 16, 17

F_REQUEST = 0x1
F_ACK = 0x4
F_CREATE = 0x400
F_APPEND = 0x800
F_DUMP = 0x300

FAMILIES = {"inet": 1, "ip": 2, "ip6": 10}
"""The families of tables (``NFPROTO_*``)."""

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_NESTED = 0x8000
_PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")

# NFTA_TABLE_*
TABLE_NAME = 1
# NFTA_CHAIN_* and NFTA_HOOK_*
CHAIN_TABLE, CHAIN_NAME, CHAIN_HOOK, CHAIN_TYPE = 1, 3, 4, 7
HOOK_NUMBER, HOOK_PRIORITY = 1, 2
# NFTA_RULE_*
RULE_TABLE, RULE_CHAIN, RULE_EXPRESSIONS, RULE_USERDATA = 1, 2, 4, 7
# NFTA_SET_*
SET_TABLE, SET_NAME, SET_FLAGS, SET_KEY_TYPE, SET_KEY_LEN, SET_DATA_TYPE, SET_DATA_LEN = 1, 2, 3, 4, 5, 6, 7
SET_DESC, SET_ID, SET_TIMEOUT, SET_USERDATA = 9, 10, 11, 13
SET_DESC_SIZE = 1
# NFTA_SET_ELEM_LIST_* and NFTA_SET_ELEM_*
ELEMENTS_TABLE, ELEMENTS_SET, ELEMENTS_LIST, ELEMENTS_SET_ID = 1, 2, 3, 4
ELEMENT_KEY, ELEMENT_DATA = 1, 2
LIST_ELEMENT = 1
# NFTA_EXPR_* and NFTA_COUNTER_*
EXPRESSION_NAME, EXPRESSION_DATA = 1, 2
COUNTER_PACKETS = 2
DATA_VALUE, DATA_VERDICT = 1, 2
VERDICT_CODE, VERDICT_CHAIN = 1, 2

SET_ANONYMOUS, SET_CONSTANT, SET_MAP, SET_HAS_TIMEOUT, SET_DYNAMIC = 0x1, 0x2, 0x8, 0x10, 0x20


def attribute(kind: int, payload: bytes) -> bytes:
    """Return one attribute, padded to four bytes."""
    length = 4 + len(payload)
    return _ATTRIBUTE.pack(length, kind) + payload + _PADDING[length & 3]


def nested(kind: int, payload: bytes) -> bytes:
    """Return an attribute that holds attributes."""
    return _ATTRIBUTE.pack(4 + len(payload), kind | _NESTED) + payload


def text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def number(kind: int, value: int) -> bytes:
    return attribute(kind, value.to_bytes(4, "big"))


def long_number(kind: int, value: int) -> bytes:
    return attribute(kind, value.to_bytes(8, "big"))


def message(kind: int, flags: int, family: int, body: bytes, sequence: int) -> bytes:
    """Return one message of nf_tables."""
    payload = struct.pack(">BBH", family, 0, 0) + body
    header = _HEADER.pack(16 + len(payload), SUBSYSTEM << 8 | kind, F_REQUEST | flags, sequence, 0)
    return header + payload


def batch_edge(kind: int, sequence: int) -> bytes:
    """Return the message that begins or ends a transaction."""
    payload = struct.pack(">BBH", 0, 0, SUBSYSTEM)
    return _HEADER.pack(16 + len(payload), kind, F_REQUEST, sequence, 0) + payload
