"""The effect of a delete request on an object: none, a deletion timestamp, or removal.

Pure. An object is removed once it has no finalizers and its grace period is over. Kinds without a grace
period are removed at once. Until then the object has a ``deletionTimestamp``, which can only become earlier.
The rules are those of ``rest.BeforeDelete`` and of the generic registry's ``Delete``.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Any

from msgspec import Struct, structs

from podling import clock
from podling.api.meta_v1 import DeleteOptions, ObjectMeta
from podling.apiserver.kinds.common.base import KindRules
from podling.machinery import errors
from podling.machinery.moments import LATEST, shifted
from podling.machinery.scheme import Resource

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class Outcome(Enum):
    KEEP = "keep"
    """The object is being deleted already and nothing changes."""
    MARK = "mark"
    """Store the changed object; it goes later."""
    REMOVE = "remove"


class Deletion(Struct, frozen=True):
    outcome: Outcome
    object: Any


def check_preconditions(resource: Resource, metadata: ObjectMeta, options: DeleteOptions) -> None:
    """409 unless the object is the one, and the state, that the request means."""
    wanted = options.preconditions
    if wanted is None:
        return
    if wanted.uid and wanted.uid != metadata.uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({metadata.uid}). "
            "The object might have been deleted and then recreated"
        )
    elif wanted.resource_version and wanted.resource_version != metadata.resource_version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the "
            f"ResourceVersion in record ({metadata.resource_version}). The object might have been modified"
        )
    else:
        return
    # Kubernetes names the kind here, where every other conflict names the resource.
    raise errors.conflict(resource.kind, resource.group, metadata.name or "", why)


def plan_deletion(obj: Any, options: DeleteOptions, rules: KindRules[Any], now: datetime) -> Deletion:
    """Return the effect on ``obj`` of a delete request at ``now`` (cut to seconds)."""
    now = clock.seconds_precision(now)
    metadata: ObjectMeta = obj.metadata
    finalizers = _finalizers(metadata.finalizers, options, orphans=rules.orphans_dependents)
    held = bool(finalizers) or rules.has_other_finalizers(obj)
    if metadata.deletion_timestamp is not None:
        return _again(obj, finalizers, options, now, held=held)
    grace = rules.grace_for(obj, options.grace_period_seconds)
    if grace <= 0 and not held:
        return Deletion(Outcome.REMOVE, obj)
    marked = structs.replace(
        metadata,
        deletion_timestamp=shifted(now, max(grace, 0)),
        deletion_grace_period_seconds=max(grace, 0),
        generation=metadata.generation + 1 if metadata.generation else metadata.generation,
        finalizers=finalizers,
    )
    return Deletion(Outcome.MARK, rules.mark_deleted(structs.replace(obj, metadata=marked)))


def _again(
    obj: Any, finalizers: tuple[str, ...], options: DeleteOptions, now: datetime, *, held: bool
) -> Deletion:
    """A second request for an object that is being deleted: the end may only come nearer."""
    metadata: ObjectMeta = obj.metadata
    assert metadata.deletion_timestamp is not None
    grace = metadata.deletion_grace_period_seconds or 0
    moment, wanted = metadata.deletion_timestamp, options.grace_period_seconds
    if wanted is not None and wanted < 0:
        wanted = 1
    if wanted is not None and wanted < grace:
        # From the end of time nothing leads back to the first request.
        moment = shifted(*((now, wanted) if moment >= LATEST else (moment, wanted - grace)))
        grace = wanted
        if moment < now:
            moment, grace = now, min(wanted, 1)
    elif grace > 0:
        return Deletion(Outcome.KEEP, obj)
    changed = structs.replace(
        metadata,
        deletion_timestamp=moment,
        deletion_grace_period_seconds=grace,
        finalizers=finalizers,
    )
    if grace == 0 and not held:
        return Deletion(Outcome.REMOVE, structs.replace(obj, metadata=changed))
    if changed == metadata:
        return Deletion(Outcome.KEEP, obj)
    return Deletion(Outcome.MARK, structs.replace(obj, metadata=changed))


def _finalizers(present: tuple[str, ...], options: DeleteOptions, *, orphans: bool) -> tuple[str, ...]:
    """Return the finalizers with the one that the garbage collector needs for this propagation policy.

    ``orphans``: whether the dependents of this kind stay when neither the request nor the object says.
    """
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None:
        decided = FOREGROUND in present or ORPHAN in present
        return (*present, ORPHAN) if orphans and not decided else present
    kept = tuple(name for name in present if name not in (FOREGROUND, ORPHAN))
    if policy == "Orphan":
        return (*kept, ORPHAN)
    if policy == "Foreground":
        return (*kept, FOREGROUND)
    return kept


def ends_with_update(obj: Any, rules: KindRules[Any]) -> bool:
    """Return whether an update has taken the last thing that held a deletion up."""
    metadata: ObjectMeta = obj.metadata
    return (
        metadata.deletion_timestamp is not None
        and not metadata.finalizers
        and not metadata.deletion_grace_period_seconds
        and not rules.has_other_finalizers(obj)
    )
