"""PersistentVolumes, their claims, and StorageClasses.

Upstream: ``ValidatePersistentVolume`` and ``ValidatePersistentVolumeClaim`` in
``pkg/apis/core/validation/validation.go``, ``pkg/apis/storage/validation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling import clock
from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.api.storage_v1 import StorageClass
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.base import Context, KindRules
from podling.apiserver.kinds.cells import AGE, NAME, UNSET, age, flag, wide
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.claim_validation import (
    VOLUME_MODES,
    access_mode_errors,
    validate_claim_spec,
)
from podling.apiserver.kinds.differences import describe
from podling.apiserver.kinds.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.scheduling_validation import validate_node_selector
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse
from podling.machinery.tables import Column

SPEC = Path("spec")
RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"

_SHORT = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_NOT_SOURCES = {
    "access_modes", "capacity", "claim_ref", "mount_options", "node_affinity",
    "persistent_volume_reclaim_policy", "storage_class_name", "volume_attributes_class_name", "volume_mode",
}  # fmt: skip


def access_modes_text(modes: Sequence[str]) -> str:
    """Access modes in their short forms, in Kubernetes' order, each once."""
    return ",".join(short for mode, short in _SHORT.items() if mode in modes)


class ClaimRules(KindRules[PersistentVolumeClaim]):
    status_subresource = True
    columns = (
        NAME,
        Column("Status", description="Whether a volume was found"),
        Column("Volume", description="The volume that the claim is bound to"),
        Column("Capacity", description="How much there is"),
        Column("Access Modes", description="How the volume can be mounted"),
        Column("StorageClass", description="Where the volume comes from"),
        Column("VolumeAttributesClass", description="Which attributes the volume has"),
        AGE,
        wide("VolumeMode", "File system or block device"),
    )

    def default(self, obj: PersistentVolumeClaim) -> PersistentVolumeClaim:
        return change(
            obj,
            spec=fill_absent(obj.spec, volume_mode="Filesystem"),
            status=fill_empty(obj.status, phase="Pending"),
        )

    def prepare_create(self, obj: PersistentVolumeClaim, context: Context) -> PersistentVolumeClaim:
        return change(obj, status=type(obj.status)(phase="Pending"))

    def validate(self, obj: PersistentVolumeClaim, context: Context) -> Errors:
        return validate_claim_spec(SPEC, obj.spec)

    def validate_update(
        self, new: PersistentVolumeClaim, old: PersistentVolumeClaim, context: Context
    ) -> Errors:
        return (
            [] if context.subresource == "status" else self.validate(new, context) + _claim_change(new, old)
        )

    def row(self, obj: PersistentVolumeClaim, now: datetime) -> Sequence[Any]:
        phase = "Terminating" if obj.metadata.deletion_timestamp is not None else obj.status.phase
        storage = obj.status.capacity.get("storage", "") if obj.spec.volume_name else ""
        return (
            obj.metadata.name,
            phase,
            obj.spec.volume_name or "",
            storage,
            access_modes_text(obj.status.access_modes) if obj.spec.volume_name else "",
            obj.metadata.annotations.get(BETA_CLASS) or obj.spec.storage_class_name or "",
            obj.spec.volume_attributes_class_name or UNSET,
            age(obj, now),
            obj.spec.volume_mode or UNSET,
        )


