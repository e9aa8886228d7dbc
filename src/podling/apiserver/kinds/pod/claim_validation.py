"""Validation of a claim's spec, in a PersistentVolumeClaim or a template.

Upstream: ``ValidatePersistentVolumeClaimSpec`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

import json

from podling.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    TypedLocalObjectReference,
    TypedObjectReference,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, label_checks
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
RESIZE_STATES = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
    "NodeResizeInfeasible", "NodeResizePending",
)  # fmt: skip


def access_mode_errors(path: Path, modes: tuple[str, ...]) -> Errors:
    """Return the errors in the given access modes."""
    errors = [fields.not_supported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and {*modes} & {*ACCESS_MODES} - {"ReadWriteOncePod"}:
        text = "may not use ReadWriteOncePod with other access modes"
        errors.append(fields.forbidden(path, text))
    return errors


def validate_claim_spec(
    path: Path, spec: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec | None = None
) -> Errors:
    """Return the errors in a spec. Malformed groups in ``old``, the stored spec, stay valid."""
    errors: Errors = []
    if not spec.access_modes:
        errors.append(fields.required(path.child("accessModes"), "at least 1 access mode is required"))
    errors += label_checks.label_selector(path.child("selector"), spec.selector)
    errors += access_mode_errors(path.child("accessModes"), spec.access_modes)
    storage = spec.resources.requests.get("storage")
    here = path.child("resources").key("storage")
    if storage is None:
        errors.append(fields.required(here))
    elif parse(storage) <= ZERO:
        errors.append(fields.invalid(here, str(parse(storage)), checks.POSITIVE))
    if spec.storage_class_name:
        errors += checks.dns_subdomain(path.child("storageClassName"), spec.storage_class_name)
    errors += checks.one_of(path.child("volumeMode"), spec.volume_mode, VOLUME_MODES)
    errors += _source_errors(path, spec, any_group=old is not None and _names_group(old))
    if spec.volume_attributes_class_name:
        where = path.child("volumeAttributesClassName")
        errors += checks.dns_subdomain(where, spec.volume_attributes_class_name)
    return errors


def claim_warnings(path: Path, spec: PersistentVolumeClaimSpec) -> list[str]:
    """Return warnings about sizes that are not whole bytes."""
    return [
        f"{path.child('resources', name).key('storage')}: fractional byte value "
        f"{json.dumps(str(parse(amounts['storage'])))} is invalid, must be an integer"
        for name, amounts in (("requests", spec.resources.requests), ("limits", spec.resources.limits))
        if "storage" in amounts and parse(amounts["storage"]).milli_value % 1000
    ]


def _names_group(spec: PersistentVolumeClaimSpec) -> bool:
    sources = (spec.data_source, spec.data_source_ref)
    return any(source is not None and source.api_group is not None for source in sources)


def _source_errors(path: Path, spec: PersistentVolumeClaimSpec, *, any_group: bool) -> Errors:
    """Return the errors in the data sources, which must be equal unless one is in another namespace."""
    local, reference = spec.data_source, spec.data_source_ref
    errors = [] if local is None else _one_source_errors(path.child("dataSource"), local, any_group=any_group)
    if reference is None:
        return errors
    here = path.child("dataSourceRef")
    errors += _one_source_errors(here, reference, any_group=any_group)
    if reference.namespace:
        errors += checks.dns_label(here.child("namespace"), reference.namespace)
        if local is not None:
            text = "may not be specified when dataSourceRef.namespace is specified"
            errors.append(fields.invalid(path, {}, text))  # upstream shows an empty object, too
    elif local is not None:
        named = (local.api_group, local.kind, local.name)
        if named != (reference.api_group, reference.kind, reference.name):
            errors.append(fields.invalid(path, {}, "must match dataSourceRef"))
    return errors


def _one_source_errors(
    path: Path, source: TypedLocalObjectReference | TypedObjectReference, *, any_group: bool
) -> Errors:
    errors = [] if source.name else [fields.required(path.child("name"))]
    errors += [] if source.kind else [fields.required(path.child("kind"))]
    if not source.api_group:
        if source.kind != "PersistentVolumeClaim":
            text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            errors.append(fields.invalid(path, source.kind, text))
    elif not any_group:
        errors += checks.dns_subdomain(path.child("apiGroup"), source.api_group)
    return errors


def validate_claim_status(claim: PersistentVolumeClaim) -> Errors:
    path, status = Path("status"), claim.status
    errors: Errors = []
    for name, text in status.capacity.items():
        errors += _quantity_errors(path.child("capacity").key(name), text)
    for name, state in status.allocated_resource_statuses.items():
        here = path.child("allocatedResourceStatus")
        errors += _resource_key_errors(here, name)
        errors += [] if state in RESIZE_STATES else [fields.not_supported(here, name, RESIZE_STATES)]
    for name, text in status.allocated_resources.items():
        here = path.child("allocatedResources")
        errors += _resource_key_errors(here, name) or _quantity_errors(here.key(name), text)
    return errors


def _quantity_errors(path: Path, text: str) -> Errors:
    value = parse(text)
    return [fields.invalid(path, value.value, "must be a valid resource quantity")] if value < ZERO else []


def _resource_key_errors(path: Path, name: str) -> Errors:
    errors = checks.label_name(path, name)
    if not errors and ("/" not in name or "kubernetes.io/" in name) and name != "storage":
        errors.append(fields.not_supported(path, name, ("storage",)))
    return errors
