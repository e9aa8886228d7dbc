"""ResourceClaims, their templates, and DeviceClasses. Upstream: ``pkg/apis/resource/validation``."""

from __future__ import annotations

from podling.api.meta_v1 import ObjectMeta
from podling.api.resource_v1 import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceRequestAllocationResult,
    NetworkDeviceData,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.condition_validation import condition_errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.pod.scheduling_validation import validate_node_selector
from podling.apiserver.kinds.pod.volume_sources import driver_name_errors
from podling.apiserver.kinds.resource.device_requests import (
    MAX_ITEMS,
    claim_errors,
    configuration_errors,
    default_claim,
    duplicate_errors,
    list_errors,
    raw_errors,
    selector_errors,
)
from podling.machinery import fields, names
from podling.machinery.fields import Path, Shown
from podling.machinery.resource_names import is_extended

SPEC, STATUS = Path("spec"), Path("status")
MAX_CONSUMERS = 256
LONGEST_POOL_NAME = 253
MAX_CONDITIONS, MAX_ADDRESSES = 8, 16
LONGEST_DATA = 10 * 1024
LONGEST_INTERFACE_NAME, LONGEST_HARDWARE_ADDRESS = 256, 128


def _default_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    return change(spec, devices=default_claim(spec.devices))


def _spec_errors(path: Path, spec: ResourceClaimSpec) -> Errors:
    return claim_errors(path.child("devices"), spec.devices)


class ResourceClaimRules(TableRules[ResourceClaim]):
    status_subresource = True
    status_keeps_metadata = True
    returns_deleted = True

    def default(self, obj: ResourceClaim) -> ResourceClaim:
        return change(obj, spec=_default_spec(obj.spec))

    def prepare_update(self, new: ResourceClaim, old: ResourceClaim, context: Context) -> ResourceClaim:
        """Return the update without the status of devices that are no longer allocated."""
        prepared = super().prepare_update(new, old, context)
        gone = {_device(each) for each in _results(old)} - {_device(each) for each in _results(prepared)}
        devices = prepared.status.devices
        if context.subresource != "status" or not any(_device(each) in gone for each in devices):
            return prepared
        left = tuple(each for each in devices if _device(each) not in gone)
        return change(prepared, status=change(prepared.status, devices=left))

    def validate(self, obj: ResourceClaim, context: Context) -> Errors:
        return _spec_errors(SPEC, obj.spec)

    def validate_update(self, new: ResourceClaim, old: ResourceClaim, context: Context) -> Errors:
        if context.subresource == "status":
            return _status_errors(new, old)
        return checks.immutable(SPEC, new.spec, old.spec)


class ResourceClaimTemplateRules(TableRules[ResourceClaimTemplate]):
    returns_deleted = True

    def default(self, obj: ResourceClaimTemplate) -> ResourceClaimTemplate:
        return change(obj, spec=change(obj.spec, spec=_default_spec(obj.spec.spec)))

    def validate(self, obj: ResourceClaimTemplate, context: Context) -> Errors:
        errors = checks.template_metadata(SPEC.child("metadata"), obj.spec.metadata or ObjectMeta())
        return errors + _spec_errors(SPEC.child("spec"), obj.spec.spec)

    def validate_update(
        self, new: ResourceClaimTemplate, old: ResourceClaimTemplate, context: Context
    ) -> Errors:
        return checks.immutable(SPEC, new.spec, old.spec)


class DeviceClassRules(TableRules[DeviceClass]):
    generation = True
    returns_deleted = True

    def validate(self, obj: DeviceClass, context: Context) -> Errors:
        spec = obj.spec

        def configuration(where: Path, item: DeviceClassConfiguration) -> Errors:
            return configuration_errors(where, item.opaque)

        errors = list_errors(SPEC.child("selectors"), spec.selectors, MAX_ITEMS, selector_errors)
        errors += list_errors(SPEC.child("config"), spec.config, MAX_ITEMS, configuration)
        name, where = spec.extended_resource_name, SPEC.child("extendedResourceName")
        if name is not None and not is_extended(name):
            errors.append(fields.invalid(where, name, "must be a valid extended resource name"))
        return errors


