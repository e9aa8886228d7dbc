"""PersistentVolumes. Upstream: ``pkg/registry/core/persistentvolume``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling import clock
from podling.api.core_v1 import PersistentVolume
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, UNSET, access_modes_text, age, wide_column
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.storage.persistent_volume_validation import (
    SPEC,
    change_errors,
    volume_spec_errors,
)
from podling.apiserver.kinds.storage.storage_warnings import volume_warnings
from podling.machinery.storage_classes import class_of
from podling.machinery.tables import Column


class VolumeRules(KindRules[PersistentVolume]):
    status_subresource = True
    returns_deleted = True
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
        wide_column("VolumeMode", "File system or block device"),
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
        return volume_spec_errors(SPEC, obj.spec, name=obj.metadata.name or "")

    def validate_update(self, new: PersistentVolume, old: PersistentVolume, context: Context) -> Errors:
        return (
            [] if context.subresource == "status" else self.validate(new, context) + change_errors(new, old)
        )

    def warnings(self, obj: PersistentVolume, old: PersistentVolume | None, context: Context) -> list[str]:
        return list(volume_warnings(obj))

    def row(self, obj: PersistentVolume, now: datetime) -> Sequence[Any]:
        claim = obj.spec.claim_ref
        phase = "Terminating" if obj.metadata.deletion_timestamp is not None else obj.status.phase
        return (
            obj.metadata.name,
            obj.spec.capacity.get("storage", "0"),
            access_modes_text(obj.spec.access_modes),
            obj.spec.persistent_volume_reclaim_policy or "",
            phase,
            f"{claim.namespace}/{claim.name}" if claim is not None else "",
            class_of(obj),
            obj.spec.volume_attributes_class_name or UNSET,
            obj.status.reason or "",
            age(obj, now),
            obj.spec.volume_mode or UNSET,
        )
