"""Field ownership: ``metadata.managedFields`` of written objects, and server-side apply.

Writes with a manager name are recorded; every request over HTTP has one. The components inside this process
give no name. They are recorded only on objects that already have a record: on all others no client reads it,
and the record would be larger than the object. A write is recorded before admission, so fields that admission
sets have no manager.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import structs

from podling.api.meta_v1 import ManagedFieldsEntry
from podling.apiserver.kinds.common.metadata import keep_server_metadata
from podling.client.requests import Patch, Target, User, WriteOptions
from podling.machinery import errors, fields
from podling.machinery.encoding import bodies, codec
from podling.machinery.encoding.custom import is_custom
from podling.machinery.encoding.raw_fields import raw_entries
from podling.machinery.scheme import Resource

NODE_USER = "system:node:"
ACCOUNT_USER = "system:serviceaccount:"
DAMAGED = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated "
    "mutating admission controller; please fix your requests"
)


def with_managed_fields(
    old: Any | None, new: Any, target: Target, writer: tuple[WriteOptions, User], now: datetime
) -> Any:
    """Return ``new`` with this write added to its ``managedFields``.

    Recording begins when a named writer creates the object or a client applies it: an update of an object
    without a record does not start one. A body may change the record only through the main resource.
    """
    options, user = writer
    if options.apply:
        return new
    if target.subresource and old is not None:
        new = _with_record(new, old.metadata.managed_fields)
    known = bool(new.metadata.managed_fields) or (old is not None and bool(old.metadata.managed_fields))
    if not (known or (old is None and options.field_manager)):
        return new
    if old is not None and (same := _unchanged(new, old)) is not None:
        return same
    if old is not None and not old.metadata.managed_fields and _unreadable(new):
        return _with_record(new, ())
    kind = target.resource.storage_resource.type
    who = _writer(target, options.field_manager or component_name(user), now)
    if old is None and not known:
        from podling.machinery.patches.creations import first_entry  # loaded with the first recorded write

        entry = first_entry(new, kind, who)
        if entry is None:
            return new
        return _with_record(new, (entry,))
    from podling.machinery.patches import apply

    plain = apply.track_update(None if old is None else codec.to_plain(old), codec.to_plain(new), kind, who)
    entries = raw_entries(plain["metadata"].get("managedFields", []))
    return _with_record(new, codec.from_plain(entries, tuple[ManagedFieldsEntry, ...]))


def _unchanged(new: Any, old: Any) -> Any | None:
    """``new`` with the record of ``old``, if it says nothing else than that."""
    entries = old.metadata.managed_fields
    if new.metadata.managed_fields not in ((), entries):
        return None
    same = _with_record(new, entries)
    return same if keep_server_metadata(same, old) == old else None


def differs_only_in_times(new: Any, old: Any) -> bool:
    """Return whether ``new`` differs from ``old`` in the times of its managed fields only."""
    entries, before = new.metadata.managed_fields, old.metadata.managed_fields
    if len(entries) != len(before) or entries == before:
        return False
    if any(
        structs.replace(each, time=None) != structs.replace(was, time=None)
        for each, was in zip(entries, before, strict=True)
    ):
        return False
    return bool(_with_record(new, before) == old)


def with_readable_managed_fields(admitted: Any, before: Any, options: WriteOptions) -> Any:
    """Return the object after admission; if its ``managedFields`` became unreadable, with those of before."""
    entries, record = admitted.metadata.managed_fields, before.metadata.managed_fields
    if entries is record or entries == record:
        return admitted
    if why := _unreadable(admitted):
        options.warnings.append(f"{DAMAGED}: {why}")
        return _with_record(admitted, record)
    return admitted


def _unreadable(obj: Any) -> str:
    """Return the reason for which the object's ``managedFields`` cannot be decoded, or ""."""
    from podling.machinery.patches import managed_entries

    return managed_entries.unreadable(codec.to_plain(obj)["metadata"].get("managedFields"))


def _with_record(obj: Any, entries: tuple[ManagedFieldsEntry, ...]) -> Any:
    return structs.replace(obj, metadata=structs.replace(obj.metadata, managed_fields=entries))


def applied(old: Any | None, patch: Patch, target: Target, options: WriteOptions, now: datetime) -> Any:
    """Return the object after a server-side apply; ``old`` itself if nothing changes.

    Raises 409 for conflicts, 422 for an applier without a name.
    """
    from podling.machinery.encoding import intake
    from podling.machinery.encoding.mismatch import Mismatch
    from podling.machinery.patches import apply, last_applied

    if not options.field_manager:
        missing = fields.required(fields.Path("fieldManager"), "is required for apply patch")
        raise errors.invalid("PatchOptions", "meta.k8s.io", "", [missing])
    kind, writer = target.resource.type, _writer(target, options.field_manager, now)
    apply.check_intent(patch.body, kind, writer)
    try:
        intent, _ = intake.normalized(patch.body, kind, "Ignore")
    except Mismatch as error:
        raise apply.cannot_convert(patch.body, kind, writer, error.restored) from None
    if not is_custom(kind):
        intent = apply.with_nulls(patch.body, intent)
    live = None if old is None else codec.to_plain(old)
    plain = apply.apply(live, intent, kind, writer, force=options.force)
    if writer.manager == last_applied.KUBECTL:
        plain = last_applied.kept_up(plain, patch.body)
    _report(patch.duplicates, options)
    return old if plain is live and old is not None else codec.from_plain(plain, kind)


def check_typed(intent: Any, kind: type[Any], group_version: str, now: datetime) -> None:
    """Refuse an intent that is none of its kind (see ``apply.check_intent``)."""
    from podling.machinery.patches import apply
    from podling.machinery.patches.managed_entries import Writer

    apply.check_intent(intent, kind, Writer("", now, group_version))


def _report(duplicates: tuple[str, ...], options: WriteOptions) -> None:
    """Keys that the intent names twice; fields that the type does not have are refused by applying."""
    if duplicates and options.field_validation == "Strict":
        text = f"error converting YAML to JSON: {', '.join(duplicates)}"
        raise errors.bad_request(f"error strict decoding YAML: {text}")
    if options.field_validation == "Warn":
        told = [warning for each in duplicates for warning in bodies.warnings_of(each)]
        options.warnings.extend(each for each in told if each not in options.warnings)


def _writer(target: Target, manager: str, now: datetime) -> Any:
    from podling.machinery.patches.managed_entries import Writer

    return Writer(
        manager,
        now,
        target.resource.group_version,
        target.subresource,
        _ignored(target.resource, target.subresource),
    )


def _ignored(resource: Resource, subresource: str) -> tuple[str, ...]:
    """Return the fields that a request to this subresource cannot write."""
    if subresource == "status":
        return ("spec",)
    return ("status",) if "status" in resource.subresources and not subresource else ()


def component_name(user: User) -> str:
    """Return the manager name of a component that gives none."""
    if user.name.startswith(NODE_USER):
        return "kubelet"
    return user.name.removeprefix(ACCOUNT_USER).removeprefix("system:").replace(":", "/") or "unknown"
