"""The fields of ``autoscaling/v2`` autoscalers that ``v1`` lacks, as JSON in annotations of ``v1``.

Metrics are written in the form of ``v1``. The behavior is written with Go's field names, since its type
upstream has no JSON names. JSON that cannot be parsed counts as absent.

Rejected: keeping a target value of 0, which ``v1`` writes where ``v2`` has none. No target may be 0, so it
can mean nothing else, and Kubernetes rejects the 0 that it wrote itself.

Upstream: ``pkg/apis/autoscaling/v1/conversion.go``, ``pkg/apis/autoscaling/annotations.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from podling.api.autoscaling_v2 import (
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerBehavior,
    HorizontalPodAutoscalerCondition,
    HorizontalPodAutoscalerSpec,
    HorizontalPodAutoscalerStatus,
    MetricSpec,
    MetricStatus,
)
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError

PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, CURRENT_METRICS = PREFIX + "metrics", PREFIX + "current-metrics"
BEHAVIOR, CONDITIONS = PREFIX + "behavior", PREFIX + "conditions"
ROUND_TRIP = frozenset({
    METRICS, CURRENT_METRICS, BEHAVIOR, CONDITIONS,
    PREFIX + "scale-down-tolerance", PREFIX + "scale-up-tolerance",
})  # fmt: skip
"""Annotations that exist only in ``v1`` objects; stored objects do not have them."""

Paths = Sequence[tuple[str, str] | tuple[str, str, str]]
"""Fields of a metric: the name in ``v1``, the path in ``v2``, and the default of ``v1`` where ``v2`` is
unset."""

_USAGE: Paths = (
    ("name", "name"),
    ("targetAverageUtilization", "target.averageUtilization"),
    ("targetAverageValue", "target.averageValue"),
)
_SPEC: Mapping[str, Paths] = {
    "object": (
        ("target", "describedObject"),
        ("metricName", "metric.name"),
        ("targetValue", "target.value", "0"),
        ("selector", "metric.selector"),
        ("averageValue", "target.averageValue"),
    ),
    "pods": (
        ("metricName", "metric.name"),
        ("targetAverageValue", "target.averageValue", "0"),
        ("selector", "metric.selector"),
    ),
    "resource": _USAGE,
    "containerResource": (*_USAGE, ("container", "container")),
    "external": (
        ("metricName", "metric.name"),
        ("metricSelector", "metric.selector"),
        ("targetValue", "target.value"),
        ("targetAverageValue", "target.averageValue"),
    ),
}
_USED: Paths = (
    ("name", "name"),
    ("currentAverageUtilization", "current.averageUtilization"),
    ("currentAverageValue", "current.averageValue", "0"),
)
_STATUS: Mapping[str, Paths] = {
    "object": (
        ("target", "describedObject"),
        ("metricName", "metric.name"),
        ("currentValue", "current.value", "0"),
        ("selector", "metric.selector"),
        ("averageValue", "current.averageValue"),
    ),
    "pods": (
        ("metricName", "metric.name"),
        ("currentAverageValue", "current.averageValue", "0"),
        ("selector", "metric.selector"),
    ),
    "resource": _USED,
    "containerResource": (*_USED, ("container", "container")),
    "external": (
        ("metricName", "metric.name"),
        ("metricSelector", "metric.selector"),
        ("currentValue", "current.value", "0"),
        ("currentAverageValue", "current.averageValue"),
    ),
}
_RULES = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY = ("Type", "Value", "PeriodSeconds")

T = TypeVar("T")


def annotations_of(scaler: HorizontalPodAutoscaler, others: Sequence[MetricSpec]) -> dict[str, str]:
    """Return the annotations for fields that ``v1`` lacks; ``others`` are the metrics without a field."""
    status, behavior = scaler.status, scaler.spec.behavior
    found: dict[str, str] = {}
    if others:
        found[METRICS] = _text([_metric_in_v1_form(codec.to_plain(each), _SPEC) for each in others])
    if status.current_metrics:
        current = [_metric_in_v1_form(codec.to_plain(each), _STATUS) for each in status.current_metrics]
        found[CURRENT_METRICS] = _text(current)
    if behavior is not None:
        found[BEHAVIOR] = _text(_behavior_in_go_form(codec.to_plain(behavior)))
    if status.conditions:
        found[CONDITIONS] = _text([_condition_in_v1_form(codec.to_plain(each)) for each in status.conditions])
    return found


def _text(plain: Any) -> str:
    return msgspec.json.encode(plain).decode()


def _metric_in_v1_form(metric: dict[str, Any], sources: Mapping[str, Paths]) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": metric["type"]}
    for name, paths in sources.items():
        source = metric.get(name)
        if source is None:
            continue
        fields = {path[0]: _value_at(source, path[1], *path[2:]) for path in paths}
        shown[name] = {key: value for key, value in fields.items() if value is not None}
    return shown


def _value_at(source: dict[str, Any], path: str, otherwise: Any = None) -> Any:
    outer, _, inner = path.partition(".")
    value = source.get(outer)
    if inner:
        value = (value or {}).get(inner)
    if outer == "describedObject" and value is not None:
        value = {key: value[key] for key in ("kind", "name", "apiVersion") if key in value}
    return otherwise if value is None else value


def _behavior_in_go_form(behavior: dict[str, Any]) -> dict[str, Any]:
    """Return the behavior with Go's field names: its type upstream has no JSON names."""
    return {name: _rules_in_go_form(behavior.get(_camel(name))) for name in ("ScaleUp", "ScaleDown")}