def _claim_change(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> Errors:
    """Of a claim only the size grows; the volume's name is set once."""
    spec = new.spec
    if not old.spec.volume_name:
        spec = change(spec, volume_name=old.spec.volume_name)
    if old.spec.storage_class_name is None:
        spec = change(spec, storage_class_name=None)
    before, after = (claim.spec.resources.requests.get("storage", "0") for claim in (old, new))
    if old.status.phase == "Bound":
        requests = {**spec.resources.requests, "storage": before}
        spec = change(spec, resources=change(spec.resources, requests=requests))
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
    return errors


class VolumeRules(KindRules[PersistentVolume]):
    status_subresource = True
    columns = (
        NAME,
        Column("Capacity", description="How much there is"),
        Column("Access Modes", description="How the volume can be mounted"),
        Column("Reclaim Policy", description="What becomes of it when its claim is gone"),
        Column("Status", description="Whether it is free, bound or left over"),
        Column("Claim", description="The claim it is bound to"),
        Column("StorageClass", description="Where it comes from"),
        Column("VolumeAttributesClass", description="Which attributes it has"),
        Column("Reason", description="Why it failed"),
        AGE,
        wide("VolumeMode", "File system or block device"),
    )

    def default(self, obj: PersistentVolume) -> PersistentVolume:
        spec = fill_empty(obj.spec, persistent_volume_reclaim_policy="Retain")
        spec = fill_absent(spec, volume_mode="Filesystem")
        if spec.host_path is not None:
            spec = change(spec, host_path=fill_absent(spec.host_path, type=""))
        return change(obj, spec=spec, status=fill_empty(obj.status, phase="Pending"))

    def prepare_create(self, obj: PersistentVolume, context: Context) -> PersistentVolume:
        moment = clock.seconds_precision(context.now)
        return change(obj, status=type(obj.status)(phase="Pending", last_phase_transition_time=moment))

    def prepare_update(
        self, new: PersistentVolume, old: PersistentVolume, context: Context
    ) -> PersistentVolume:
        prepared = super().prepare_update(new, old, context)
        if prepared.status.phase == old.status.phase:
            return prepared
        moment = clock.seconds_precision(context.now)
        return change(prepared, status=change(prepared.status, last_phase_transition_time=moment))

    def validate(self, obj: PersistentVolume, context: Context) -> Errors:
        spec = obj.spec
        errors = access_mode_errors(SPEC.child("accessModes"), spec.access_modes)
        errors += _capacity_errors(SPEC.child("capacity"), obj)
        sources = [
            name for name in spec.__struct_fields__ if name not in _NOT_SOURCES and getattr(spec, name)
        ]
        if not sources:
            errors.append(fields.required(SPEC, "must specify a volume type"))
        elif len(sources) > 1:
            encoded = dict(zip(spec.__struct_fields__, spec.__struct_encode_fields__, strict=True))
            where = SPEC.child(encoded[sources[1]])
            errors.append(fields.forbidden(where, "may not specify more than 1 volume type"))
        where, policy = SPEC.child("persistentVolumeReclaimPolicy"), spec.persistent_volume_reclaim_policy
        errors += checks.one_of(where, policy, RECLAIM_POLICIES)
        if spec.host_path is not None:
            errors += checks.no_backsteps(SPEC.child("hostPath", "path"), spec.host_path.path)
            if spec.host_path.path == "/" and policy == "Recycle":
                text = "may not be 'recycle' for a hostPath mount of '/'"
                errors.append(fields.forbidden(where, text))
        if spec.local is not None and (spec.node_affinity is None or spec.node_affinity.required is None):
            text = "Local volume requires node affinity"
            errors.append(fields.required(Path("metadata.annotations"), text))
        if spec.node_affinity is not None and spec.node_affinity.required is not None:
            required = SPEC.child("nodeAffinity", "required")
            errors += validate_node_selector(required, spec.node_affinity.required)
        if spec.storage_class_name:
            errors += checks.dns_subdomain(SPEC.child("storageClassName"), spec.storage_class_name)
        return errors + checks.one_of(SPEC.child("volumeMode"), spec.volume_mode, VOLUME_MODES)

    def validate_update(self, new: PersistentVolume, old: PersistentVolume, context: Context) -> Errors:
        if context.subresource == "status":
            return []
        errors = self.validate(new, context)
        return errors + checks.immutable(SPEC.child("volumeMode"), new.spec.volume_mode, old.spec.volume_mode)

    def row(self, obj: PersistentVolume, now: datetime) -> Sequence[Any]:
        claim = obj.spec.claim_ref
        phase = "Terminating" if obj.metadata.deletion_timestamp is not None else obj.status.phase
        return (
            obj.metadata.name,
            obj.spec.capacity.get("storage", ""),
            access_modes_text(obj.spec.access_modes),
            obj.spec.persistent_volume_reclaim_policy or "",
            phase,
            f"{claim.namespace}/{claim.name}" if claim is not None else "",
            obj.metadata.annotations.get(BETA_CLASS) or obj.spec.storage_class_name or "",
            obj.spec.volume_attributes_class_name or UNSET,
            obj.status.reason or "",
            age(obj, now),
            obj.spec.volume_mode or UNSET,
        )


def _capacity_errors(path: Path, obj: PersistentVolume) -> Errors:
    capacity = obj.spec.capacity
    if not capacity:
        return [fields.required(path)]
    if set(capacity) != {"storage"}:
        return [fields.not_supported(path, capacity, ("storage",))]
    if parse(capacity["storage"]) <= ZERO:
        return [fields.invalid(path.key("storage"), capacity["storage"], checks.POSITIVE)]
    return []


class StorageClassRules(KindRules[StorageClass]):
    columns = (
        NAME,
        Column("Provisioner", description="Who makes the volumes"),
        Column("ReclaimPolicy", description="What becomes of a volume when its claim is gone"),
        Column("VolumeBindingMode", description="When a volume is made"),
        Column("AllowVolumeExpansion", type="boolean", description="Whether claims may grow"),
        AGE,
    )

    def default(self, obj: StorageClass) -> StorageClass:
        return fill_absent(obj, reclaim_policy="Delete", volume_binding_mode="Immediate")

    def validate(self, obj: StorageClass, context: Context) -> Errors:
        where = Path("provisioner")
        errors = [] if obj.provisioner else [fields.required(where)]
        if obj.provisioner:
            errors += checks.label_name(where, obj.provisioner.lower())
        errors += checks.one_of(Path("reclaimPolicy"), obj.reclaim_policy, ("Delete", "Retain"))
        return errors + checks.one_of(Path("volumeBindingMode"), obj.volume_binding_mode, BINDING_MODES)

    def validate_update(self, new: StorageClass, old: StorageClass, context: Context) -> Errors:
        errors = self.validate(new, context)
        if new.parameters != old.parameters:
            errors.append(fields.forbidden(Path("parameters"), "updates to parameters are forbidden."))
        if new.provisioner != old.provisioner:
            errors.append(fields.forbidden(Path("provisioner"), "updates to provisioner are forbidden."))
        if new.reclaim_policy != old.reclaim_policy:
            errors.append(fields.forbidden(Path("reclaimPolicy"), "updates to reclaimPolicy are forbidden."))
        mode = new.volume_binding_mode
        return errors + checks.immutable(Path("volumeBindingMode"), mode, old.volume_binding_mode)

    def row(self, obj: StorageClass, now: datetime) -> Sequence[Any]:
        annotations = obj.metadata.annotations
        default = "true" in (annotations.get(DEFAULT_CLASS), annotations.get(BETA_DEFAULT_CLASS))
        return (
            f"{obj.metadata.name} (default)" if default else obj.metadata.name,
            obj.provisioner,
            obj.reclaim_policy or "Delete",
            obj.volume_binding_mode or UNSET,
            flag(obj.allow_volume_expansion),
            age(obj, now),
        )
