"""Ownership of a new object's fields: its ``fieldsV1``, and its first entry.

Every created object gets one, and many come from one template: the result for one is cached for those that
differ from it in their names alone.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any, cast

from msgspec import Raw, json
from msgspec.structs import replace

from podling.api.meta_v1 import ManagedFieldsEntry
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import object_shape
from podling.machinery.encoding.raw_fields import raw_json
from podling.machinery.encoding.shapes import Shape
from podling.machinery.patches.field_trees import maker_of
from podling.machinery.patches.fieldsets import SchemaError
from podling.machinery.patches.managed_entries import FIELDS_V1, UPDATE, Writer

SHARED_MAX, SHARED_BYTES = 4096, 4096
"""So many different trees of fields of up to this size are kept once for all the objects that have them."""
TEMPLATES_MAX = 512
"""Of so many objects created last the fields are remembered, by all that they say but their names."""

HEAD = frozenset({"apiVersion", "kind", "metadata"})
HEAD_OF_METADATA = frozenset({
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
    "managedFields", "resourceVersion",
})  # fmt: skip
"""Fields without an owner: they identify the object, or only the server writes them."""


def first_entry(new: Any, type_: type[Any], writer: Writer) -> ManagedFieldsEntry | None:
    """Return the entry of ``track_update`` for ``writer`` creating ``new``, which has no entries.

    None when there is nothing to own, or for an object with items that lack their keys.
    """
    nameless = replace(new, metadata=replace(new.metadata, name="", namespace=""))
    try:
        fields = _owned_in(codec.encode(nameless), type_, writer.ignored)
    except SchemaError:
        return None
    if fields is None:
        return None
    return ManagedFieldsEntry(
        manager=writer.manager,
        operation=UPDATE,
        api_version=writer.api_version,
        subresource=writer.subresource,
        time=writer.now.replace(microsecond=0),
        fields_type=FIELDS_V1,
        fields_v1=fields,
    )


def _owned_in(written: bytes, type_: type[Any], ignored: tuple[str, ...]) -> Raw | None:
    """``fieldsV1`` of a new object; None for no fields.

    What is made from one template, and in numbers, differs in names only.
    """
    if len(written) > SHARED_BYTES:
        return _walked(written, type_, ignored)
    return _remembered(written, cast("Hashable", type_), ignored)


def _walked(written: bytes, type_: type[Any], ignored: tuple[str, ...]) -> Raw | None:
    fields = fields_of_new(json.decode(written), object_shape(type_), ignored)
    if not fields:
        return None
    found = raw_json(fields)
    return _shared(encoded) if len(encoded := bytes(found)) <= SHARED_BYTES else found


_remembered = lru_cache(TEMPLATES_MAX)(_walked)


@lru_cache(SHARED_MAX)
def _shared(fields: bytes) -> Raw:
    """The same JSON for the same fields: objects of one template differ in their values, and are many."""
    return Raw(fields)


def fields_of_new(plain: Any, shape: Shape, ignored: tuple[str, ...]) -> dict[str, Any]:
    """``fieldsV1`` of the writer of a whole new object, without the detour over a set of paths."""
    metadata = plain.get("metadata", {})
    mine = {name: plain[name] for name in plain if name not in ignored and name not in HEAD}
    own = {name: metadata[name] for name in metadata if name not in HEAD_OF_METADATA}
    make = maker_of(shape, given=shape.fields is None)
    return make({**mine, "metadata": own} if own else mine) if make is not None else {}
