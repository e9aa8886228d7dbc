"""Server-side apply: several writers share one object, and each owns the fields it set.

An applier sends the fields that it wants to own, and nothing else. They are merged into the live object;
fields of its last apply that it does not send any more are removed, unless another manager owns them, too;
changing a field of another manager is a conflict, unless the applier forces it. Ownership
is kept in ``metadata.managedFields``, one entry per writer.

Everything here is pure, over plain data guided by the types. Objects of one resource are taken to
have one version: the paths of an entry written through another version are read as they are.
Source of the rules: ``structured-merge-diff/merge`` and ``apimachinery/pkg/util/managedfields``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from podling.api.meta_v1 import StatusCause, StatusDetails
from podling.machinery.encoding import codec, custom
from podling.machinery.encoding.custom import object_shape
from podling.machinery.encoding.plain import copied, equal
from podling.machinery.encoding.shapes import Kind, Shape, per_type
from podling.machinery.errors import ApiError, bad_request, failure
from podling.machinery.patches import fieldsets, last_applied
from podling.machinery.patches.creations import HEAD, HEAD_OF_METADATA, fields_of_new
from podling.machinery.patches.fieldsets import NOTHING, FieldSet, SchemaError
from podling.machinery.patches.managed_entries import (
    APPLY,
    UPDATE,
    Entry,
    Writer,
    capped,
    entries_in,
    unmanaged,
    with_entries,
)
from podling.machinery.patches.typed_values import mistakes

BEFORE_FIRST_APPLY = "before-first-apply"
_NOBODYS = frozenset([(f"f:{name}",) for name in HEAD]) | {
    ("f:metadata", f"f:{name}") for name in HEAD_OF_METADATA
}
"""Fields without an owner: they identify the object, or only the server writes them."""


class _Null:
    """The value of null in an applied configuration: the writer owns the field, and it is empty."""


NULL: Any = _Null()


def with_nulls(said: Any, normal: Any) -> Any:
    """``normal`` with ``NULL`` for every field that ``said`` has as null, and normalizing has dropped."""
    if isinstance(said, dict) and isinstance(normal, dict):
        marked = {name: with_nulls(said.get(name), item) for name, item in normal.items()}
        return marked | {name: NULL for name, item in said.items() if item is None and name not in normal}
    if isinstance(said, list) and isinstance(normal, list) and len(said) == len(normal):
        return [with_nulls(*each) for each in zip(said, normal, strict=True)]
    return normal


def _without_nulls(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {name: _without_nulls(item) for name, item in plain.items() if item is not NULL}
    return [_without_nulls(item) for item in plain] if isinstance(plain, list) else plain


def check_intent(applied: Any, type_: type[Any], writer: Writer) -> None:
    """Refuse what cannot be applied at all. ``applied`` is what the writer sent, as it was sent.

    Raises ``ApiError``: 400 for an intent that claims ownership, 500 for one that is not of its type.
    """
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if wrong := mistakes(applied, object_shape(type_)):
        raise _untyped(applied, type_, writer, wrong)


def cannot_convert(applied: Any, type_: type[Any], writer: Writer, why: str) -> ApiError:
    """500 for an intent that is of its type as far as the schema goes, and makes no object all the same."""
    place, kind = _place_and_kind(applied, type_, writer)
    text = f"unable to convert unstructured object to {kind}: {why}"
    return failure(500, "", f"failed to convert new object ({place}; {kind}) to proper version: {text}")


def _untyped(applied: Any, type_: type[Any], writer: Writer, why: str, what: str = "patch") -> ApiError:
    place, kind = _place_and_kind(applied, type_, writer)
    return failure(500, "", f"failed to create typed {what} object ({place}; {kind}): {why}")


def _place_and_kind(applied: Any, type_: type[Any], writer: Writer) -> tuple[str, str]:
    metadata, (group, _, version) = applied.get("metadata"), writer.api_version.rpartition("/")
    said = metadata if isinstance(metadata, dict) else {}
    return f"{said.get('namespace', '')}/{said.get('name', '')}", f"{group}/{version}, Kind={type_.__name__}"


def apply(live: Any | None, applied: Any, type_: type[Any], writer: Writer, *, force: bool = False) -> Any:
    """Return the object after ``writer`` applied its intent; ``live`` itself if that changes nothing.

    ``applied`` must have been checked (``check_intent``) and be normal (``intake.normalized``), with its
    nulls marked (``with_nulls``). Raises ``ApiError``: 409 with one cause per conflicting field, 500 for a
    live object that is none of its type.
    """
    shape = object_shape(type_)
    try:
        mine = fieldsets.fields_in(applied, shape)
    except SchemaError as error:
        raise _untyped(applied, type_, writer, str(error)) from None
    try:
        return _apply(live, applied, mine, shape, writer, force)
    except SchemaError as error:
        raise _untyped(live, type_, writer, str(error), "live") from None


def _apply(live: Any | None, intent: Any, mine: FieldSet, shape: Shape, writer: Writer, force: bool) -> Any:
    intent = {key: value for key, value in intent.items() if key not in writer.ignored}
    mine = _counted(mine, writer)
    entries = _entries_before_apply(live, shape, writer)
    me = Entry(writer.manager, APPLY, writer.api_version, writer.subresource, _text(writer.now), mine)
    last = next((each for each in entries if each.identity == me.identity), None)
    others = [each for each in entries if each.identity != me.identity]
    before = {} if live is None else live
    merged = _merge(before, intent, shape)
    if last:
        merged = _pruned(merged, shape, last.fields, [me, *others])
    comparison = fieldsets.compare(before, merged, shape)
    if not force and live is not None and writer.manager == last_applied.KUBECTL:
        others = _yield_but_to_oneself(others, comparison, live, shape, writer)
    else:
        others = _yield_to(others, comparison, force=force)
    me, merged = replace(me, fields=me.fields - _NOBODYS), _without_nulls(merged)
    if live is not None and equal(before, merged):
        if me.fields == (last.fields if last else NOTHING):
            return live
        me = replace(me, time=last.time if last else "")  # who changes nothing has not been here
    return with_entries(merged, [*others, me])


def _counted(fields: FieldSet, writer: Writer) -> FieldSet:
    """Without what this request cannot write."""
    ignored = {f"f:{name}" for name in writer.ignored}
    return frozenset(path for path in fields if path[:1] and path[0] not in ignored)


def merged(live: Any, intent: Any, type_: type[Any]) -> Any:
    """Return ``live`` with every field of ``intent``, and unchanged ownership.

    Both must be normal. Raises ``SchemaError`` for what the type does not have.
    """
    shape = object_shape(type_)
    fieldsets.fields_in(intent, shape)
    return _merge(live, intent, shape)


def atomics(intent: Any, type_: type[Any]) -> list[str]:
    """Return the paths of atomic lists, maps and structs in ``intent``, which are replaced as a whole."""
    return list(fieldsets.atomics(intent, object_shape(type_)))


def track_update(live: Any | None, new: Any, type_: type[Any], writer: Writer) -> Any:
    """Return ``new`` with the ownership that follows from an ordinary write (create, update, patch).

    The writer owns the fields that it changed; their former owners lose them. ``new`` may carry
    managed fields of its own; one empty entry resets them. An object with items that lack their keys keeps
    the record that it had: a write is never refused for the sake of bookkeeping.
    """
    try:
        return _track_update(live, new, object_shape(type_), writer)
    except SchemaError:
        return _with_record_of(live, new)


def _track_update(live: Any | None, new: Any, shape: Shape, writer: Writer) -> Any:
    given = new.get("metadata", {}).get("managedFields")
    if given == [{}]:
        return with_entries(new, [])
    me = Entry(writer.manager, UPDATE, writer.api_version, writer.subresource, _text(writer.now), NOTHING)
    if live is None and not given:
        return with_entries(new, [replace(me, rest=fields_of_new(new, shape, writer.ignored))])
    before, after = unmanaged(live or _zero(shape)), unmanaged(new)
    touched = {
        f"f:{name}"
        for name in before.keys() | after.keys()
        if name not in writer.ignored and before.get(name) != after.get(name)
    }
    known = live.get("metadata", {}).get("managedFields") if live else None
    entries = entries_in(given, touched if given == known else None) or entries_in(known, touched)
    if live is None and not entries:
        return with_entries(new, [replace(me, rest=fields_of_new(after, shape, writer.ignored))])
    comparison = fieldsets.compare(_only(before, touched), _only(after, touched), shape)
    last = next((each for each in entries if each.identity == me.identity), None)
    others = _yield_to([each for each in entries if each is not last], comparison, force=True)
    gained = (comparison.added | comparison.modified) - _NOBODYS
    owned = ((last.fields if last else NOTHING) | gained) - comparison.removed
    me = replace(me, fields=owned, time=me.time if gained or not last else last.time)
    return with_entries(new, capped([*others, replace(me, rest=last.rest) if last else me]))


def _with_record_of(live: Any | None, new: Any) -> Any:
    """``new`` with the entries of ``live``, as they are written there."""
    known = live.get("metadata", {}).get("managedFields") if live else None
    bare = unmanaged(new)
    return {**bare, "metadata": {**bare["metadata"], "managedFields": known}} if known else bare


def _only(plain: Any, touched: Collection[str]) -> Any:
    """The top-level fields that differ: an equal ``spec`` need not be walked to learn that it is equal."""
    return {name: value for name, value in plain.items() if f"f:{name}" in touched}


def _zero(shape: Shape) -> Any:
    """Return an object without owned fields. Structs that are always present have no owner."""
    return {} if shape.struct is None or custom.is_custom(shape.struct) else _zero_of(shape.struct)


@per_type
def _zero_of(struct: type[Any]) -> Any:
    return codec.to_plain(struct())


def _entries_before_apply(live: Any | None, shape: Shape, writer: Writer) -> list[Entry]:
    """Return the entries of the live object; without any, an unknown manager owns all fields."""
    if live is None:
        return []
    entries = entries_in(live.get("metadata", {}).get("managedFields"))
    if entries:
        return entries
    comparison = fieldsets.compare(_zero(shape), unmanaged(live), shape)
    fields = _counted(frozenset(comparison.added | comparison.modified) - _NOBODYS, writer)
    before = Entry(
        BEFORE_FIRST_APPLY, UPDATE, writer.api_version, writer.subresource, _text(writer.now), fields
    )
    return [before] if fields else []


def _merge(live: Any, intent: Any, shape: Shape) -> Any:
    """The live object with everything in it that the intent says; null empties only what is one value."""
    if fieldsets.is_leaf(live, shape):
        return copied(intent)
    if fieldsets.is_leaf(intent, shape):
        return copied(live if live and (intent is NULL or intent is None) else intent)
    old: dict[str, list[Any]] = {}
    for element, item, _ in fieldsets.parts(live, shape, ()):
        old.setdefault(element, []).append(item)
    new = {
        element: [_merge(old[element][0], item, inner) if element in old else copied(item)]
        for element, item, inner in fieldsets.parts(intent, shape, ())
    }
    merged = {element: copied(items) for element, items in old.items()} | new
    if shape.kind is not Kind.LIST:
        return {element[2:]: item for element, (item,) in merged.items()}
    return [item for element in _interleaved(list(old), list(new)) for item in merged[element]]


def _interleaved(live: list[str], intent: list[str]) -> list[str]:
    """Items in the intent's order; those of the live list alone as early as they can come."""
    wanted = set(intent)
    shared = [item for item in intent if item in set(live)]
    result: list[str] = []
    left, right = list(live), list(intent)
    while left or right:
        if left and left[0] not in wanted:
            result.append(left.pop(0))
        elif left and right and left[0] != right[0] and left[0] != shared[0]:
            left.pop(0)  # the intent moved it: it comes where the intent has it
        elif right:
            item = right.pop(0)
            result.append(item)
            if shared and item == shared[0]:
                shared.pop(0)
            if left and left[0] == item:
                left.pop(0)
        else:
            left.pop(0)
    return result


