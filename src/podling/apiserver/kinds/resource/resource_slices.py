"""ResourceSlices: the devices that a driver publishes. Upstream: ``pkg/apis/resource/validation``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from podling.api.core_v1 import NodeSelector
from podling.api.resource_v1 import (
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.pod.scheduling_validation import validate_node_selector
from podling.apiserver.kinds.pod.volume_sources import driver_name_errors
from podling.apiserver.kinds.resource.device_claims import pool_name_errors
from podling.apiserver.kinds.resource.device_requests import (
    EFFECTS,
    attribute_name_errors,
    duplicate_errors,
    list_errors,
)
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
MAX_DEVICES = 128
MAX_DEVICES_WITH_EXTRAS = 64
MAX_PROPERTIES = 32
MAX_TAINTS = 16
MAX_CONDITIONS = 4
MAX_COUNTER_SETS = 8
MAX_COUNTERS = 32
MAX_CONSUMPTIONS = 2
LONGEST_VALUE = 64
_UNSET_OR_TRUE = "must be either unset or set to true"
_NUMBER, _PRE = r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_IS_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?", re.ASCII
).fullmatch


class ResourceSliceRules(TableRules[ResourceSlice]):
    generation = True
    returns_deleted = True

    def validate(self, obj: ResourceSlice, context: Context) -> Errors:
        return _spec_errors(obj.spec, None)

    def validate_update(self, new: ResourceSlice, old: ResourceSlice, context: Context) -> Errors:
        return _spec_errors(new.spec, old.spec)


def _spec_errors(spec: ResourceSliceSpec, old: ResourceSliceSpec | None) -> Errors:
    errors = driver_name_errors(SPEC.child("driver"), spec.driver)
    errors += _pool_errors(SPEC.child("pool"), spec.pool)
    if old is not None:
        errors += checks.immutable(SPEC.child("pool", "name"), spec.pool.name, old.pool.name)
        errors += checks.immutable(SPEC.child("driver"), spec.driver, old.driver)
        errors += checks.immutable(SPEC.child("nodeName"), spec.node_name, old.node_name)
    errors += _where_errors(spec)
    if spec.shared_counters and spec.devices:
        text = "only one of `sharedCounters` or `devices` is allowed"
        errors.append(fields.invalid(SPEC, "", text))
    extras = any(device.taints or device.consumes_counters for device in spec.devices)

    def check(path: Path, device: Device) -> Errors:
        return _device_errors(path, device, by_device=bool(spec.per_device_node_selection))

    here = SPEC.child("devices")
    errors += list_errors(here, spec.devices, MAX_DEVICES_WITH_EXTRAS if extras else MAX_DEVICES, check)
    errors += duplicate_errors(here, (device.name for device in spec.devices))
    here = SPEC.child("sharedCounters")
    errors += list_errors(here, spec.shared_counters, MAX_COUNTER_SETS, _counter_set_errors)
    return errors + duplicate_errors(here, (found.name for found in spec.shared_counters))


def _pool_errors(path: Path, pool: ResourcePool) -> Errors:
    errors = pool_name_errors(path.child("name"), pool.name)
    where, count = path.child("resourceSliceCount"), pool.resource_slice_count
    errors += [fields.invalid(where, count, "must be greater than zero")] if count <= 0 else []
    if pool.generation < 0:
        text = "must be greater than or equal to zero"
        errors.append(fields.invalid(path.child("generation"), pool.generation, text))
    return errors


def _where_errors(spec: ResourceSliceSpec) -> Errors:
    """Return an error unless exactly one field states which nodes reach the devices."""
    errors: Errors = []
    given: list[str] = []
    if spec.node_name:
        given.append("`nodeName`")
        errors += checks.dns_subdomain(SPEC.child("nodeName"), spec.node_name)
    elif spec.node_name is not None:
        text = "must be either unset or set to a non-empty string"
        errors.append(fields.invalid(SPEC.child("nodeName"), "", text))
    if spec.node_selector is not None:
        given.append("`nodeSelector`")
        errors += _selector_errors(SPEC.child("nodeSelector"), spec.node_selector)
    for name, value in (
        ("allNodes", spec.all_nodes),
        ("perDeviceNodeSelection", spec.per_device_node_selection),
    ):
        given += [f"`{name}`"] if value else []
        errors += [fields.invalid(SPEC.child(name), False, _UNSET_OR_TRUE)] if value is False else []
    text = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    if not given:
        errors.append(fields.required(SPEC, text))
    elif len(given) > 1:
        several = f"{text}, but multiple fields are set"
        errors.append(fields.invalid(SPEC, f"{{{', '.join(given)}}}", several))
    return errors


def _selector_errors(path: Path, selector: NodeSelector) -> Errors:
    errors = validate_node_selector(path, selector)
    terms = selector.node_selector_terms
    if len(terms) == 1:
        return errors
    where = path.child("nodeSelectorTerms")
    return [*errors, fields.invalid(where, terms, "must have exactly one node selector term")]


def _device_errors(path: Path, device: Device, *, by_device: bool) -> Errors:
    errors = checks.dns_label(path.child("name"), device.name)
    properties = len(device.attributes) + len(device.capacity)
    if properties > MAX_PROPERTIES:
        text = f"the total number of attributes and capacities must not exceed {MAX_PROPERTIES}"
        errors.append(fields.invalid(path, properties, text))
    for name, attribute in device.attributes.items():
        here = path.child("attributes").key(name)
        errors += attribute_name_errors(here, name) + _attribute_errors(here, attribute)
    for name, capacity in device.capacity.items():
        here = path.child("capacity").key(name)
        errors += attribute_name_errors(here, name)
        if capacity.request_policy is not None and not device.allow_multiple_allocations:
            text = "allowMultipleAllocations must be true"
            errors.append(fields.forbidden(here.child("requestPolicy"), text))
    errors += list_errors(path.child("taints"), device.taints, MAX_TAINTS, _taint_errors)
    here = path.child("consumesCounters")
    errors += list_errors(here, device.consumes_counters, MAX_CONSUMPTIONS, _consumption_errors)
    errors += duplicate_errors(here, (found.counter_set for found in device.consumes_counters))
    return errors + _device_node_errors(path, device, by_device=by_device) + _binding_errors(path, device)


def _attribute_errors(path: Path, attribute: DeviceAttribute) -> Errors:
    errors: Errors = []
    if attribute.string is not None and len(attribute.string.encode()) > LONGEST_VALUE:
        errors.append(fields.too_long(path.child("string"), LONGEST_VALUE))
    version, where = attribute.version, path.child("version")
    if version is not None and not _IS_SEMVER(version):
        text = "must be a string compatible with semver.org spec 2.0.0"
        errors.append(fields.invalid(where, version, text))
    if version is not None and len(version.encode()) > LONGEST_VALUE:
        errors.append(fields.too_long(where, LONGEST_VALUE))
    single = (attribute.bool_, attribute.int_, attribute.string, attribute.version)
    several = (attribute.bools, attribute.ints, attribute.strings, attribute.versions)
    given = sum(value is not None for value in single) + sum(bool(values) for values in several)
    if given != 1:
        shown = attribute if given else ""
        errors.append(fields.invalid(path, shown, "exactly one value must be specified"))
    return errors


def _taint_errors(path: Path, taint: DeviceTaint) -> Errors:
    errors = checks.label_name(path.child("key"), taint.key)
    value = taint.value or ""
    errors += fields.invalid_each(path.child("value"), value, names.label_value_errors(value))
    return errors + checks.required_one_of(path.child("effect"), taint.effect, EFFECTS)


def _counter_set_errors(path: Path, found: CounterSet) -> Errors:
    return _counter_errors(path, "name", found.name, found.counters)


def _consumption_errors(path: Path, found: DeviceCounterConsumption) -> Errors:
    return _counter_errors(path, "counterSet", found.counter_set, found.counters)


def _counter_errors(path: Path, field: str, name: str, counters: Mapping[str, Counter]) -> Errors:
    where = path.child(field)
    errors = checks.dns_label(where, name) if name else [fields.required(where)]
    where = path.child("counters")
    if not counters:
        return [*errors, fields.required(where)]
    if len(counters) > MAX_COUNTERS:
        return [*errors, fields.too_many(where, len(counters), MAX_COUNTERS)]
    for key in counters:
        errors += checks.dns_label(where.key(key), key)
    return errors


def _device_node_errors(path: Path, device: Device, *, by_device: bool) -> Errors:
    places = {
        "`nodeName`": device.node_name,
        "`nodeSelector`": device.node_selector,
        "`allNodes`": device.all_nodes,
    }
    if not by_device:
        if all(place is None for place in places.values()):
            return []
        text = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to "
            "true in the ResourceSlice spec"
        )
        return [fields.invalid(path, None, text)]
    errors: Errors = []
    if device.node_name:
        errors += checks.dns_subdomain(path.child("nodeName"), device.node_name)
    elif device.node_name is not None:
        errors.append(fields.invalid(path.child("nodeName"), "", "must not be empty"))
    if device.node_selector is not None:
        errors += validate_node_selector(path.child("nodeSelector"), device.node_selector)
    if device.all_nodes is False:
        errors.append(fields.invalid(path.child("allNodes"), False, _UNSET_OR_TRUE))
    given = [name for name, place in places.items() if place]
    text = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` "
        "is set to true in the ResourceSlice spec"
    )
    if not given:
        errors.append(fields.required(path, text))
    elif len(given) > 1:
        errors.append(fields.invalid(path, f"{{{', '.join(given)}}}", text))
    return errors


def _binding_errors(path: Path, device: Device) -> Errors:
    ready, failed = device.binding_conditions, device.binding_failure_conditions
    here, there = path.child("bindingConditions"), path.child("bindingFailureConditions")
    errors = list_errors(here, ready, MAX_CONDITIONS, checks.label_name)
    errors += list_errors(there, failed, MAX_CONDITIONS, checks.label_name)
    errors += duplicate_errors(here, ready) + duplicate_errors(there, failed)
    text = "bindingFailureConditions must not overlap with bindingConditions"
    for position, condition in enumerate(failed):
        errors += [fields.invalid(there.index(position), condition, text)] if condition in ready else []
    if failed and not ready:
        text = "bindingConditions are required to use bindingFailureConditions"
        errors.append(fields.invalid(here, ready, text))
    if ready and not failed:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(fields.invalid(there, failed, text))
    return errors
