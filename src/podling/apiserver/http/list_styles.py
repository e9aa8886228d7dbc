"""Lists that come in pieces, as indented JSON or YAML: each piece by itself, so that no list is there whole.

A piece is some items of the list with commas between them; the first has what comes before the items, the
last what comes after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import msgspec

from podling.apiserver.http.negotiation import JSON
from podling.apiserver.http.yaml_replies import yaml_parts

_items = re.compile(rb'"(items|rows)":\[').search
_END = b"]}"


def styled(pieces: Iterator[bytes], media_type: str) -> Iterator[bytes]:
    """Return the list in ``pieces`` as indented JSON or as YAML, in pieces of its own."""
    first = next(pieces)
    found = _items(first)
    if found is None:
        raise ValueError("the first piece of a list has no items")
    head, name = first[: found.end()] + _END, found[1].decode()
    blocks = _blocks(chain((first[found.end() :],), pieces))
    return _indented(head, blocks) if media_type == JSON else _yaml(head, name, blocks)


def _blocks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the items of each piece as a list."""
    last = next(pieces)
    for piece in pieces:
        yield b"[" + last.removeprefix(b",") + b"]"
        last = piece
    yield b"[" + last.removeprefix(b",").removesuffix(_END) + b"]"


def _indented(head: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    before, after = msgspec.json.format(head, indent=2).rsplit(b"[]", 1)
    yield before + b"["
    separator = b"\n"
    for block in blocks:
        lines = msgspec.json.format(block, indent=2).removeprefix(b"[\n").removesuffix(b"\n]")
        yield separator + b"  " + lines.replace(b"\n", b"\n  ")
        separator = b",\n"
    yield b"\n  ]" + after


def _yaml(head: bytes, name: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Keys in alphabetical order, as everywhere in YAML: what comes before the items, they, and the rest."""
    fields = msgspec.json.decode(head)
    before = {key: value for key, value in fields.items() if key < name}
    after = {key: value for key, value in fields.items() if key > name}
    yield msgspec.yaml.encode(before, order="sorted") + name.encode() + b":\n"
    for block in blocks:
        yield from yaml_parts(block)
    if after:
        yield msgspec.yaml.encode(after, order="sorted")