def _pruned(merged: Any, shape: Shape, last: FieldSet, owners: Iterable[Entry]) -> Any:
    """Remove the fields that the writer owned before and that have no owner now."""
    owned = fieldsets.with_named_parents(path for owner in owners for path in owner.fields)
    return fieldsets.without(merged, shape, fieldsets.with_named_parents(last) - owned)


def _yield_to(others: Iterable[Entry], comparison: fieldsets.Comparison, *, force: bool) -> list[Entry]:
    """Return the other owners after the change. Raises the conflict if they own what changes."""
    changed = comparison.added | comparison.modified
    conflicts = [(each, path) for each in others for path in sorted(each.fields & changed)]
    if conflicts and not force:
        raise _conflict(conflicts)
    left = [replace(each, fields=each.fields - changed - comparison.removed) for each in others]
    return [each for each in left if each.fields or each.rest]


def _yield_but_to_oneself(
    others: Sequence[Entry], comparison: fieldsets.Comparison, live: Any, shape: Shape, writer: Writer
) -> list[Entry]:
    """Call ``_yield_to`` for kubectl, whose client-side applies count as its own."""
    try:
        return _yield_to(others, comparison, force=False)
    except ApiError:
        own = last_applied.applied_before(unmanaged(live), shape, writer.api_version)
        if own is None:
            raise
    changed = comparison.added | comparison.modified
    conflicts = [(each, path) for each in others for path in sorted((each.fields & changed) - own)]
    if conflicts:
        raise _conflict(conflicts)
    return _yield_to(others, comparison, force=True)


