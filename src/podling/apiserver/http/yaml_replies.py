"""Answers in YAML, written in parts: the writer of YAML takes about 5 us and a kilobyte of memory a value.

Small values are written together; of large ones each member by itself, indented as the whole would be. Each
part takes 2 to 5 ms, so that an answer is written in turns of the event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from podling import turns

AT_ONCE = 500
"""Values that are written at once."""

VALUE_BYTES = 256
"""A text of this length takes as long as another value."""

WAITS_FROM_BYTES = 2048
"""A shorter answer, of few values, is written without waiting for a turn."""

PART_BYTES = turns.SHORT_BYTES + 1
"""To write a part takes longer than to send as many bytes."""

_NULL = b" null\n"

T = TypeVar("T")


async def yaml_of(body: bytes) -> bytes:
    """Return the YAML of JSON, keys in alphabetical order."""
    if len(body) < WAITS_FROM_BYTES:
        return _encoded(msgspec.json.decode(body))
    return b"".join([part async for part in _in_turns(yaml_parts(body))])


async def _in_turns(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    while True:
        await turns.take(PART_BYTES)
        part = next(parts, None)
        if part is None:
            return
        yield part


def yaml_parts(body: bytes) -> Iterator[bytes]:
    """Yield the YAML of JSON, keys in alphabetical order."""
    return _parts(msgspec.json.decode(body))


def _parts(value: Any) -> Iterator[bytes]:
    if not isinstance(value, dict | list) or _is_small(value):
        yield _encoded(value)
    elif isinstance(value, dict):
        yield from _members(value)
    else:
        yield from _items(value)


class _Together(Generic[T]):
    """Small values that are written at once. ``join``: makes the container of them."""

    def __init__(self, join: Callable[[list[T]], Any]) -> None:
        self._join = join
        self._found: list[T] = []
        self._left = AT_ONCE

    def add(self, value: Any, member: T) -> Iterable[bytes]:
        """Add a value; returns what comes before it, if it does not fit."""
        left = _left(value, self._left)
        before = self.written() if left < 0 else ()
        self._left = _left(value, self._left) if before else left
        self._found.append(member)
        return before

    def written(self) -> tuple[bytes, ...]:
        """Return the YAML of what was added since the last call: one part, or none."""
        if not self._found:
            return ()
        part = _encoded(self._join(self._found))
        self._found, self._left = [], AT_ONCE
        return (part,)


def _members(value: dict[str, Any]) -> Iterator[bytes]:
    together = _Together[tuple[str, Any]](dict)
    for name in sorted(value):
        item = value[name]
        if not isinstance(item, dict | list) or _is_small(item):
            yield from together.add(item, (name, item))
            continue
        yield from together.written()
        key = _encoded({name: None})
        yield key.removesuffix(_NULL) + b"\n"
        # The items of a list stand below its name; below a name that takes several lines they need a space.
        indent = b"  " if isinstance(item, dict) or key.startswith(b"? ") else b""
        yield from (_indented(part, indent) for part in _parts(item))
    yield from together.written()


def _items(value: list[Any]) -> Iterator[bytes]:
    together = _Together[Any](list)
    for item in value:
        if not isinstance(item, dict | list) or _is_small(item):
            yield from together.add(item, item)
            continue
        yield from together.written()
        first = True
        for part in _parts(item):
            text = _indented(part, b"  ")
            yield b"- " + text[2:] if first else text
            first = False
    yield from together.written()


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
    if isinstance(value, str):
        return left - 1 - len(value) // VALUE_BYTES
    left -= 1
    if left < 0 or not isinstance(value, dict | list):
        return left
    for item in value.values() if isinstance(value, dict) else value:
        left = _left(item, left)
        if left < 0:
            break
    return left
