"""Objects as the store keeps them: encoded once per revision, decoded at most once.

An entry's ``memo`` holds what was derived from its bytes. Whoever writes an object hands the memo
over with it, so that decoding happens only for what was read back from disk.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from podling.machinery import codec
from podling.store.base import Entry


class Stored(Struct, eq=False, gc=False):
    """What is derived from one entry's bytes: the object, and later its other representations."""

    object: Any = None
    item_bytes: bytes | None = None
    """The object as lists have it, once somebody has asked for one."""
    metadata_bytes: bytes | None = None
    """The object as ``PartialObjectMetadata``, once somebody has asked for it."""
    _forms: dict[str, Any] | None = None

    @property
    def forms(self) -> dict[str, Any]:
        """The object in other versions, as far as somebody has asked for them."""
        if self._forms is None:
            self._forms = {}
        return self._forms


class Writing:
    """One object on its way into the store: takes its revision, is encoded, and becomes the memo."""

    __slots__ = ("memo", "object")

    def __init__(self, obj: Any) -> None:
        self.object = obj
        self.memo = Stored()

    def encode(self, revision: int) -> bytes:
        obj = with_revision(self.object, revision)
        self.memo.object = obj
        return codec.encode(obj)


def with_revision(obj: Any, revision: int) -> Any:
    """``obj`` carrying ``revision`` as its ``metadata.resourceVersion``."""
    metadata = structs.replace(obj.metadata, resource_version=str(revision))
    return structs.replace(obj, metadata=metadata)


def stored(entry: Entry, kind: type[Any]) -> Stored:
    """What is known of ``entry``, decoding it if nobody has yet."""
    memo: Stored | None = entry.memo
    if memo is None:
        memo = entry.memo = Stored(codec.decode(entry.value, kind))
    return memo


def object_of(entry: Entry, kind: type[Any]) -> Any:
    """The object in ``entry``; shared, never to be changed."""
    memo: Stored | None = entry.memo
    return memo.object if memo is not None else stored(entry, kind).object


def entry_of(obj: Any) -> Entry:
    """An object that is not (or not like this) in the store, as an entry, to be shown in any form."""
    revision = int(obj.metadata.resource_version or 0)
    return Entry("", codec.encode(obj), revision, 0, Stored(obj))
