"""What only ``autoscaling/v2`` can say of an autoscaler, as text in annotations of ``v1``, and read back.

The metrics stand there in the words of ``v1``, the behaviour in those of a type without names for JSON: Go's.
What cannot be read counts as not said.

Rejected: keeping a target value of 0, which ``v1`` writes where ``v2`` says nothing. No target may be 0, so
it can mean nothing else, and Kubernetes refuses what it has written itself there.

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
"""Annotations of the conversion alone: no stored object has them."""

Paths = Sequence[tuple[str, str] | tuple[str, str, str]]
"""Of a metric: its name in ``v1``, where ``v2`` has it, and what ``v1`` says if ``v2`` says nothing."""

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
    """What ``v1`` has no fields for; ``others`` are the metrics that it cannot say."""
    status, behavior = scaler.status, scaler.spec.behavior
    found: dict[str, str] = {}
    if others:
        found[METRICS] = _text([_shown(codec.to_plain(each), _SPEC) for each in others])
    if status.current_metrics:
        current = [_shown(codec.to_plain(each), _STATUS) for each in status.current_metrics]
        found[CURRENT_METRICS] = _text(current)
    if behavior is not None:
        found[BEHAVIOR] = _text(_shown_behavior(codec.to_plain(behavior)))
    if status.conditions:
        found[CONDITIONS] = _text([_shown_condition(codec.to_plain(each)) for each in status.conditions])
    return found


def _text(plain: Any) -> str:
    return msgspec.json.encode(plain).decode()


def _shown(metric: dict[str, Any], sources: Mapping[str, Paths]) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": metric["type"]}
    for name, paths in sources.items():
        source = metric.get(name)
        if source is None:
            continue
        fields = {path[0]: _at(source, path[1], *path[2:]) for path in paths}
        shown[name] = {key: value for key, value in fields.items() if value is not None}
    return shown


def _at(source: dict[str, Any], path: str, otherwise: Any = None) -> Any:
    outer, _, inner = path.partition(".")
    value = source.get(outer)
    if inner:
        value = (value or {}).get(inner)
    if outer == "describedObject" and value is not None:
        value = {key: value[key] for key in ("kind", "name", "apiVersion") if key in value}
    return otherwise if value is None else value


def _shown_behavior(behavior: dict[str, Any]) -> dict[str, Any]:
    """As Kubernetes writes it: a type that has no names for JSON, so the names are Go's."""
    return {name: _shown_rules(behavior.get(_camel(name))) for name in ("ScaleUp", "ScaleDown")}


def _shown_rules(rules: dict[str, Any] | None) -> dict[str, Any] | None:
    if rules is None:
        return None
    shown = {name: rules.get(_camel(name)) for name in _RULES}
    if shown["Policies"] is not None:
        shown["Policies"] = [{name: each.get(_camel(name)) for name in _POLICY} for each in shown["Policies"]]
    return shown


def _shown_condition(condition: dict[str, Any]) -> dict[str, Any]:
    order = ("type", "status", "lastTransitionTime", "reason", "message")
    return {key: condition.get(key) for key in order if key in condition or key == "lastTransitionTime"}


def _camel(name: str) -> str:
    return name[:1].lower() + name[1:]


def metrics_in(text: str) -> tuple[MetricSpec, ...]:
    plain = {"metrics": [_read(each, _SPEC) for each in _objects(text)]}
    return _convert(plain, HorizontalPodAutoscalerSpec).metrics


def statuses_in(text: str) -> tuple[MetricStatus, ...]:
    plain = {"currentMetrics": [_read(each, _STATUS) for each in _objects(text)]}
    return _convert(plain, HorizontalPodAutoscalerStatus).current_metrics


def conditions_in(text: str) -> tuple[HorizontalPodAutoscalerCondition, ...]:
    plain = {"conditions": _objects(text)}
    return _convert(plain, HorizontalPodAutoscalerStatus).conditions


def behavior_in(text: str) -> HorizontalPodAutoscalerBehavior | None:
    plain = {"behavior": _lowered(_json(text))}
    found = _convert(plain, HorizontalPodAutoscalerSpec).behavior
    return None if found == HorizontalPodAutoscalerBehavior() else found


def _convert(plain: Any, kind: type[T]) -> T:
    """``plain`` as ``kind``; what does not fit says nothing at all."""
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


def _lowered(value: Any) -> Any:
    """Data whose keys are Go's names, with the keys that JSON has for them."""
    if isinstance(value, dict):
        return {_camel(key): _lowered(item) for key, item in value.items()}
    return [_lowered(item) for item in value] if isinstance(value, list) else value


def _read(metric: dict[str, Any], sources: Mapping[str, Paths]) -> dict[str, Any]:
    read: dict[str, Any] = {"type": metric.get("type")}
    for name, paths in sources.items():
        source = metric.get(name)
        if not isinstance(source, dict):
            continue
        found: dict[str, Any] = {}
        for path in paths:
            _put(found, path[1], source.get(path[0], *path[2:]))
        if sources is _SPEC:
            _complete_target(name, found.setdefault("target", {}))
        read[name] = found
    return read


def _put(source: dict[str, Any], path: str, value: Any) -> None:
    outer, _, inner = path.partition(".")
    if value is None:
        return
    if inner:
        source.setdefault(outer, {})[inner] = value
    else:
        source[outer] = value


def _complete_target(name: str, target: dict[str, Any]) -> None:
    """Say of what type a target is: ``v1`` leaves that to what is set."""
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
