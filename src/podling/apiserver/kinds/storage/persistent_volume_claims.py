"""PersistentVolumeClaims.

Upstream: ``ValidatePersistentVolumeClaimUpdate`` in ``pkg/apis/core/validation/validation.go``,
``pkg/registry/core/persistentvolumeclaim``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    TypedLocalObjectReference,
    TypedObjectReference,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, UNSET, access_modes_text, age, wide_column
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.differences import describe
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.pod.claim_validation import validate_claim_spec, validate_claim_status
from podling.apiserver.kinds.storage.storage_warnings import claim_warnings
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import parse
from podling.machinery.storage_classes import BETA_CLASS, class_of
from podling.machinery.tables import Column

SPEC = Path("spec")
_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
"""The groups and kinds that ``dataSource`` may name; ``dataSourceRef`` may name others."""


class ClaimRules(KindRules[PersistentVolumeClaim]):
    status_subresource = True
    returns_deleted = True
    columns = (
        NAME,
        Column("Status", description="Whether a volume was found"),
        Column("Volume", description="The volume that the claim is bound to"),
        Column("Capacity", description="How much there is"),
        Column("Access Modes", description="How the volume can be mounted"),
        Column("StorageClass", description="Where the volume comes from"),
        Column("VolumeAttributesClass", description="Which attributes the volume has"),
        AGE,
        wide_column("VolumeMode", "File system or block device"),
    )

    def default(self, obj: PersistentVolumeClaim) -> PersistentVolumeClaim:
        return change(
            obj,
            spec=fill_absent(obj.spec, volume_mode="Filesystem"),
            status=fill_empty(obj.status, phase="Pending"),
        )

    def prepare_create(self, obj: PersistentVolumeClaim, context: Context) -> PersistentVolumeClaim:
        spec = _with_equal_sources(_with_known_source(obj.spec, None))
        return change(obj, spec=spec, status=type(obj.status)(phase="Pending"))

    def prepare_update(
        self, new: PersistentVolumeClaim, old: PersistentVolumeClaim, context: Context
    ) -> PersistentVolumeClaim:
        prepared = super().prepare_update(new, old, context)
        return change(prepared, spec=_with_equal_sources(_with_known_source(prepared.spec, old.spec)))

    def validate(self, obj: PersistentVolumeClaim, context: Context) -> Errors:
        return validate_claim_spec(SPEC, obj.spec)

    def validate_update(
        self, new: PersistentVolumeClaim, old: PersistentVolumeClaim, context: Context
    ) -> Errors:
        if context.subresource == "status":
            return validate_claim_status(new)
        errors = validate_claim_spec(SPEC, new.spec, old.spec)
        return errors + _class_annotation_errors(new, old) + _change_errors(new, old)

    def warnings(
        self, obj: PersistentVolumeClaim, old: PersistentVolumeClaim | None, context: Context
    ) -> list[str]:
        return list(claim_warnings(obj))

    def row(self, obj: PersistentVolumeClaim, now: datetime) -> Sequence[Any]:
        phase = "Terminating" if obj.metadata.deletion_timestamp is not None else obj.status.phase
        storage = obj.status.capacity.get("storage", "0") if obj.spec.volume_name else ""
        return (
            obj.metadata.name,
            phase,
            obj.spec.volume_name or "",
            storage,
            access_modes_text(obj.status.access_modes) if obj.spec.volume_name else "",
            class_of(obj),
            obj.spec.volume_attributes_class_name or UNSET,
            age(obj, now),
            obj.spec.volume_mode or UNSET,
        )


def _with_known_source(
    spec: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec | None
) -> PersistentVolumeClaimSpec:
    """Return a claim's spec without unsupported data sources.

    ``dataSource`` may only name a claim or a snapshot, and ``dataSourceRef`` no other namespace.
    """
    reference = spec.data_source_ref
    if reference is not None and reference.namespace and (old is None or old.data_source_ref is None):
        spec, reference = change(spec, data_source_ref=None), None
    in_use = old is not None and (old.data_source is not None or old.data_source_ref is not None)
    source = spec.data_source
    if in_use or reference is not None or source is None:
        return spec
    if (source.api_group or "", source.kind) in _OLD_SOURCES:
        return spec
    return change(spec, data_source=None)


def _with_equal_sources(spec: PersistentVolumeClaimSpec) -> PersistentVolumeClaimSpec:
    """Return a spec in which ``dataSource`` and ``dataSourceRef`` are equal, from the one that is set."""
    local, reference = spec.data_source, spec.data_source_ref
    if local is not None and reference is None:
        made = TypedObjectReference(api_group=local.api_group, kind=local.kind, name=local.name)
        return change(spec, data_source_ref=made)
    if reference is not None and local is None and not reference.namespace:
        back = TypedLocalObjectReference(
            api_group=reference.api_group, kind=reference.kind, name=reference.name
        )
        return change(spec, data_source=back)
    return spec


def _moves_to_field(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> bool:
    """Return whether an update moves the storage class from the annotation to the field."""
    before = old.metadata.annotations.get(BETA_CLASS)
    if before is None or old.spec.storage_class_name is not None:
        return False
    kept = new.metadata.annotations.get(BETA_CLASS, before) == before
    return new.spec.storage_class_name == before and kept


def _class_annotation_errors(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> Errors:
    before, after = (claim.metadata.annotations.get(BETA_CLASS, "") for claim in (old, new))
    if before == after or _moves_to_field(new, old):
        return []
    where = Path("metadata.annotations").child(BETA_CLASS)
    return [fields.invalid(where, after, checks.IMMUTABLE)]


def _change_errors(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> Errors:
    """Return errors for changes of a claim; only the requested size may grow, and the volume is set once."""
    spec = new.spec
    if not old.spec.volume_name:
        spec = change(spec, volume_name=old.spec.volume_name)
    annotated = old.metadata.annotations.get(BETA_CLASS, spec.storage_class_name)
    if old.spec.storage_class_name is None and annotated == spec.storage_class_name:
        spec = change(spec, storage_class_name=None)
    before, after = (claim.spec.resources.requests.get("storage", "0") for claim in (old, new))
    if new.status.phase == "Bound":
        requests = {**spec.resources.requests, "storage": before}
        spec = change(spec, resources=change(spec.resources, requests=requests))
        if spec.volume_attributes_class_name is not None:
            spec = change(spec, volume_attributes_class_name=old.spec.volume_attributes_class_name)
    errors: Errors = []
    if spec != old.spec:
        text = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
            f"bound claims\n{describe(old.spec, spec)}"
        )
        errors.append(fields.forbidden(SPEC, text))
    if parse(after) < parse(before) and parse(after) <= parse(old.status.capacity.get("storage", "0")):
        where = SPEC.child("resources", "requests", "storage")
        errors.append(fields.forbidden(where, "field can not be less than status.capacity"))
    errors += checks.immutable(Path("volumeMode"), new.spec.volume_mode, old.spec.volume_mode)
    return errors + _attributes_class_errors(new.spec, old.spec)


def _attributes_class_errors(new: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec) -> Errors:
    """Return an error if the attributes class of a claim is removed."""
    where, name = SPEC.child("volumeAttributesClassName"), new.volume_attributes_class_name
    if old.volume_attributes_class_name is None or name:
        return []
    to = "nil" if name is None else "an empty string"
    return [fields.forbidden(where, f"update from non-nil value to {to} is forbidden")]
