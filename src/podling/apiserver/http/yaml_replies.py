"""Answers in YAML, written in parts: the writer of YAML takes a kilobyte of memory for each value.

Small values are written at once; of large ones each member by itself, indented as the whole would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

AT_ONCE = 2_000
"""Values that are written at once."""

_NULL = b" null\n"


def yaml_of(body: bytes) -> bytes:
    """Return the YAML of JSON, keys in alphabetical order."""
    return b"".join(_parts(msgspec.json.decode(body)))


def _parts(value: Any) -> Iterator[bytes]:
    if not isinstance(value, dict | list) or _is_small(value):
        yield _encoded(value)
    elif isinstance(value, dict):
        yield from _members(value)
    else:
        yield from _items(value)


def _members(value: dict[str, Any]) -> Iterator[bytes]:
    small: dict[str, Any] = {}
    for name in sorted(value):
        item, key = value[name], _encoded({name: None})
        if _is_small(item) or not key.endswith(b":" + _NULL) or key.startswith(b"? "):
            small[name] = item
            if len(small) == AT_ONCE or isinstance(item, dict | list):
                yield _encoded(small)
                small = {}
            continue
        if small:
            yield _encoded(small)
            small = {}
        yield key.removesuffix(_NULL) + b"\n"
        indent = b"  " if isinstance(item, dict) else b""  # the items of a list stand below its name
        yield from (_indented(part, indent) for part in _parts(item))
    if small:
        yield _encoded(small)


def _items(value: list[Any]) -> Iterator[bytes]:
    small: list[Any] = []
    for item in value:
        if _is_small(item):
            small.append(item)
            if len(small) == AT_ONCE or isinstance(item, dict | list):
                yield _encoded(small)
                small = []
            continue
        if small:
            yield _encoded(small)
            small = []
        first = True
        for part in _parts(item):
            text = _indented(part, b"  ")
            yield b"- " + text[2:] if first else text
            first = False
    if small:
        yield _encoded(small)


def _encoded(value: Any) -> bytes:
    return msgspec.yaml.encode(value, order="sorted")


def _indented(text: bytes, indent: bytes) -> bytes:
    """``text`` with each line indented; empty lines, which only texts have, stay empty."""
    if not indent:
        return text
    lines = text.removesuffix(b"\n").split(b"\n")
    return b"\n".join(indent + line if line else line for line in lines) + b"\n"


def _is_small(value: Any) -> bool:
    return _left(value, AT_ONCE) >= 0


def _left(value: Any, left: int) -> int:
    """Return the remainder of ``left`` after counting every value; negative for a value that is too large."""
    left -= 1
    if left < 0 or not isinstance(value, dict | list):
        return left
    for item in value.values() if isinstance(value, dict) else value:
        left = _left(item, left)
        if left < 0:
            break
    return left
