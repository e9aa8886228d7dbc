"""What CSI drivers announce: themselves, what they have on nodes, their capacity, and what is attached where.

Upstream: ``pkg/apis/storage/validation``, ``pkg/apis/storage/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.storage_v1 import (
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    TokenRequest,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeError,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.common.plain_tables import TableRules
from podling.apiserver.kinds.pod.volume_sources import driver_name_errors
from podling.apiserver.kinds.storage.persistent_volume_validation import volume_spec_errors
from podling.apiserver.kinds.storage.storage_warnings import capacity_warnings
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse

SPEC, STATUS = Path("spec"), Path("status")
GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
SHORTEST_TOKEN_SECONDS = 600
LONGEST_TOKEN_SECONDS = 2**32
SHORTEST_PERIOD_SECONDS = 10
LONGEST_NODE_ID = 256
MAX_METADATA_BYTES = 256 * 1024
MAX_MESSAGE_BYTES = 1024


class CSIDriverRules(TableRules[CSIDriver]):
    generation = True
    unconditional_update = False
    returns_deleted = True

    def default(self, obj: CSIDriver) -> CSIDriver:
        spec = fill_absent(
            obj.spec,
            attach_required=True,
            pod_info_on_mount=False,
            storage_capacity=False,
            fs_group_policy="ReadWriteOnceWithFSType",
            requires_republish=False,
            se_linux_mount=False,
        )
        return change(obj, spec=fill_empty(spec, volume_lifecycle_modes=("Persistent",)))

    def validate(self, obj: CSIDriver, context: Context) -> Errors:
        spec = obj.spec
        errors = checks.one_of(SPEC.child("fsGroupPolicy"), spec.fs_group_policy, GROUP_POLICIES)
        errors += _token_errors(SPEC.child("tokenRequests"), spec.token_requests)
        where = SPEC.child("volumeLifecycleModes")
        for mode in spec.volume_lifecycle_modes:
            errors += [] if mode in LIFECYCLE_MODES else [fields.not_supported(where, mode, LIFECYCLE_MODES)]
        seconds = spec.node_allocatable_update_period_seconds
        if seconds is not None and seconds < SHORTEST_PERIOD_SECONDS:
            where = SPEC.child("nodeAllocatableUpdatePeriodSeconds")
            text = f"must be greater than or equal to {SHORTEST_PERIOD_SECONDS} seconds"
            errors.append(fields.invalid(where, seconds, text))
        if spec.service_account_token_in_secrets is not None and not spec.token_requests:
            where, given = SPEC.child("serviceAccountTokenInSecrets"), spec.service_account_token_in_secrets
            text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            errors.append(fields.invalid(where, given, text))
        return errors

    def validate_update(self, new: CSIDriver, old: CSIDriver, context: Context) -> Errors:
        errors = self.validate(new, context)
        where = SPEC.child("attachedRequired")  # so spelled upstream
        errors += checks.immutable(where, new.spec.attach_required, old.spec.attach_required)
        where = SPEC.child("volumeLifecycleModes")
        return errors + checks.immutable(
            where, new.spec.volume_lifecycle_modes, old.spec.volume_lifecycle_modes
        )


def _token_errors(path: Path, requests: Sequence[TokenRequest]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, request in enumerate(requests):
        here, seconds = path.index(position), request.expiration_seconds
        if request.audience in seen:
            errors.append(fields.duplicate(here.child("audience"), request.audience))
            continue
        seen.add(request.audience)
        where = here.child("expirationSeconds")
        if seconds is not None and seconds < SHORTEST_TOKEN_SECONDS:
            errors.append(fields.invalid(where, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > LONGEST_TOKEN_SECONDS:
            text = "may not specify a duration larger than 2^32 seconds"
            errors.append(fields.invalid(where, seconds, text))
    return errors


class CSINodeRules(TableRules[CSINode]):
    unconditional_update = False
    returns_deleted = True

    def validate(self, obj: CSINode, context: Context) -> Errors:
        path = SPEC.child("drivers")
        errors: Errors = []
        seen: set[str] = set()
        for position, driver in enumerate(obj.spec.drivers):
            here = path.index(position)
            errors += _node_driver_errors(here, driver)
            errors += [fields.duplicate(here.child("name"), driver.name)] if driver.name in seen else []
            seen.add(driver.name)
            errors += _topology_key_errors(here, driver.topology_keys)
        return errors

    def validate_update(self, new: CSINode, old: CSINode, context: Context) -> Errors:
        """A driver that stays stays as it is, but for how much it can take."""
        errors = self.validate(new, context)
        known = {driver.name: driver for driver in old.spec.drivers}
        for driver in new.spec.drivers:
            before = known.get(driver.name)
            if before is not None and change(driver, allocatable=before.allocatable) != before:
                errors.append(fields.invalid(SPEC.child("drivers"), driver, checks.IMMUTABLE))
        return errors


def _node_driver_errors(path: Path, driver: CSINodeDriver) -> Errors:
    errors = driver_name_errors(path.child("name"), driver.name)
    where = path.child("nodeID")
    errors += [] if driver.node_id else [fields.required(where)]
    if len(driver.node_id.encode()) > LONGEST_NODE_ID:
        errors.append(fields.invalid(where, driver.node_id, f"must be {LONGEST_NODE_ID} characters or less"))
    count = driver.allocatable.count if driver.allocatable is not None else None
    return errors + checks.non_negative(path.child("allocatable", "count"), count)


def _topology_key_errors(path: Path, keys: Sequence[str]) -> Errors:
    errors: Errors = []
    for position, key in enumerate(keys):
        errors += [] if key else [fields.required(path)]
        errors += [fields.duplicate(path, key)] if key in keys[:position] else []
        errors += checks.label_name(path, key)
    return errors


class CSIStorageCapacityRules(TableRules[CSIStorageCapacity]):
    unconditional_update = False

    def validate(self, obj: CSIStorageCapacity, context: Context) -> Errors:
        errors = checks.label_selector(Path("nodeTopology"), obj.node_topology)
        errors += checks.dns_subdomain(Path("storageClassName"), obj.storage_class_name)
        if obj.capacity is not None and parse(obj.capacity) < ZERO:
            errors.append(fields.invalid(Path("capacity"), str(parse(obj.capacity)), checks.NOT_NEGATIVE))
        return errors

    def validate_update(self, new: CSIStorageCapacity, old: CSIStorageCapacity, context: Context) -> Errors:
        errors = self.validate(new, context)
        errors += checks.immutable(Path("nodeTopology"), new.node_topology, old.node_topology)
        where = Path("storageClassName")
        return errors + checks.immutable(where, new.storage_class_name, old.storage_class_name)

    def warnings(
        self, obj: CSIStorageCapacity, old: CSIStorageCapacity | None, context: Context
    ) -> list[str]:
        return list(capacity_warnings(obj))


class VolumeAttachmentRules(TableRules[VolumeAttachment]):
    status_subresource = True
    status_alone = True
    unconditional_update = False
    returns_deleted = True

    def validate(self, obj: VolumeAttachment, context: Context) -> Errors:
        spec = obj.spec
        errors = [] if spec.attacher else [fields.required(SPEC.child("attacher"))]
        errors += _attachment_source_errors(SPEC.child("source"), spec.source)
        errors += checks.dns_subdomain(SPEC.child("nodeName"), spec.node_name)
        errors += _status_errors(obj)
        errors += driver_name_errors(SPEC.child("attacher"), spec.attacher)
        name = spec.source.persistent_volume_name
        if name is not None:
            errors += checks.dns_subdomain(SPEC.child("source", "persistentVolumeName"), name)
        return errors

    def validate_update(self, new: VolumeAttachment, old: VolumeAttachment, context: Context) -> Errors:
        return self.validate(new, context) + checks.immutable(SPEC, new.spec, old.spec)


def _attachment_source_errors(path: Path, source: VolumeAttachmentSource) -> Errors:
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    inline, name = source.inline_volume_spec, source.persistent_volume_name
    if inline is None and name is None:
        return [fields.required(path, text)]
    if inline is not None and name is not None:
        return [fields.forbidden(path, text)]
    if inline is not None:
        return volume_spec_errors(path.child("inlineVolumeSpec"), inline, inline=True)
    where = path.child("persistentVolumeName")
    return [] if name else [fields.required(where, "must specify non empty persistentVolumeName")]


def _status_errors(obj: VolumeAttachment) -> Errors:
    status = obj.status
    errors: Errors = []
    size = sum(len(key.encode()) + len(text.encode()) for key, text in status.attachment_metadata.items())
    if size > MAX_METADATA_BYTES:
        errors.append(fields.too_long(STATUS.child("attachmentMetadata"), MAX_METADATA_BYTES))
    errors += _failure_errors(STATUS.child("attachError"), status.attach_error)
    return errors + _failure_errors(STATUS.child("detachError"), status.detach_error)


def _failure_errors(path: Path, failure: VolumeError | None) -> Errors:
    if failure is None:
        return []
    errors = checks.within(path.child("errorCode"), failure.error_code, 0, checks.MAX_INT32)
    if len((failure.message or "").encode()) > MAX_MESSAGE_BYTES:
        # Kubernetes names this limit.
        errors.insert(0, fields.too_long(path.child("message"), MAX_METADATA_BYTES))
    return errors
