"""One transaction on a table, collected as messages. Pure.

The kernel carries a batch out as a whole or not at all, and packets see either the old rules or the new ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from msgspec import Struct

from podling.network.nftables import attributes as nft
from podling.network.nftables.attributes import attribute, long_number, nested, number, text

_ELEMENTS_BYTES = 60_000
"""The most bytes of elements in a message: the length of an attribute has 16 bits."""
_COMMENT = 0
"""The kind of a rule's comment in its user data (libnftnl, which ``nft`` shows)."""

TYPE_INTEGER = 4
TYPE_ADDRESS = {"ip": 7, "ip6": 8}
TYPE_SERVICE = 13
_TYPE_BITS = 6
ADDRESS_BYTES = {"ip": 4, "ip6": 16}
ANY_NUMBER_OF_CLIENTS = 65535


_HOST_ORDER = attribute(nft.SET_USERDATA, bytes((0, 4)) + (1).to_bytes(4, sys.byteorder))
"""The note by which ``nft`` shows the keys of a map in this machine's order of bytes."""


class DataKind(Struct, frozen=True):
    """Type (as ``nft`` numbers it, to show it) and length of a map's values."""

    type: int
    length: int


TARGETS = {
    family: DataKind(TYPE_ADDRESS[family] << _TYPE_BITS | TYPE_SERVICE, ADDRESS_BYTES[family] + 4)
    for family in ADDRESS_BYTES
}
"""Addresses with ports."""
VERDICTS = DataKind(0xFFFFFF00, 16)


