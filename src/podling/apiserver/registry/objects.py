"""Objects in the store: encoded once per revision, decoded at most once.

An entry's ``memo`` holds the values derived from its bytes. A writer passes the memo along with the object,
so only values that were read back from disk are decoded. A large one is decoded for each use: its memo says
that it can be, and holds no object, unless a write or a watch has left it there.

Custom objects are completed when they are decoded: pruned and defaulted by the schema of their storage
version. When the definition has changed since, that is repeated at the next read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import NO_SCHEMAS, ObjectSchema, is_custom
from podling.machinery.errors import ApiError
from podling.store.base import Entry
from podling.store.large_values import LARGE_BYTES


class Stored(Struct, eq=False, gc=False):
    """Values derived from one entry's bytes: the object, and later its other representations."""

    object: Any = None
    """None: the value is large, and is decoded when it is looked at."""
    item_bytes: bytes | None = None
    """The object as an item of a list, encoded at the first use."""
    metadata_bytes: bytes | None = None
    """The object as ``PartialObjectMetadata``, encoded at the first use."""
    schemas: Mapping[str, ObjectSchema] | None = None
    """The schemas that a custom object was completed by; None where there is nothing to complete."""
    completed_bytes: bytes | None = None
    """The JSON of ``object``, if completion has made it another than the stored one."""
    _forms: dict[str, Any] | None = None

    @property
    def forms(self) -> dict[str, Any]:
        """Return the cache of the object in other versions, which is filled on use."""
        if self._forms is None:
            self._forms = {}
        return self._forms


class Writing:
    """One object on its way into the store: takes its revision, is encoded, and becomes the memo."""

    __slots__ = ("memo", "object")

    def __init__(self, obj: Any, *, converted: bool = False) -> None:
        """``converted``: the object comes from another version, and was not completed in this one."""
        self.object = obj
        self.memo = Stored(schemas=NO_SCHEMAS if converted else schemas_of(type(obj)))

    def encode(self, revision: int) -> bytes:
        obj = with_revision(self.object, revision)
        self.memo.object = obj
        return codec.encode(obj)


def with_revision(obj: Any, revision: int) -> Any:
    """``obj`` carrying ``revision`` as its ``metadata.resourceVersion``."""
    metadata = structs.replace(obj.metadata, resource_version=str(revision))
    return structs.replace(obj, metadata=metadata)


def stored(entry: Entry, kind: type[Any], *, keep: bool = False) -> Stored:
    """Return what is known of ``entry``; decode it if that was not done yet, or by another definition.

    That of a large value may lack the object. ``keep``: if it is decoded now, the object stays there.
    Raises ``ApiError`` 500 for a value that is not an object of ``kind``.
    """
    memo: Stored | None = entry.memo
    if memo is not None and (memo.schemas is None or _is_current(memo, kind)):
        return memo
    if why := problem(entry, kind, keep=keep):
        raise errors.corrupt_object(entry.key, entry.revision, why)
    found: Stored = entry.memo
    return found


def is_decoded(entry: Entry, kind: type[Any]) -> bool:
    """Return whether ``stored`` has nothing to do for ``entry``."""
    memo: Stored | None = entry.memo
    return memo is not None and (memo.schemas is None or _is_current(memo, kind))


def lacks_object(entry: Entry) -> bool:
    """Return whether an entry is large and its object is not there: each look decodes it."""
    return len(entry.value) > LARGE_BYTES and (entry.memo is None or entry.memo.object is None)


def problem(entry: Entry, kind: type[Any], *, keep: bool = False) -> str:
    """Decode ``entry``; return why it is not an object of ``kind``, empty if it is one.

    ``keep``: the object stays in the memo also of a large value.
    """
    try:
        found = _decoded(entry, kind)
    except Exception as error:  # any fault of a damaged value concerns this object alone
        return str(error) or type(error).__name__
    keep = keep or len(entry.value) <= LARGE_BYTES or found.schemas is not None
    entry.memo = found if keep else Stored()
    return ""


def schemas_of(kind: type[Any]) -> Mapping[str, ObjectSchema] | None:
    """Return the schemas that objects of ``kind`` are completed by; None for a built-in kind."""
    return kind.custom_resource.schemas if is_custom(kind) else None


def _is_current(memo: Stored, kind: type[Any]) -> bool:
    """Return true if a custom object was completed by the schemas of ``kind``, or ``kind`` has none."""
    wanted = schemas_of(kind)
    return not wanted or memo.schemas is wanted


def _decoded(entry: Entry, kind: type[Any]) -> Stored:
    obj, schemas = codec.decode(entry.value, kind), schemas_of(kind)
    schema = schemas.get(obj.api_version.rpartition("/")[2]) if schemas else None
    if schema is None:
        return Stored(obj, schemas=schemas)
    try:
        content = schema.completed(obj.content)
    except ApiError:
        content = schema.pruned(obj.content)  # too large with defaults: a read shows what there is
    if content == obj.content:
        return Stored(obj, schemas=schemas)
    obj = structs.replace(obj, content=content)
    return Stored(obj, schemas=schemas, completed_bytes=codec.encode(obj))


def object_of(entry: Entry, kind: type[Any]) -> Any:
    """Return the object in ``entry``; shared, never to be changed."""
    memo: Stored | None = entry.memo
    if memo is None or memo.schemas is not None:
        memo = stored(entry, kind, keep=True)
    if memo.object is None:
        memo.object = codec.decode(entry.value, kind)
    return memo.object


def viewed(entry: Entry, kind: type[Any]) -> Any:
    """Return the object in ``entry`` for a short use: that of a large value is not kept."""
    memo: Stored | None = entry.memo
    if memo is None or memo.schemas is not None:
        memo = stored(entry, kind)
    return codec.decode(entry.value, kind) if memo.object is None else memo.object


def encoded(entry: Entry, obj: Any) -> bytes:
    """Return the JSON of ``obj``, which was read from ``entry`` and perhaps converted."""
    memo: Stored | None = entry.memo
    if memo is None or memo.object is not obj:
        return codec.encode(obj)
    return memo.completed_bytes or entry.value


def entry_of(obj: Any) -> Entry:
    """Return an object that is not (or not like this) in the store, as an entry, to be shown in any form."""
    revision = int(obj.metadata.resource_version or 0)
    return Entry("", codec.encode(obj), revision, 0, Stored(obj))
