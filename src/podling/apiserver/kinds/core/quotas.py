"""LimitRanges and ResourceQuotas: what a namespace may use, per object and in all.

Upstream: ``ValidateLimitRange`` and ``ValidateResourceQuota`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import (
    LimitRange,
    LimitRangeItem,
    ResourceQuota,
    ResourceQuotaSpec,
    ScopedResourceSelectorRequirement,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, UNKNOWN, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, each
from podling.apiserver.kinds.pod.resource_validation import (
    container_resource_name_errors,
    may_overcommit,
    quantity_errors,
    resource_name_errors,
)
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, Quantity, of, parse
from podling.machinery.resource_names import is_huge_page
from podling.machinery.tables import Column

LIMITS = Path("spec.limits")
LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
QUOTA_RESOURCES = frozenset({
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
    "persistentvolumeclaims", "configmaps", "pods", "replicationcontrollers", "resourcequotas", "secrets",
    "services", "services.loadbalancers", "services.nodeports",
})  # fmt: skip
"""Unprefixed resources that a quota may limit (beside huge pages)."""

SCOPES = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
    "CrossNamespacePodAffinity", "VolumeAttributesClass",
)  # fmt: skip
_EXCLUSIVE = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTENCE_SCOPES = (*SCOPES[:4], "CrossNamespacePodAffinity")
_EFFORT_SCOPES = ("BestEffort",)
_POD_SCOPES = ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
POD_RESOURCES = frozenset({
    "cpu", "memory", "ephemeral-storage", "pods", "requests.cpu", "requests.memory",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
})  # fmt: skip
"""What is counted of pods, and can be limited for some of them alone."""

_NOT_APPLICABLE = "unsupported scope applied to resource"
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


class LimitRangeRules(KindRules[LimitRange]):
    create_on_update = True
    columns = (NAME, Column("Created At", type="date", description="When the object was created"))

    def default(self, obj: LimitRange) -> LimitRange:
        return change(obj, spec=change(obj.spec, limits=each(obj.spec.limits, _default_item)))

    def prepare_create(self, obj: LimitRange, context: Context) -> LimitRange:
        """Return the object with its UID as its name, if it has none."""
        if obj.metadata.name:
            return obj
        return change(obj, metadata=change(obj.metadata, name=obj.metadata.uid))

    def validate(self, obj: LimitRange, context: Context) -> Errors:
        errors: Errors = []
        seen: set[str] = set()
        for position, item in enumerate(obj.spec.limits):
            here = LIMITS.index(position)
            errors += _type_errors(here.child("type"), item.type)
            errors += [fields.duplicate(here.child("type"), item.type)] if item.type in seen else []
            seen.add(item.type)
            errors += _item_errors(here, item)
        return errors

    def row(self, obj: LimitRange, now: datetime) -> Sequence[Any]:
        created = obj.metadata.creation_timestamp
        return obj.metadata.name, UNKNOWN if created is None else created.strftime("%Y-%m-%dT%H:%M:%SZ")


def _type_errors(path: Path, name: str) -> Errors:
    errors = checks.label_name(path, name)
    if errors or "/" in name or name in LIMIT_TYPES:
        return errors
    return [fields.invalid(path, name, "must be a standard limit type or fully qualified")]


def _default_item(item: LimitRangeItem) -> LimitRangeItem:
    """For containers a maximum is also the default limit, which (or the minimum) is the default request."""
    if item.type != "Container":
        return item
    default = {**item.max, **item.default}
    request = {**item.min, **default, **item.default_request}
    # What was given comes first, then the default limit, then the minimum.
    if default == item.default and request == item.default_request:
        return item
    return change(item, default=default, default_request=request)


def _item_errors(path: Path, item: LimitRangeItem) -> Errors:
    errors: Errors = []
    check = container_resource_name_errors if item.type in ("Pod", "Container") else resource_name_errors
    for field, resources in (
        ("max", item.max),
        ("min", item.min),
        ("default", item.default),
        ("defaultRequest", item.default_request),
        ("maxLimitRequestRatio", item.max_limit_request_ratio),
    ):
        if item.type == "Pod" and field.startswith("default"):
            text = "may not be specified when `type` is 'Pod'"
            errors += [fields.forbidden(path.child(field), text)] if resources else []
            continue
        if field == "maxLimitRequestRatio":
            errors += _storage_errors(path, item)
        for name in resources:
            errors += check(path.child(field).key(name), name)
    if item.type == "Pod":
        item = change(item, default={}, default_request={})
    names = item.max.keys() | item.min.keys() | item.default.keys() | item.default_request.keys()
    for name in sorted(names | item.max_limit_request_ratio.keys()):
        errors += _consistent(path, item, name)
    return errors


def _storage_errors(path: Path, item: LimitRangeItem) -> Errors:
    if item.type != "PersistentVolumeClaim" or "storage" in (item.min.keys() | item.max.keys()):
        return []
    text = "either minimum or maximum storage value is required, but neither was provided"
    return [fields.required(path.child("limits"), text)]


def _consistent(path: Path, item: LimitRangeItem, name: str) -> Errors:
    """min <= default request <= default <= max, and a ratio of at least one."""
    least, most = _amount(item.min, name), _amount(item.max, name)
    default, request = _amount(item.default, name), _amount(item.default_request, name)
    errors: Errors = []
    for field, low, low_name, high, high_name in (
        ("min", least, "min", most, "max"),
        ("defaultRequest", least, "min", request, "default request"),
        ("defaultRequest", request, "default request", most, "max"),
        ("defaultRequest", request, "default request", default, "default limit"),
        ("default", least, "min", default, "default"),
        ("default", default, "default", most, "max"),
    ):
        if low is not None and high is not None and low > high:
            text = f"{low_name} value {low} is greater than {high_name} value {high}"
            # Of a default, upstream shows the bound that it is beyond.
            shown = request if field == "defaultRequest" else high if high_name == "max" else low
            shown = least if field == "min" else shown
            errors.append(fields.invalid(path.child(field).key(name), str(shown), text))
    ratio = _amount(item.max_limit_request_ratio, name)
    if ratio is not None and ratio < of(1):
        where = path.child("maxLimitRequestRatio").key(name)
        errors.append(fields.invalid(where, str(ratio), f"ratio {ratio} is less than 1"))
    if ratio is not None and least is not None and most is not None and least > ZERO:
        highest = most.milli_value / least.milli_value
        if ratio.milli_value / 1000 > highest:
            text = f"ratio {ratio} is greater than max/min = {highest:f}"
            errors.append(fields.invalid(path.child("maxLimitRequestRatio").key(name), str(ratio), text))
    if default is not None and request is not None and default != request and not may_overcommit(name):
        text = f"default value {default} must equal to defaultRequest value {request} in {name}"
        errors.append(fields.invalid(path.child("defaultRequest").key(name), str(request), text))
    return errors


def _amount(resources: Mapping[str, str], name: str) -> Quantity | None:
    return parse(resources[name]) if name in resources else None


class ResourceQuotaRules(KindRules[ResourceQuota]):
    status_subresource = True
    returns_deleted = True
    columns = (
        NAME,
        Column("Request", description="What is used and allowed of requests and objects"),
        Column("Limit", description="What is used and allowed of limits"),
        AGE,
    )

    def validate(self, obj: ResourceQuota, context: Context) -> Errors:
        return _amount_errors(Path("spec.hard"), obj.spec.hard) + _scope_errors(obj.spec)

    def validate_update(self, new: ResourceQuota, old: ResourceQuota, context: Context) -> Errors:
        if context.subresource == "status":
            errors = _amount_errors(Path("status.hard"), new.status.hard)
            return errors + _amount_errors(Path("status.used"), new.status.used)
        errors = self.validate(new, context)
        if sorted(new.spec.scopes) != sorted(old.spec.scopes):
            errors.append(fields.invalid(Path("spec.scopes"), new.spec.scopes, checks.IMMUTABLE))
        return errors

    def row(self, obj: ResourceQuota, now: datetime) -> Sequence[Any]:
        requests: list[str] = []
        limits: list[str] = []
        for name in sorted(obj.status.hard):
            used = obj.status.used.get(name, "0")
            text = f"{name}: {used}/{obj.status.hard[name]}"
            (limits if name.startswith("limits.") else requests).append(text)
        return obj.metadata.name, ", ".join(requests), ", ".join(limits), age(obj, now)


def quota_name_errors(path: Path, name: str) -> Errors:
    errors = resource_name_errors(path, name)
    if "/" in name or name in QUOTA_RESOURCES or is_huge_page(name.removeprefix("requests.")):
        return errors
    return [*errors, fields.invalid(path, name, "must be a standard resource for quota")]


def _amount_errors(path: Path, amounts: Mapping[str, str]) -> Errors:
    errors: Errors = []
    for name, value in sorted(amounts.items()):
        errors += quota_name_errors(path.key(name), name)
        errors += quantity_errors(path.key(name), name, parse(value))
    return errors


def _scope_errors(spec: ResourceQuotaSpec) -> Errors:
    path = Path("spec.scopes")
    errors: Errors = []
    for scope in spec.scopes:
        if scope not in SCOPES:
            errors.append(fields.invalid(path, spec.scopes, "unsupported scope"))
        errors += [fields.invalid(path, spec.scopes, _NOT_APPLICABLE) for _ in _out_of_scope(scope, spec)]
    errors += _conflicts(spec, set(spec.scopes))
    if spec.scope_selector is None:
        return errors
    here = Path("spec.scopeSelector.matchExpressions")
    for requirement in spec.scope_selector.match_expressions:
        scope = requirement.scope_name
        if scope not in SCOPES:
            errors.append(fields.invalid(here.child("scopeName"), scope, "unsupported scope"))
        errors += [
            fields.invalid(here, spec.scope_selector, _NOT_APPLICABLE) for _ in _out_of_scope(scope, spec)
        ]
        errors += _operator_errors(here, requirement)
    chosen = {requirement.scope_name for requirement in spec.scope_selector.match_expressions}
    return errors + _conflicts(spec, chosen)


def _conflicts(spec: ResourceQuotaSpec, chosen: set[str]) -> Errors:
    path = Path("spec.scopes")
    return [
        fields.invalid(path, spec.scopes, "conflicting scopes") for pair in _EXCLUSIVE if set(pair) <= chosen
    ]


def _out_of_scope(scope: str, spec: ResourceQuotaSpec) -> list[str]:
    """The limited resources that ``scope`` says nothing about."""
    if scope in _POD_SCOPES:
        valid = POD_RESOURCES
    elif scope in _EFFORT_SCOPES:
        valid = frozenset({"pods"})
    elif scope == "VolumeAttributesClass":
        valid = frozenset({"persistentvolumeclaims", "requests.storage"})
    else:
        return []
    return [name for name in sorted(spec.hard) if name in QUOTA_RESOURCES and name not in valid]


def _operator_errors(path: Path, requirement: ScopedResourceSelectorRequirement) -> Errors:
    where, values, operator = path.child("operator"), requirement.values, requirement.operator
    errors: Errors = []
    if requirement.scope_name in _EXISTENCE_SCOPES and operator != "Exists":
        errors.append(fields.invalid(where, operator, _ONLY_EXISTS))
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(fields.required(path.child("values"), text))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(fields.invalid(path.child("values"), values, text))
    else:
        errors.append(fields.invalid(where, operator, "not a valid selector operator"))
    return errors
