"""Marks that the generated types carry inside ``Annotated``: how lists and maps merge.

The schema says for each list whether it is replaced as a whole (*atomic*, the default and
therefore unmarked), a *set* of scalars, or a *map* keyed by some fields of its elements; and,
separately, how a strategic merge patch treats it. Patches and server-side apply read these
marks from the types, so nothing about merging is declared a second time.
"""

from __future__ import annotations

from typing import Final


class MergeKey:
    """Strategic merge patch merges this list by one field of its elements.

    ``key`` is the JSON name of that field (``name``, ``mountPath`` ...). An empty key marks a
    list of scalars that is merged as a set (``finalizers``).
    """

    __slots__ = ("key",)

    def __init__(self, key: str = "") -> None:
        self.key: Final = key

    def __repr__(self) -> str:
        return f"MergeKey({self.key!r})"


class ListMap:
    """Server-side apply treats this list as a map; ``keys`` are the JSON names of its key fields."""

    __slots__ = ("keys",)

    def __init__(self, *keys: str) -> None:
        self.keys: Final = keys

    def __repr__(self) -> str:
        return f"ListMap{self.keys!r}"


class _Mark:
    """A mark without parameters, compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __repr__(self) -> str:
        return self.name


LIST_SET: Final = _Mark("LIST_SET")
"""Server-side apply treats this list of scalars as a set."""

ATOMIC_MAP: Final = _Mark("ATOMIC_MAP")
"""This struct or map is owned and replaced as one value by server-side apply."""

GRANULAR_MAP: Final = _Mark("GRANULAR_MAP")
"""The fields of this struct are owned one by one here, though its type is atomic elsewhere."""

RETAIN_KEYS: Final = _Mark("RETAIN_KEYS")
"""A strategic merge patch may list ``$retainKeys`` for this union-like struct."""

QUANTITY: Final = _Mark("QUANTITY")
"""This string is a resource quantity: canonical after decoding, see ``machinery.quantity``."""

BYTES: Final = _Mark("BYTES")
"""This string is the standard base64 encoding of bytes."""

INT32: Final = _Mark("INT32")
"""The integer's range is that of a signed 32-bit number; otherwise it is 64 bits wide."""

MICRO_TIME: Final = _Mark("MICRO_TIME")
"""This timestamp keeps microseconds; plain timestamps are cut to whole seconds."""
"""Without a mark in the schema, a list is atomic and a map is granular."""
