"""Metadata of all kinds: fields that the server sets, permitted changes, and validation.

Pure. Rules and messages are those of apimachinery ``pkg/api/validation/objectmeta.go`` and of
``rest.BeforeCreate`` and ``rest.BeforeUpdate``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from podling import clock
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.machinery import errors, fields, label_checks, names
from podling.machinery.fields import FieldError, Path

METADATA = Path("metadata")
SUFFIX_LENGTH = 5
MAX_GENERATED_BASE = 63 - SUFFIX_LENGTH
"""The length to which ``generateName`` is cut, so that the name with its suffix fits a DNS label."""
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
IMMUTABLE = "field is immutable"


OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def in_namespace(obj: Any, namespace: str) -> Any:
    """Return ``obj`` in the namespace of the request; raise 400 if it names another."""
    own = obj.metadata.namespace or ""
    if own == namespace:
        return obj
    if own and namespace:
        raise errors.bad_request(OTHER_NAMESPACE)
    return structs.replace(obj, metadata=structs.replace(obj.metadata, namespace=namespace))


REPEATED_OWNERS = (
    "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "
    "please fix your requests; duplicate UID(s) observed: "
)


def without_duplicate_owners(obj: Any, warnings: list[str], *, admitted: bool = False) -> Any:
    """Return ``obj`` without duplicate owner references; append a warning with the duplicates.

    ``admitted``: admission has run, so an admission plugin may have added the duplicate.
    """
    owners = obj.metadata.owner_references
    if len(owners) < 2:
        return obj
    kept: list[OwnerReference] = []
    again: list[str] = []
    for owner in owners:
        if owner in kept:
            again.append(owner.uid)
        else:
            kept.append(owner)
    if not again:
        return obj
    when = " after mutating admission happens" if admitted else ""
    warning = f".metadata.ownerReferences contains duplicate entries{when}{REPEATED_OWNERS}{', '.join(again)}"
    warnings.append(warning)
    return structs.replace(obj, metadata=structs.replace(obj.metadata, owner_references=tuple(kept)))


def without_resource_version(obj: Any) -> Any:
    """Return ``obj`` without ``resourceVersion``, for an update that falls through to a create."""
    if not obj.metadata.resource_version:
        return obj
    return structs.replace(obj, metadata=structs.replace(obj.metadata, resource_version=""))


def generated_name(base: str, suffix: str) -> str:
    """Return ``base`` with a suffix of ``SUFFIX_LENGTH`` characters."""
    return base[:MAX_GENERATED_BASE] + suffix


def set_server_metadata(obj: Any, *, name: str, uid: str, generation: bool, now: datetime) -> Any:
    """Return a new object with the metadata that only the server sets."""
    given = obj.metadata
    metadata = structs.replace(
        given,
        name=name,
        uid=uid,
        creation_timestamp=clock.seconds_precision(now),
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        generation=1 if generation else 0,
        resource_version="",
        self_link="",
    )
    return structs.replace(obj, metadata=metadata)


def keep_server_metadata(new: Any, old: Any) -> Any:
    """Return an update with the metadata that its writer may omit or cannot set."""
    given, kept = new.metadata, old.metadata
    metadata = structs.replace(
        given,
        uid=given.uid or kept.uid,
        creation_timestamp=kept.creation_timestamp or given.creation_timestamp,
        deletion_timestamp=kept.deletion_timestamp or given.deletion_timestamp,
        deletion_grace_period_seconds=kept.deletion_grace_period_seconds
        if given.deletion_grace_period_seconds is None
        else given.deletion_grace_period_seconds,
        generation=kept.generation,
        resource_version=kept.resource_version,
        self_link="",
    )
    return new if metadata == given else structs.replace(new, metadata=metadata)


def raise_generation(new: Any, old: Any, *, changed: bool) -> Any:
    """Return ``new`` with its generation raised by one if ``changed``."""
    if not changed:
        return new
    generation = (old.metadata.generation or 0) + 1
    return structs.replace(new, metadata=structs.replace(new.metadata, generation=generation))


def check_new(
    metadata: ObjectMeta, *, namespaced: bool, name_errors: Callable[[str], list[str]], bare_finalizers: bool
) -> list[FieldError]:
    """Return the errors in the metadata of an object to be created."""
    found: list[FieldError] = []
    if metadata.generate_name:
        path = METADATA.child("generateName")
        masked = _mask_trailing_dash(metadata.generate_name)
        found += [fields.invalid(path, metadata.generate_name, text) for text in name_errors(masked)]
    if not metadata.name:
        found.append(fields.required(METADATA.child("name"), "name or generateName is required"))
    else:
        path = METADATA.child("name")
        found += [fields.invalid(path, metadata.name, text) for text in name_errors(metadata.name)]
    path = METADATA.child("namespace")
    if namespaced and not metadata.namespace:
        found.append(fields.required(path))
    elif namespaced:
        given = metadata.namespace or ""
        found += [fields.invalid(path, given, text) for text in names.dns_label_errors(given)]
    elif metadata.namespace:
        found.append(fields.forbidden(path, "not allowed on this type"))
    found += _check_common(metadata)
    if metadata.finalizers:
        found += _check_finalizers(metadata.finalizers, METADATA.child("finalizers"))
        found += [] if bare_finalizers else _check_domains(metadata.finalizers)
    return found


def check_embedded(metadata: ObjectMeta) -> list[FieldError]:
    """Return the errors in metadata inside of another object, which needs no name."""
    named = structs.replace(metadata, name=metadata.name or "anything")
    inside = bool(metadata.namespace)
    return check_new(named, namespaced=inside, name_errors=names.path_segment_errors, bare_finalizers=True)


def _mask_trailing_dash(base: str) -> str:
    """Return ``generateName`` in a form that may end with a dash, since a suffix follows."""
    return base[:-2] + "a" if len(base) > 1 and base.endswith("-") else base


def check_change(new: ObjectMeta, old: ObjectMeta, *, bare_finalizers: bool) -> list[FieldError]:
    """Return the errors in a change of metadata."""
    found: list[FieldError] = []
    unchanged = (
        new.labels == old.labels
        and new.annotations == old.annotations
        and new.owner_references == old.owner_references
    )
    if not unchanged:
        found += _check_common(new)
    if new.finalizers != old.finalizers:
        found += _check_finalizers(new.finalizers, METADATA.child("finalizers"))
    if old.deletion_timestamp is not None:
        found += _check_no_more_finalizers(new.finalizers, old.finalizers)
    for name, before, after in (
        ("name", old.name, new.name),
        ("namespace", old.namespace, new.namespace),
        ("uid", old.uid, new.uid),
        ("creationTimestamp", old.creation_timestamp, new.creation_timestamp),
        ("deletionTimestamp", old.deletion_timestamp, new.deletion_timestamp),
        ("deletionGracePeriodSeconds", old.deletion_grace_period_seconds, new.deletion_grace_period_seconds),
    ):
        if (before or None) != (after or None):
            found.append(fields.invalid(METADATA.child(name), after, IMMUTABLE))
    if new.finalizers != old.finalizers and not bare_finalizers:
        found += _check_domains(new.finalizers)
    return found


def _check_no_more_finalizers(new: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    added = sorted(set(new) - set(old))
    if not added:
        return []
    listed = "[]string{" + ", ".join(json.dumps(name) for name in added) + "}"
    text = f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}"
    return [fields.forbidden(METADATA.child("finalizers"), text)]


def _check_common(metadata: ObjectMeta) -> list[FieldError]:
    found: list[FieldError] = []
    if metadata.labels:
        found += label_checks.labels(METADATA.child("labels"), metadata.labels)
    if metadata.annotations:
        found += label_checks.annotation_map(METADATA.child("annotations"), metadata.annotations)
    if metadata.owner_references:
        found += _check_owners(metadata.owner_references, METADATA.child("ownerReferences"))
    return found


def _check_owners(owners: Sequence[OwnerReference], path: Path) -> list[FieldError]:
    found: list[FieldError] = []
    controller: OwnerReference | None = None
    for owner in owners:
        _, _, version = owner.api_version.rpartition("/")
        if not version or owner.api_version.count("/") > 1:
            found.append(
                fields.invalid(path.child("apiVersion"), owner.api_version, "version must not be empty")
            )
        for name, value in (("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)):
            if not value:
                found.append(fields.invalid(path.child(name), value, "must not be empty"))
        if (owner.api_version, owner.kind) == ("v1", "Event"):
            found.append(fields.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if not owner.controller:
            continue
        if controller is not None:
            detail = (
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {controller.kind}/{controller.name} '
                f"and {owner.kind}/{owner.name}"
            )
            found.append(fields.invalid(path, list(owners), detail))
        controller = owner
    return found


def _check_finalizers(finalizers: Sequence[str], path: Path) -> list[FieldError]:
    found: list[FieldError] = []
    for name in finalizers:
        found += [fields.invalid(path, name, text) for text in names.qualified_name_errors(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        found.append(fields.invalid(path, list(finalizers), detail))
    return found


def _check_domains(finalizers: Sequence[str]) -> list[FieldError]:
    """Return an error for each finalizer without a domain, except the oldest ones."""
    path, detail = (
        METADATA.child("finalizers"),
        "name is neither a standard finalizer name nor is it fully qualified",
    )
    return [
        fields.invalid(path.index(position), name, detail)
        for position, name in enumerate(finalizers)
        if is_unqualified_finalizer(name)
    ]


def is_unqualified_finalizer(finalizer: str) -> bool:
    """Return whether a finalizer has no domain and is not one of the oldest, which never had one."""
    return "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
