"""StorageClasses and VolumeAttributesClasses. Upstream: ``pkg/apis/storage/validation``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import TopologySelectorTerm
from podling.api.storage_v1 import StorageClass, VolumeAttributesClass
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import fill_absent
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.storage.storage_warnings import class_warnings
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.storage_classes import is_default
from podling.machinery.tables import Column

BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
MAX_PARAMETERS = 512
MAX_PARAMETER_BYTES = 256 * 1024


class StorageClassRules(KindRules[StorageClass]):
    returns_deleted = True
    columns = (
        NAME,
        Column("Provisioner", description="Who makes the volumes"),
        Column("ReclaimPolicy", description="What becomes of a volume when its claim is gone"),
        Column("VolumeBindingMode", description="When a volume is made"),
        Column("AllowVolumeExpansion", description="Whether claims may grow"),
        AGE,
    )

    def default(self, obj: StorageClass) -> StorageClass:
        return fill_absent(obj, reclaim_policy="Delete", volume_binding_mode="Immediate")

    def validate(self, obj: StorageClass, context: Context) -> Errors:
        errors = provisioner_errors(Path("provisioner"), obj.provisioner)
        errors += parameter_errors(Path("parameters"), obj.parameters)
        errors += checks.one_of(Path("reclaimPolicy"), obj.reclaim_policy, ("Delete", "Retain"))
        where = Path("volumeBindingMode")
        errors += checks.required_one_of(where, obj.volume_binding_mode, BINDING_MODES)
        return errors + _topology_errors(Path("allowedTopologies"), obj.allowed_topologies)

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

    def warnings(self, obj: StorageClass, old: StorageClass | None, context: Context) -> list[str]:
        return list(class_warnings(obj))

    def row(self, obj: StorageClass, now: datetime) -> Sequence[Any]:
        return (
            f"{obj.metadata.name} (default)" if is_default(obj) else obj.metadata.name,
            obj.provisioner,
            obj.reclaim_policy or "Delete",
            obj.volume_binding_mode or "Immediate",
            obj.allow_volume_expansion is True,
            age(obj, now),
        )


def provisioner_errors(path: Path, name: str) -> Errors:
    return checks.label_name(path, name.lower()) if name else [fields.required(path)]


def parameter_errors(path: Path, parameters: Mapping[str, str]) -> Errors:
    if len(parameters) > MAX_PARAMETERS:
        return [fields.too_long(path, MAX_PARAMETERS)]
    errors = [fields.invalid(path, "", "field can not be empty.")] if "" in parameters else []
    if (
        sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items())
        > MAX_PARAMETER_BYTES
    ):
        errors.append(fields.too_long(path, MAX_PARAMETER_BYTES))
    return errors


def _topology_errors(path: Path, terms: Sequence[TopologySelectorTerm]) -> Errors:
    errors: Errors = []
    seen: list[dict[str, set[str]]] = []
    for position, term in enumerate(terms):
        here = path.index(position).child("matchLabelExpressions")
        wanted: dict[str, set[str]] = {}
        for number, requirement in enumerate(term.match_label_expressions):
            where = here.index(number)
            values = where.child("values")
            errors += [] if requirement.values else [fields.required(values)]
            for index, value in enumerate(requirement.values):
                if value in requirement.values[:index]:
                    errors.append(fields.duplicate(values.index(index), value))
            errors += checks.label_name(where.child("key"), requirement.key)
            if requirement.key in wanted:
                errors.append(fields.duplicate(where.child("key"), requirement.key))
            wanted[requirement.key] = set(requirement.values)
        errors += [fields.duplicate(here, "")] if wanted in seen else []
        seen.append(wanted)
    return errors


class VolumeAttributesClassRules(TableRules[VolumeAttributesClass]):
    returns_deleted = True

    def validate(self, obj: VolumeAttributesClass, context: Context) -> Errors:
        errors = provisioner_errors(Path("driverName"), obj.driver_name)
        where = Path("parameters")
        if not obj.parameters:
            return [*errors, fields.required(where, "must contain at least one key/value pair")]
        return errors + parameter_errors(where, obj.parameters)

    def validate_update(
        self, new: VolumeAttributesClass, old: VolumeAttributesClass, context: Context
    ) -> Errors:
        errors = self.validate(new, context)
        if new.driver_name != old.driver_name:
            errors.append(fields.forbidden(Path("driverName"), "updates to driverName are forbidden."))
        if new.parameters != old.parameters:
            errors.append(fields.forbidden(Path("parameters"), "updates to parameters are forbidden."))
        return errors
