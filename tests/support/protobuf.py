"""Protobuf messages read back: fields by their numbers, and the pairs that OpenAPI's maps become."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

Message = dict[int, list[Any]]


def fields(data: bytes) -> Message:
    """Return each field's values of a message: integers as int, doubles as float, all else as bytes."""
    found: Message = {}
    for number, value in pieces(data):
        found.setdefault(number, []).append(value)
    return found


def pieces(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value: Any
            value, at = varint(data, at)
        elif tag & 7 == 1:
            (value,), at = struct.unpack("<d", data[at : at + 8]), at + 8
        else:
            assert tag & 7 == 2, "there are numbers, texts and messages only"
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size
        yield tag >> 3, value


def varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def text(message: Message, number: int) -> str:
    return str(message[number][0], "utf-8")


def pairs(message: Message, number: int) -> dict[str, bytes]:
    """Return a map, which is written as repeated pairs of name and value."""
    found = {}
    for each in message.get(number, ()):
        pair = fields(each)
        found[text(pair, 1)] = pair[2][0]
    return found


def extensions(message: Message, number: int) -> dict[str, Any]:
    return {
        name: json.loads(text(fields(value), 2))  # the text is YAML to its readers, and JSON is YAML
        for name, value in pairs(message, number).items()
    }
