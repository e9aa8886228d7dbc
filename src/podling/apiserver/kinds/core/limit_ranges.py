"""LimitRanges: the least, most and default resources of each object in a namespace.

Upstream: ``ValidateLimitRange`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import (
    LimitRange,
    LimitRangeItem,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import NAME, UNKNOWN
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, map_items
from podling.apiserver.kinds.pod.resource_validation import (
    container_resource_name_errors,
    may_overcommit,
    resource_name_errors,
)
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, Quantity, of, parse
from podling.machinery.tables import Column

LIMITS = Path("spec.limits")
LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")


class LimitRangeRules(KindRules[LimitRange]):
    create_on_update = True
    uuid_as_name = True
    columns = (NAME, Column("Created At", type="date", description="When the object was created"))

    def default(self, obj: LimitRange) -> LimitRange:
        return change(obj, spec=change(obj.spec, limits=map_items(obj.spec.limits, _default_item)))

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
    """Return an item for containers with its default limit and default request."""
    if item.type != "Container":
        return item
    default = {**item.max, **item.default}
    request = {**item.min, **default, **item.default_request}
    # Precedence: the given request, then the default limit, then the minimum.
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
        errors += _consistency_errors(path, item, name)
    return errors


def _storage_errors(path: Path, item: LimitRangeItem) -> Errors:
    if item.type != "PersistentVolumeClaim" or "storage" in (item.min.keys() | item.max.keys()):
        return []
    text = "either minimum or maximum storage value is required, but neither was provided"
    return [fields.required(path.child("limits"), text)]


def _consistency_errors(path: Path, item: LimitRangeItem, name: str) -> Errors:
    """Return errors unless min <= default request <= default <= max, and the ratio is at least one."""
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
            # For a default, upstream shows the bound that it violates.
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
