"""Validation of the metrics and the scaling behavior of HorizontalPodAutoscalers.

Upstream: ``validateMetrics`` and ``validateBehavior`` in ``pkg/apis/autoscaling/validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podling.api.autoscaling_v2 import (
    ContainerResourceMetricSource,
    CrossVersionObjectReference,
    ExternalMetricSource,
    HorizontalPodAutoscalerBehavior,
    HPAScalingPolicy,
    HPAScalingRules,
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.resource_validation import container_resource_name_errors
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse

LONGEST_WINDOW = 3600
LONGEST_PERIOD = 1800
SELECT_POLICIES = ("Disabled", "Max", "Min")
POLICY_TYPES = ("Percent", "Pods")
TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_NOT_POSITIVE = "must be positive"


def reference_errors(
    path: Path, reference: CrossVersionObjectReference, *, in_group: bool = False, any_version: bool = False
) -> Errors:
    """Return the errors in a reference.

    Args:
        in_group: the version must name a group.
        any_version: the version may be malformed.
    """
    errors: Errors = []
    for name, value in (("kind", reference.kind), ("name", reference.name)):
        here = path.child(name)
        if not value:
            errors.append(fields.required(here))
        errors += fields.invalid_each(here, value, names.path_segment_errors(value))
    version = reference.api_version or ""
    text = "" if any_version else group_version_error(version, in_group=in_group)
    return [*errors, fields.invalid(path.child("apiVersion"), version, text)] if text else errors


def group_version_error(version: str, *, in_group: bool = False) -> str:
    """Return the error in an ``apiVersion``; it may be empty, unless it must name a group."""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if in_group and not version.rpartition("/")[0]:
        return "apiVersion must specify API group"
    return ""


def metric_errors(path: Path, metric: MetricSpec, *, any_version: bool = False) -> Errors:
    """Return the errors in a metric: its type and its only source must match.

    ``any_version``: a described object may have a malformed version. Of several sources only the first is
    checked.
    """
    errors: Errors = []
    where = path.child("type")
    if not metric.type:
        errors.append(fields.required(where, "must specify a metric source type"))
    known = metric.type in METRIC_TYPES
    if not known:
        errors.append(fields.not_supported(where, metric.type, METRIC_TYPES))
    present = [name for name, (attribute, _) in _SOURCES.items() if getattr(metric, attribute) is not None]
    for name in present[:1]:
        attribute, check = _SOURCES[name]
        options = {"any_version": any_version} if name == "object" else {}
        errors += check(path.child(name), getattr(metric, attribute), **options)
    expected = metric.type[:1].lower() + metric.type[1:]
    if not known:
        errors.append(fields.not_supported(where, metric.type, METRIC_TYPES))
    elif expected not in present:
        text = "must populate information for the given metric source"
        errors.append(fields.required(path.child(expected), text))
    if len(present) != 1:
        text = "must populate the given metric source only"
        errors += [fields.forbidden(path.child(name), text) for name in present if name != expected]
    return errors


def _object_errors(path: Path, source: ObjectMetricSource, *, any_version: bool) -> Errors:
    described = path.child("describedObject")
    errors = reference_errors(described, source.described_object, any_version=any_version)
    errors += _identifier_errors(path.child("metric"), source.metric)
    here = path.child("target")
    errors += _target_errors(here, source.target)
    if source.target.value is None and source.target.average_value is None:
        text = "must set either a target value or averageValue"
        errors.append(fields.required(here.child("averageValue"), text))
    return errors


def _external_errors(path: Path, source: ExternalMetricSource) -> Errors:
    errors = _identifier_errors(path.child("metric"), source.metric)
    here, target = path.child("target"), source.target
    errors += _target_errors(here, target)
    given = (target.value is not None, target.average_value is not None)
    either = "a target value for metric", "a per-pod target"
    return errors + _one_of_errors(given, either, here.child("averageValue"), here.child("value"))


def _pods_errors(path: Path, source: PodsMetricSource) -> Errors:
    errors = _identifier_errors(path.child("metric"), source.metric)
    here = path.child("target")
    errors += _target_errors(here, source.target)
    if source.target.average_value is None:
        text = "must specify a positive target averageValue"
        errors.append(fields.required(here.child("averageValue"), text))
    return errors


def _resource_errors(path: Path, source: ResourceMetricSource) -> Errors:
    where = path.child("name")
    errors = [] if source.name else [fields.required(where, "must specify a resource name")]
    return errors + _usage_errors(path.child("target"), source.target)


def _container_resource_errors(path: Path, source: ContainerResourceMetricSource) -> Errors:
    where = path.child("name")
    if source.name:
        errors = container_resource_name_errors(where, source.name)
    else:
        errors = [fields.required(where, "must specify a resource name")]
    where = path.child("container")
    if source.container:
        errors += checks.dns_label(where, source.container)
    else:
        errors.append(fields.required(where, "must specify a container"))
    return errors + _usage_errors(path.child("target"), source.target)


_SOURCES: Mapping[str, tuple[str, Callable[..., Errors]]] = {
    "object": ("object", _object_errors),
    "external": ("external", _external_errors),
    "pods": ("pods", _pods_errors),
    "resource": ("resource", _resource_errors),
    "containerResource": ("container_resource", _container_resource_errors),
}
"""The sources in the order in which they are checked."""

METRIC_TYPES = tuple(sorted(name[0].upper() + name[1:] for name in _SOURCES))


def _usage_errors(path: Path, target: MetricTarget) -> Errors:
    given = (target.average_value is not None, target.average_utilization is not None)
    either = "a target raw value", "a target utilization"
    where = path.child("averageUtilization"), path.child("averageValue")
    return _target_errors(path, target) + _one_of_errors(given, either, *where)


def _one_of_errors(given: tuple[bool, bool], either: tuple[str, str], missing: Path, both: Path) -> Errors:
    """Return an error unless exactly one of two fields is set, at the path ``missing`` or ``both``."""
    one, other = either
    if not any(given):
        return [fields.required(missing, f"must set either {one} or {other}")]
    if all(given):
        return [fields.forbidden(both, f"may not set both {one} and {other}")]
    return []


def _target_errors(path: Path, target: MetricTarget) -> Errors:
    errors: Errors = []
    where = path.child("type")
    if not target.type:
        errors.append(fields.required(where, "must specify a metric target type"))
    if target.type not in TARGET_TYPES:
        errors.append(
            fields.invalid(where, target.type, "must be either Utilization, Value, or AverageValue")
        )
    for name, value in (("value", target.value), ("averageValue", target.average_value)):
        if value is not None and parse(value) <= ZERO:
            errors.append(fields.invalid(path.child(name), value, _NOT_POSITIVE))
    if target.average_utilization is not None and target.average_utilization < 1:
        where = path.child("averageUtilization")
        errors.append(fields.invalid(where, target.average_utilization, "must be greater than 0"))
    return errors


def _identifier_errors(path: Path, metric: MetricIdentifier) -> Errors:
    where = path.child("name")
    if not metric.name:
        return [fields.required(where, "must specify a metric name")]
    return fields.invalid_each(where, metric.name, names.path_segment_errors(metric.name))


def behavior_errors(path: Path, behavior: HorizontalPodAutoscalerBehavior) -> Errors:
    errors: Errors = []
    for name, rules in (("scaleUp", behavior.scale_up), ("scaleDown", behavior.scale_down)):
        errors += [] if rules is None else _scaling_errors(path.child(name), rules)
    return errors


def _scaling_errors(path: Path, rules: HPAScalingRules) -> Errors:
    errors: Errors = []
    window, where = rules.stabilization_window_seconds, path.child("stabilizationWindowSeconds")
    if window is not None and window < 0:
        errors.append(fields.invalid(where, window, "must be greater than or equal to zero"))
    if window is not None and window > LONGEST_WINDOW:
        errors.append(fields.invalid(where, window, f"must be less than or equal to {LONGEST_WINDOW}"))
    if rules.select_policy is not None and rules.select_policy not in SELECT_POLICIES:
        where = path.child("selectPolicy")
        errors.append(fields.not_supported(where, rules.select_policy, SELECT_POLICIES))
    where = path.child("policies")
    if not rules.policies:
        errors.append(fields.required(where, "must specify at least one Policy"))
    for position, policy in enumerate(rules.policies):
        errors += _policy_errors(where.index(position), policy)
    if rules.tolerance is not None and parse(rules.tolerance) < ZERO:
        errors.append(fields.invalid(path.child("tolerance"), rules.tolerance, checks.NOT_NEGATIVE))
    return errors


def _policy_errors(path: Path, policy: HPAScalingPolicy) -> Errors:
    errors: Errors = []
    if policy.type not in POLICY_TYPES:
        errors.append(fields.not_supported(path.child("type"), policy.type, POLICY_TYPES))
    if policy.value <= 0:
        errors.append(fields.invalid(path.child("value"), policy.value, "must be greater than zero"))
    where, seconds = path.child("periodSeconds"), policy.period_seconds
    if seconds <= 0:
        errors.append(fields.invalid(where, seconds, "must be greater than zero"))
    if seconds > LONGEST_PERIOD:
        errors.append(fields.invalid(where, seconds, f"must be less than or equal to {LONGEST_PERIOD}"))
    return errors
