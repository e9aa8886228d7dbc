"""HorizontalPodAutoscalers, whose stored form is ``autoscaling/v2``.

Upstream: ``pkg/apis/autoscaling``, ``printHorizontalPodAutoscaler`` in ``pkg/printers/internalversion``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.autoscaling_v2 import (
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerBehavior,
    HorizontalPodAutoscalerSpec,
    HPAScalingPolicy,
    HPAScalingRules,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
)
from podling.apiserver.kinds.apps.metric_validation import (
    behavior_errors,
    group_version_error,
    metric_errors,
    reference_errors,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.autoscaler_views import (
    DEFAULT_UTILIZATION,
    cpu_metric,
    without_round_trip,
)
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, NONE, UNKNOWN, UNSET, age, to_stored_kind
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.tables import Column

SPEC, STATUS = Path("spec"), Path("status")
SHOWN_METRICS = 2


class AutoscalerRules(KindRules[HorizontalPodAutoscaler]):
    status_subresource = True
    columns = (
        NAME,
        Column("Reference", description="What is scaled"),
        Column("Targets", description="Present and wanted values of the metrics"),
        Column("MinPods", description="The fewest replicas"),
        Column("MaxPods", description="The most replicas"),
        Column("Replicas", description="Replicas now"),
        AGE,
    )

    def default(self, obj: HorizontalPodAutoscaler) -> HorizontalPodAutoscaler:
        spec = fill_absent(obj.spec, min_replicas=1)
        if not spec.metrics:
            spec = change(spec, metrics=(cpu_metric(DEFAULT_UTILIZATION),))
        if spec.behavior is not None:
            spec = change(spec, behavior=_default_behavior(spec.behavior))
        return change(obj, spec=spec, metadata=without_round_trip(obj.metadata))

    def validate(self, obj: HorizontalPodAutoscaler, context: Context) -> Errors:
        return _spec_errors(obj.spec, None)

    def validate_update(
        self, new: HorizontalPodAutoscaler, old: HorizontalPodAutoscaler, context: Context
    ) -> Errors:
        if context.subresource != "status":
            return _spec_errors(new.spec, old.spec)
        errors = checks.non_negative(STATUS.child("currentReplicas"), new.status.current_replicas)
        return errors + checks.non_negative(STATUS.child("desiredReplicas"), new.status.desired_replicas)

    def row(self, obj: Any, now: datetime) -> Sequence[Any]:
        """Return the same cells for an autoscaler of either version."""
        obj = to_stored_kind(obj)
        target = obj.spec.scale_target_ref
        least = obj.spec.min_replicas
        return (
            obj.metadata.name,
            f"{target.kind}/{target.name}",
            _targets(obj),
            UNSET if least is None else str(least),
            obj.spec.max_replicas,
            obj.status.current_replicas or 0,
            age(obj, now),
        )


def _spec_errors(spec: HorizontalPodAutoscalerSpec, old: HorizontalPodAutoscalerSpec | None) -> Errors:
    """Return the errors in a spec; malformed versions and zero replicas in ``old`` stay valid."""
    fewest = 0 if old is not None and old.min_replicas == 0 else 1
    any_version = old is not None and any(map(_has_malformed_version, old.metrics))
    errors: Errors = []
    least, where = spec.min_replicas, SPEC.child("maxReplicas")
    if least is not None and least < fewest:
        text = f"must be greater than or equal to {fewest}"
        errors.append(fields.invalid(SPEC.child("minReplicas"), least, text))
    if spec.max_replicas < 1:
        errors.append(fields.invalid(where, spec.max_replicas, "must be greater than 0"))
    if least is not None and spec.max_replicas < least:
        text = "must be greater than or equal to `minReplicas`"
        errors.append(fields.invalid(where, spec.max_replicas, text))
    errors += _target_errors(spec, old)
    for position, metric in enumerate(spec.metrics):
        errors += metric_errors(SPEC.child("metrics").index(position), metric, any_version=any_version)
    if least == 0 and not any(metric.type in ("Object", "External") for metric in spec.metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(fields.forbidden(SPEC.child("metrics"), text))
    if spec.behavior is not None:
        errors += behavior_errors(SPEC.child("behavior"), spec.behavior)
    return errors


def _target_errors(spec: HorizontalPodAutoscalerSpec, old: HorizontalPodAutoscalerSpec | None) -> Errors:
    """Return an error for a target in the core group other than a ReplicationController."""
    target, before = spec.scale_target_ref, old.scale_target_ref if old is not None else None
    return reference_errors(
        SPEC.child("scaleTargetRef"),
        target,
        in_group=target.kind != "ReplicationController",
        any_version=before is not None
        and (before.api_version, before.kind) == (target.api_version, target.kind),
    )


def _has_malformed_version(metric: MetricSpec) -> bool:
    """Return whether a stored metric describes an object with an invalid ``apiVersion``."""
    source = metric.object if metric.type == "Object" else None
    return source is not None and bool(group_version_error(source.described_object.api_version or ""))


def _default_behavior(behavior: HorizontalPodAutoscalerBehavior) -> HorizontalPodAutoscalerBehavior:
    up = (HPAScalingPolicy(type="Pods", value=4, period_seconds=15), _percent_policy())
    scale_up = fill_absent(
        behavior.scale_up or HPAScalingRules(), stabilization_window_seconds=0, select_policy="Max"
    )
    scale_down = fill_absent(behavior.scale_down or HPAScalingRules(), select_policy="Max")
    return change(
        behavior,
        scale_up=scale_up if scale_up.policies else change(scale_up, policies=up),
        scale_down=scale_down if scale_down.policies else change(scale_down, policies=(_percent_policy(),)),
    )


def _percent_policy() -> HPAScalingPolicy:
    return HPAScalingPolicy(type="Percent", value=100, period_seconds=15)


_SOURCES = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "container_resource",
}


def _targets(obj: HorizontalPodAutoscaler) -> str:
    if not obj.spec.metrics:
        return NONE
    statuses = obj.status.current_metrics
    found = []
    for position, metric in enumerate(obj.spec.metrics):
        status = statuses[position] if position < len(statuses) else None
        found.append(_target_text(metric, status))
    text = ", ".join(found[:SHOWN_METRICS])
    more = len(found) - SHOWN_METRICS
    return f"{text} + {more} more..." if more > 0 else text


def _target_text(metric: MetricSpec, status: MetricStatus | None) -> str:
    attribute = _SOURCES.get(metric.type)
    source = getattr(metric, attribute) if attribute else None
    if source is None:
        return "<unknown type>"
    seen = getattr(status, attribute) if status is not None and attribute else None
    current = seen.current if seen is not None else None
    if metric.type in ("Resource", "ContainerResource"):
        return f"{source.name}: {_resource_amounts(source.target, current)}"
    amounts = _amounts(source.target, current)
    averaged = metric.type != "Pods" and source.target.average_value is not None
    return f"{amounts} (avg)" if averaged else amounts


def _resource_amounts(target: MetricTarget, current: MetricValueStatus | None) -> str:
    if target.average_value is not None:
        return _amounts(target, current)
    seen = None if current is None else current.average_utilization
    wanted = "<auto>" if target.average_utilization is None else f"{target.average_utilization}%"
    return f"{UNKNOWN if seen is None else f'{seen}%'}/{wanted}"


def _amounts(target: MetricTarget, current: MetricValueStatus | None) -> str:
    if target.average_value is not None:
        seen = None if current is None else current.average_value
        return f"{seen or UNKNOWN}/{target.average_value}"
    seen = None if current is None else current.value
    return f"{seen or UNKNOWN}/{target.value}"
