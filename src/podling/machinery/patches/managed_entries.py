"""The entries of ``metadata.managedFields``: read, kept few, ordered and written. Pure.

Source of the rules: ``managedfields.go`` and ``capmanagers.go`` of
``apimachinery/pkg/util/managedfields/internal``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from podling.machinery.patches import fieldsets
from podling.machinery.patches.fieldsets import FieldSet, SchemaError

APPLY = "Apply"
UPDATE = "Update"
FIELDS_V1 = "FieldsV1"
ANCIENT_CHANGES = "ancient-changes"
MAX_UPDATE_MANAGERS = 10


class Writer(Struct, frozen=True):
    """A write: its manager, its time, and the part of the object."""

    manager: str
    now: datetime
    api_version: str
    subresource: str = ""
    ignored: tuple[str, ...] = ()
    """Top-level fields that this request cannot write: ``status`` on the main resource, ``spec`` on
    the status subresource. The write owns none of them."""


class Entry(Struct, frozen=True):
    """One entry of ``metadata.managedFields``."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    fields: FieldSet
    rest: dict[str, Any] = {}
    """The part of its ``fieldsV1`` that was not looked into, because the write does not touch it."""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Return the identity of a manager: appliers are the same in any version, updaters differ by it."""
        version = "" if self.operation == APPLY else self.api_version
        return self.operation, self.manager, self.subresource, version


def unreadable(written: Any) -> str:
    """Return the reason why these entries cannot be read; empty if they can."""
    for position, each in enumerate(written or ()):
        kind = each.get("fieldsType") or ""
        if each.get("operation") not in (APPLY, UPDATE):
            return "operation must be `Apply` or `Update`"
        if not each.get("apiVersion"):
            return "apiVersion must not be empty"
        if not kind:
            return f"missing fieldsType in managed fields entry {position}"
        if kind != FIELDS_V1:
            return f'invalid fieldsType "{kind}" in managed fields entry {position}'
    return ""


def entries_in(written: Any, touched: Collection[str] | None = None) -> list[Entry]:
    """Return the entries in ``managedFields``; none at all if one of them cannot be read.

    With ``touched``, top-level elements beside those are kept as they are written.
    """
    if unreadable(written):
        return []
    found = []
    if written and len(written) > MAX_UPDATE_MANAGERS:
        touched = None  # some of them may have to be joined
    for each in written or ():
        tree = each.get("fieldsV1", {})
        seen = tree if touched is None else {name: tree[name] for name in tree if name in touched}
        try:
            fields = fieldsets.decode(seen)
        except SchemaError:
            return []
        found.append(
            Entry(
                each.get("manager", ""),
                each["operation"],
                each["apiVersion"],
                each.get("subresource", ""),
                each.get("time", ""),
                fields,
                {name: tree[name] for name in tree if name not in seen},
            )
        )
    return found


def capped(entries: list[Entry]) -> list[Entry]:
    """The oldest updaters become one for each version when there are too many to remember."""
    updaters = [each for each in entries if each.operation == UPDATE]
    updaters.sort(key=lambda each: (each.time, _written_identity(each)))
    surplus, kept = len(updaters) - MAX_UPDATE_MANAGERS, list(entries)
    buckets: dict[str, Entry] = {}
    for each in updaters:
        if surplus <= 0:
            break
        known = buckets.get(each.api_version)
        if known is None:
            buckets[each.api_version] = each  # the first of a version stays as it is until a second one comes
            continue
        fields = each.fields | known.fields
        joined = replace(each, manager=ANCIENT_CHANGES, subresource="", fields=fields)
        kept = [one for one in kept if one is not known and one is not each] + [joined]
        buckets[each.api_version] = joined
        surplus -= 1
    return kept


def _written_identity(entry: Entry) -> tuple[str, str, str]:
    """Entries of one second come in the order of their identities as JSON, where a name ends with a quote."""
    return f'{entry.manager}"', entry.api_version, entry.subresource


def unmanaged(plain: Any) -> Any:
    """Return the object without its entries."""
    metadata = plain.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return plain
    return {**plain, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def with_entries(plain: Any, entries: Iterable[Entry]) -> Any:
    """Return the object with these entries, in the order of Kubernetes."""
    result = {**unmanaged(plain)}
    kept = [each for each in entries if each.fields or each.rest]
    kept.sort(key=lambda each: (each.operation, each.time, each.manager, each.api_version, each.subresource))
    result["metadata"] = {**result.get("metadata", {})}
    if kept:
        result["metadata"]["managedFields"] = [_written(each) for each in kept]
    return result


def _written(entry: Entry) -> dict[str, Any]:
    written = {
        "manager": entry.manager,
        "operation": entry.operation,
        "apiVersion": entry.api_version,
        **({"time": entry.time} if entry.time else {}),
        "fieldsType": FIELDS_V1,
        "fieldsV1": dict(sorted((fieldsets.encode(entry.fields) | entry.rest).items())),
    }
    return written | ({"subresource": entry.subresource} if entry.subresource else {})