def _rules_in_go_form(rules: dict[str, Any] | None) -> dict[str, Any] | None:
    if rules is None:
        return None
    shown = {name: rules.get(_camel(name)) for name in _RULES}
    if shown["Policies"] is not None:
        shown["Policies"] = [{name: each.get(_camel(name)) for name in _POLICY} for each in shown["Policies"]]
    return shown


def _condition_in_v1_form(condition: dict[str, Any]) -> dict[str, Any]:
    order = ("type", "status", "lastTransitionTime", "reason", "message")
    return {key: condition.get(key) for key in order if key in condition or key == "lastTransitionTime"}


def _camel(name: str) -> str:
    return name[:1].lower() + name[1:]


def metrics_in(text: str) -> tuple[MetricSpec, ...]:
    plain = {"metrics": [_metric_from_v1_form(each, _SPEC) for each in _objects(text)]}
    return _convert(plain, HorizontalPodAutoscalerSpec).metrics


def statuses_in(text: str) -> tuple[MetricStatus, ...]:
    plain = {"currentMetrics": [_metric_from_v1_form(each, _STATUS) for each in _objects(text)]}
    return _convert(plain, HorizontalPodAutoscalerStatus).current_metrics


def conditions_in(text: str) -> tuple[HorizontalPodAutoscalerCondition, ...]:
    plain = {"conditions": _objects(text)}
    return _convert(plain, HorizontalPodAutoscalerStatus).conditions


def behavior_in(text: str) -> HorizontalPodAutoscalerBehavior | None:
    plain = {"behavior": _json_names_from_go(_json(text))}
    found = _convert(plain, HorizontalPodAutoscalerSpec).behavior
    return None if found == HorizontalPodAutoscalerBehavior() else found


def _convert(plain: Any, kind: type[T]) -> T:
    """Return ``plain`` as ``kind``; an empty ``kind`` if it does not fit."""
    try:
        return codec.convert(plain, kind, "Ignore")[0]
    except ApiError:
        return kind()


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _objects(text: str) -> list[dict[str, Any]]:
    found = _json(text)
    whole = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if whole else []


def _json_names_from_go(value: Any) -> Any:
    """Return data with its Go field names replaced by JSON names."""
    if isinstance(value, dict):
        return {_camel(key): _json_names_from_go(item) for key, item in value.items()}
    return [_json_names_from_go(item) for item in value] if isinstance(value, list) else value


def _metric_from_v1_form(metric: dict[str, Any], sources: Mapping[str, Paths]) -> dict[str, Any]:
    read: dict[str, Any] = {"type": metric.get("type")}
    for name, paths in sources.items():
        source = metric.get(name)
        if not isinstance(source, dict):
            continue
        found: dict[str, Any] = {}
        for path in paths:
            _set_at(found, path[1], source.get(path[0], *path[2:]))
        if sources is _SPEC:
            _complete_target(name, found.setdefault("target", {}))
        read[name] = found
    return read


def _set_at(source: dict[str, Any], path: str, value: Any) -> None:
    outer, _, inner = path.partition(".")
    if value is None:
        return
    if inner:
        source.setdefault(outer, {})[inner] = value
    else:
        source[outer] = value


def _complete_target(name: str, target: dict[str, Any]) -> None:
    """Set the type of a target: ``v1`` implies it by the field that is set."""
    if name == "object" and "averageValue" in target and target.get("value") == "0":
        del target["value"]
    if name == "pods":
        target["type"] = "AverageValue"
    elif name == "object":
        target["type"] = "AverageValue" if "averageValue" in target else "Value"
    elif name == "external":
        target["type"] = "Value" if "value" in target else "AverageValue"
    else:
        target["type"] = "Utilization" if "averageUtilization" in target else "AverageValue"
