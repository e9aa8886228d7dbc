"""Validation of a claim's spec, in a PersistentVolumeClaim and wherever a template of one stands.

Upstream: ``ValidatePersistentVolumeClaimSpec`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import PersistentVolumeClaimSpec
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def access_mode_errors(path: Path, modes: tuple[str, ...]) -> Errors:
    if not modes:
        return [fields.required(path, "at least 1 access mode is required")]
    errors: Errors = []
    for mode in modes:
        errors += [] if mode in ACCESS_MODES else [fields.not_supported(path, mode, ACCESS_MODES)]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        text = "may not use ReadWriteOncePod with other access modes"
        errors.append(fields.forbidden(path, text))
    return errors


def validate_claim_spec(path: Path, spec: PersistentVolumeClaimSpec) -> Errors:
    errors: Errors = []
    if not spec.access_modes:
        errors.append(fields.required(path.child("accessModes"), "at least 1 access mode is required"))
    errors += checks.label_selector(path.child("selector"), spec.selector)
    if spec.access_modes:
        errors += access_mode_errors(path.child("accessModes"), spec.access_modes)
    storage = spec.resources.requests.get("storage")
    here = path.child("resources", "requests").key("storage")
    if storage is None:
        errors.append(fields.required(path.child("resources").key("storage")))
    elif parse(storage) <= ZERO:
        errors.append(fields.invalid(here, str(parse(storage)), checks.POSITIVE))
    if spec.storage_class_name:
        errors += checks.dns_subdomain(path.child("storageClassName"), spec.storage_class_name)
    return errors + checks.one_of(path.child("volumeMode"), spec.volume_mode, VOLUME_MODES)