def _status_errors(new: ResourceClaim, old: ResourceClaim) -> Errors:
    """Return the errors in a changed status.

    An allocation may be removed but not changed, and only an allocated claim may be reserved.
    """
    status, before = new.status, old.status
    where = STATUS.child("reservedFor")
    errors = list_errors(where, status.reserved_for, MAX_CONSUMERS, _consumer_errors)
    errors += duplicate_errors(where, (consumer.uid for consumer in status.reserved_for))
    errors += _devices_errors(STATUS.child("devices"), new)
    if status.reserved_for and status.allocation is None:
        errors.append(fields.forbidden(where, "may not be specified when `allocated` is not set"))
    elif new.metadata.deletion_timestamp is not None and set(status.reserved_for) - set(before.reserved_for):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(fields.forbidden(where, text))
    where = STATUS.child("allocation")
    if status.allocation is not None and before.allocation is not None:
        return errors + checks.immutable(where, status.allocation, before.allocation)
    return errors + ([] if status.allocation is None else _allocation_errors(where, status.allocation))


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    allocation = claim.status.allocation
    return () if allocation is None else allocation.devices.results


def _device(part: DeviceRequestAllocationResult | AllocatedDeviceStatus) -> str:
    """Return the device's name in messages."""
    named = f"{part.driver}/{part.pool}/{part.device}"
    return f"{named}/{part.share_id}" if part.share_id else named


def _devices_errors(path: Path, claim: ResourceClaim) -> Errors:
    """Return the errors in the status that drivers report for allocated devices."""
    allocated = {_device(each) for each in _results(claim)}
    seen: set[str] = set()
    errors: Errors = []
    for position, device in enumerate(claim.status.devices):
        here, name = path.index(position), _device(device)
        errors += _device_errors(here, device)
        if name not in allocated:
            errors.append(fields.invalid(here, Shown(name), "must be an allocated device in the claim"))
        errors += _device_status_errors(here, device)
        errors += [fields.duplicate(here, Shown(name))] if name in seen else []
        seen.add(name)
    return errors


def _device_errors(path: Path, part: DeviceRequestAllocationResult | AllocatedDeviceStatus) -> Errors:
    errors = driver_name_errors(path.child("driver"), part.driver)
    errors += pool_name_errors(path.child("pool"), part.pool)
    return errors + checks.dns_label(path.child("device"), part.device)


def _device_status_errors(path: Path, device: AllocatedDeviceStatus) -> Errors:
    where = path.child("conditions")
    errors: Errors = []
    if len(device.conditions) > MAX_CONDITIONS:
        errors.append(fields.too_many(where, len(device.conditions), MAX_CONDITIONS))
    errors += condition_errors(where, device.conditions)
    if device.data is not None:
        errors += raw_errors(path.child("data"), device.data, LONGEST_DATA)
    if device.network_data is not None:
        errors += _network_errors(path.child("networkData"), device.network_data)
    return errors


def _network_errors(path: Path, data: NetworkDeviceData) -> Errors:
    errors: Errors = []
    for name, value, longest in (
        ("interfaceName", data.interface_name, LONGEST_INTERFACE_NAME),
        ("hardwareAddress", data.hardware_address, LONGEST_HARDWARE_ADDRESS),
    ):
        if len((value or "").encode()) > longest:
            errors.append(fields.too_long(path.child(name), longest))
    where = path.child("ips")
    errors += list_errors(where, data.ips, MAX_ADDRESSES, _interface_address_errors)
    return errors + duplicate_errors(where, data.ips)


def _interface_address_errors(path: Path, value: str) -> Errors:
    """Return the errors in an interface's address: a CIDR in canonical form."""
    found = names.parse_cidr(value)
    if found is None:
        text = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [fields.invalid(path, value, text)]
    canonical = str(found)
    if value == canonical:
        return []
    return [fields.invalid(path, value, f'must be in canonical form ("{canonical}")')]


def _consumer_errors(path: Path, consumer: ResourceClaimConsumerReference) -> Errors:
    return [
        fields.required(path.child(name))
        for name, value in (("resource", consumer.resource), ("name", consumer.name), ("uid", consumer.uid))
        if not value
    ]


def _allocation_errors(path: Path, allocation: AllocationResult) -> Errors:
    errors: Errors = []
    results = allocation.devices.results
    for position, result in enumerate(results):
        errors += _device_errors(path.child("devices", "results").index(position), result)
    if allocation.node_selector is not None:
        errors += validate_node_selector(path.child("nodeSelector"), allocation.node_selector)
    return errors


def pool_name_errors(path: Path, name: str) -> Errors:
    """Return the errors in a pool's name: DNS subdomains separated by slashes."""
    if not name:
        return [fields.required(path)]
    errors = [fields.too_long(path, LONGEST_POOL_NAME)] if len(name.encode()) > LONGEST_POOL_NAME else []
    for part in name.split("/"):
        errors += checks.dns_subdomain(path, part)
    return errors
