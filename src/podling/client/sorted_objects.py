"""Objects by key that are always at hand in key order.

Changing an object, which is what happens most, moves nothing: only coming and going touches the order. So
reading all of them costs no sorting, however often they change in between.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Generic, TypeVar

from podling.client.base import Key

T = TypeVar("T")


class SortedObjects(Generic[T]):
    """A map from keys to objects, read in key order."""

    __slots__ = ("_keys", "_objects")

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._keys: list[Key] = []

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def put(self, key: Key, obj: T) -> None:
        if key not in self._objects:
            insort(self._keys, key)
        self._objects[key] = obj

    def pop(self, key: Key) -> T | None:
        """Take the object out and return it; None if there is none."""
        obj = self._objects.pop(key, None)
        if obj is not None:
            del self._keys[bisect_left(self._keys, key)]
        return obj

    def values(self) -> tuple[T, ...]:
        """Return every object, in key order."""
        return tuple(map(self._objects.__getitem__, self._keys))

    def keys(self) -> tuple[Key, ...]:
        return tuple(self._keys)
