"""Plain data as protobuf messages, guided by tables that say where each key goes.

For the documents of OpenAPI, whose protobuf forms (``google/gnostic``) have the shape of their JSON. What
protobuf has no message for travels as text inside an ``Any``: YAML there, of which JSON is a part.

A key without a place is an error, never dropped in silence: a document that says less than its JSON would
make clients disagree with each other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

EXTENSION = "x-"
"""In a table, where every key goes that begins so."""

_VARINT, _DOUBLE, _BYTES = 0, 1, 2


class Field(NamedTuple):
    """The place of a key's value in a message.

    ``kind`` is a scalar, a message, or one of an encoder's own; a list of it is a repeated field, but for any
    kind of ``value``. ``inside`` are the field numbers of the messages between, which only wrap. ``entries``:
    the value is a map, written as a message whose field of that number repeats pairs of name and value.
    """

    number: int
    kind: str
    inside: tuple[int, ...] = ()
    entries: int = 0


class Encoder:
    """Writes messages.

    Args:
        messages: the fields of each message, by key.
        special: how the kinds are written that are no message: from the value to what the field holds.
    """

    def __init__(
        self,
        messages: Mapping[str, Mapping[str, Field]],
        special: Mapping[str, Callable[[Encoder, Any], bytes]],
    ) -> None:
        self._messages, self._special = messages, special

    def message(self, name: str, plain: Mapping[str, Any]) -> bytes:
        """Raises ``KeyError`` for a key without a place."""
        fields, parts = self._messages[name], []
        for key, value in plain.items():
            if key.startswith(EXTENSION):
                parts.append(wrapped(fields[EXTENSION].number, _pair(key, any_value(value))))
            else:
                parts += self._field(fields[key], value)
        return b"".join(parts)

    def _field(self, field: Field, value: Any) -> Iterable[bytes]:
        """Yield a key's value, as often as a list says; where any value may stand, a list is one value."""
        for each in value if isinstance(value, list) and not field.kind.endswith("value") else (value,):
            if field.entries:
                pairs = (_pair(name, self._nested(field, item)) for name, item in each.items())
                yield wrapped(field.number, b"".join(wrapped(field.entries, pair) for pair in pairs))
            elif field.kind in _SCALARS and not field.inside:
                yield _SCALARS[field.kind](field.number, each)
            else:
                yield wrapped(field.number, self._nested(field, each))

    def _nested(self, field: Field, value: Any) -> bytes:
        """Return the payload of a value, inside of what wraps it."""
        *outer, innermost = field.inside or (0,)
        if field.kind in _SCALARS:
            payload = _SCALARS[field.kind](innermost, value)
        else:
            payload = self._payload(field.kind, value)
            payload = wrapped(innermost, payload) if innermost else payload
        for number in reversed(outer):
            payload = wrapped(number, payload)
        return payload

    def _payload(self, kind: str, value: Any) -> bytes:
        if kind in ("any", "value"):
            return any_value(value)
        if kind == "strings":
            return b"".join(string(1, each) for each in value)
        special = self._special.get(kind)
        return self.message(kind, value) if special is None else special(self, value)


def _pair(name: str, payload: bytes) -> bytes:
    return string(1, name) + wrapped(2, payload)


def any_value(value: Any) -> bytes:
    return wrapped(2, msgspec.json.encode(value) + b"\n")


def wrapped(number: int, payload: bytes) -> bytes:
    return _tag(number, _BYTES) + _varint(len(payload)) + payload


def string(number: int, value: str) -> bytes:
    return wrapped(number, value.encode())


def boolean(number: int, value: bool) -> bytes:
    return _tag(number, _VARINT) + _varint(int(value))


def _integer(number: int, value: int) -> bytes:
    return _tag(number, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def double(number: int, value: float) -> bytes:
    return _tag(number, _DOUBLE) + struct.pack("<d", value)


_SCALARS: Mapping[str, Callable[[int, Any], bytes]] = {
    "string": string,
    "bool": boolean,
    "integer": _integer,
    "double": double,
}


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