class Batch:
    """Collects the messages of one transaction on a table of ``family`` (``inet``, ``ip`` or ``ip6``)."""

    def __init__(self, family: str, table: str) -> None:
        self.family = family
        self.table = table
        self._messages: list[tuple[int, int, bytes]] = []
        self._sets = 0

    def __len__(self) -> int:
        return len(self._messages)

    def _add(self, kind: int, flags: int, body: bytes) -> None:
        self._messages.append((kind, flags, body))

    # ---- tables, chains and rules

    def replace_table(self) -> None:
        """Make the table, empty; an earlier one of this name is gone."""
        name = text(nft.TABLE_NAME, self.table)
        self._add(nft.NEWTABLE, nft.F_CREATE, name)
        self._add(nft.DELTABLE, 0, name)
        self._add(nft.NEWTABLE, nft.F_CREATE, name)

    def add_filter(self, name: str, hook: int, priority: int) -> None:
        """Make a chain that packets pass at a hook of the kernel (``NF_INET_*``), and that accepts them."""
        place = number(nft.HOOK_NUMBER, hook) + number(nft.HOOK_PRIORITY, priority & 0xFFFFFFFF)
        body = self._chain(name) + nested(nft.CHAIN_HOOK, place) + text(nft.CHAIN_TYPE, "filter")
        self._add(nft.NEWCHAIN, nft.F_CREATE, body)

    def add_chain(self, name: str) -> None:
        """Make a chain unless there is one of this name."""
        self._add(nft.NEWCHAIN, nft.F_CREATE, self._chain(name))

    def flush_chain(self, name: str) -> None:
        body = text(nft.RULE_TABLE, self.table) + text(nft.RULE_CHAIN, name)
        self._add(nft.DELRULE, 0, body)

    def delete_chain(self, name: str) -> None:
        self._add(nft.DELCHAIN, 0, self._chain(name))

    def _chain(self, name: str) -> bytes:
        return text(nft.CHAIN_TABLE, self.table) + text(nft.CHAIN_NAME, name)

    def add_rule(self, chain: str, rule: bytes, comment: str) -> None:
        """Append a rule, given as its expressions, to a chain."""
        noted = comment.encode() + b"\0"
        body = (
            text(nft.RULE_TABLE, self.table)
            + text(nft.RULE_CHAIN, chain)
            + nested(nft.RULE_EXPRESSIONS, rule)
            + attribute(nft.RULE_USERDATA, bytes((_COMMENT, len(noted))) + noted)
        )
        self._add(nft.NEWRULE, nft.F_CREATE | nft.F_APPEND, body)

    # ---- sets and maps

    def add_choices(self, data: DataKind, values: Sequence[bytes]) -> tuple[str, int]:
        """Make the nameless map from 0, 1, 2 ... to ``values``, encoded as data, for the rule that follows.

        Returns its name and number, which the rule's look-up needs.
        """
        name, number_of_set = "__map%d", self._next_set()
        flags = nft.SET_ANONYMOUS | nft.SET_CONSTANT | nft.SET_MAP
        of_data = number(nft.SET_DATA_TYPE, data.type) + number(nft.SET_DATA_LEN, data.length)
        body = self._set(name, flags, TYPE_INTEGER, 4) + of_data + _size(len(values)) + _HOST_ORDER
        self._add(nft.NEWSET, nft.F_CREATE, body + number(nft.SET_ID, number_of_set))
        elements = (_element(_index(index), value) for index, value in enumerate(values))
        self._add_elements(nft.NEWSETELEM, name, elements, number_of_set)
        return name, number_of_set

    def add_memory(self, name: str, seconds: int, family: str = "") -> None:
        """Make the set of clients' addresses in which each element lasts so many seconds.

        A table of ``inet`` needs the ``family`` of the addresses.
        """
        family = family or self.family
        body = self._set(
            name,
            nft.SET_HAS_TIMEOUT | nft.SET_DYNAMIC,
            TYPE_ADDRESS[family],
            ADDRESS_BYTES[family],
        )
        timeout = long_number(nft.SET_TIMEOUT, seconds * 1000)
        body += _size(ANY_NUMBER_OF_CLIENTS) + timeout + number(nft.SET_ID, self._next_set())
        self._add(nft.NEWSET, nft.F_CREATE, body)

    def _next_set(self) -> int:
        self._sets += 1
        return self._sets

    def _set(self, name: str, flags: int, key_type: int, key_bytes: int) -> bytes:
        return (
            text(nft.SET_TABLE, self.table)
            + text(nft.SET_NAME, name)
            + number(nft.SET_FLAGS, flags)
            + number(nft.SET_KEY_TYPE, key_type)
            + number(nft.SET_KEY_LEN, key_bytes)
        )

    def delete_set(self, name: str) -> None:
        self._add(nft.DELSET, 0, text(nft.SET_TABLE, self.table) + text(nft.SET_NAME, name))

    def add_elements(self, name: str, elements: Iterable[tuple[bytes, bytes]]) -> None:
        """Add elements to a set or map: keys, and data as ``expressions`` encodes it (empty in a set)."""
        self._add_elements(nft.NEWSETELEM, name, (_element(key, data) for key, data in elements))

    def delete_elements(self, name: str, keys: Iterable[bytes]) -> None:
        self._add_elements(nft.DELSETELEM, name, (_element(key, b"") for key in keys))

    def _add_elements(self, kind: int, name: str, elements: Iterable[bytes], set_id: int = 0) -> None:
        target = text(nft.ELEMENTS_TABLE, self.table) + text(nft.ELEMENTS_SET, name)
        if set_id:
            target += number(nft.ELEMENTS_SET_ID, set_id)
        flags = nft.F_CREATE if kind == nft.NEWSETELEM else 0
        for part in _parts(elements):
            self._add(kind, flags, target + nested(nft.ELEMENTS_LIST, part))

    # ---- the whole

    def encode(self, first: int) -> tuple[bytes, int]:
        """Return the transaction and the sequence number of its last message, which requests an answer."""
        family = nft.FAMILIES[self.family]
        parts = [nft.batch_edge(nft.BATCH_BEGIN, first)]
        last = first + len(self._messages)
        for sequence, (kind, flags, body) in enumerate(self._messages, first + 1):
            asked = nft.F_ACK if sequence == last else 0
            parts.append(nft.message(kind, flags | asked, family, body, sequence))
        parts.append(nft.batch_edge(nft.BATCH_END, last + 1))
        return b"".join(parts), last


def target_data(target: bytes) -> bytes:
    """Return address and port as registers hold them, in words of four bytes, as data of an element."""
    return attribute(nft.DATA_VALUE, target + bytes(-len(target) % 4))


def _size(elements: int) -> bytes:
    return nested(nft.SET_DESC, number(nft.SET_DESC_SIZE, elements))


def _index(number_of_choice: int) -> bytes:
    return number_of_choice.to_bytes(4, sys.byteorder)


def _element(key: bytes, data: bytes) -> bytes:
    body = nested(nft.ELEMENT_KEY, attribute(nft.DATA_VALUE, key))
    return nested(nft.LIST_ELEMENT, body + nested(nft.ELEMENT_DATA, data) if data else body)


def _parts(elements: Iterable[bytes]) -> Iterable[bytes]:
    collected: list[bytes] = []
    length = 0
    for element in elements:
        if length + len(element) > _ELEMENTS_BYTES:
            yield b"".join(collected)
            collected, length = [], 0
        collected.append(element)
        length += len(element)
    if collected:
        yield b"".join(collected)