def _conflict(conflicts: list[tuple[Entry, fieldsets.Path]]) -> ApiError:
    causes = tuple(
        StatusCause(
            reason="FieldManagerConflict",
            message=f"conflict with {_name_of(owner)}",
            field_=fieldsets.text_of(path),
        )
        for owner, path in conflicts
    )
    if len(conflicts) == 1:
        text = f"1 conflict: {causes[0].message}: {causes[0].field_}"
    else:
        by_owner: dict[str, list[str]] = {}
        for owner, path in sorted(conflicts, key=lambda each: _sort_key(each[0])):
            by_owner.setdefault(_name_of(owner), []).append(f"- {fieldsets.text_of(path)}")
        listed = (f"conflicts with {name}:\n" + "\n".join(paths) for name, paths in by_owner.items())
        text = f"{len(conflicts)} conflicts: " + "\n".join(listed)
    return failure(409, "Conflict", f"Apply failed with {text}", StatusDetails(causes=causes))


def _sort_key(owner: Entry) -> tuple[str, str, str, str]:
    """Owners come in the order of their entries as JSON, where the name is first and ends with a quote."""
    return f'{owner.manager}"', owner.operation, owner.identity[-1], owner.subresource


def _name_of(owner: Entry) -> str:
    name = f'"{owner.manager}"'
    if owner.subresource:
        name += f' with subresource "{owner.subresource}"'
    return f"{name} using {owner.api_version}" if owner.operation == UPDATE else name


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
