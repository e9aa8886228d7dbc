"""Conversion of autoscalers to ``autoscaling/v1``, which has fields for a single CPU target, and back.

All other fields are kept in annotations (``autoscaler_annotations``), so a client that reads an autoscaler as
``v1`` and writes it back loses nothing.

Upstream: ``pkg/apis/autoscaling/v1/conversion.go``, ``pkg/apis/autoscaling/helpers.go``.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.api import autoscaling_v1, autoscaling_v2
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common.autoscaler_annotations import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    ROUND_TRIP,
    annotations_of,
    behavior_in,
    conditions_in,
    metrics_in,
    statuses_in,
)

DEFAULT_UTILIZATION = 80
"""The default target of CPU utilization, in per cent of the requests."""


def without_round_trip(metadata: ObjectMeta) -> ObjectMeta:
    """Return ``metadata`` without the annotations of the conversion."""
    if ROUND_TRIP.isdisjoint(metadata.annotations):
        return metadata
    kept = {key: value for key, value in metadata.annotations.items() if key not in ROUND_TRIP}
    return structs.replace(metadata, annotations=kept)


def v1_from_v2(scaler: autoscaling_v2.HorizontalPodAutoscaler) -> autoscaling_v1.HorizontalPodAutoscaler:
    """Return a stored autoscaler as ``v1``."""
    spec, status = scaler.spec, scaler.status
    wanted = next((metric for metric in spec.metrics if _cpu_share(metric) is not None), None)
    shares = [each.resource.current for each in status.current_metrics if _is_cpu(each) and each.resource]
    used = [each.average_utilization for each in shares if each.average_utilization is not None]
    return autoscaling_v1.HorizontalPodAutoscaler(
        metadata=_with_annotations(scaler),
        spec=autoscaling_v1.HorizontalPodAutoscalerSpec(
            scale_target_ref=_reference(autoscaling_v1.CrossVersionObjectReference, spec.scale_target_ref),
            min_replicas=spec.min_replicas,
            max_replicas=spec.max_replicas,
            target_cpu_utilization_percentage=_cpu_share(wanted) if wanted else None,
        ),
        status=autoscaling_v1.HorizontalPodAutoscalerStatus(
            observed_generation=status.observed_generation,
            last_scale_time=status.last_scale_time,
            current_replicas=status.current_replicas or 0,
            desired_replicas=status.desired_replicas,
            current_cpu_utilization_percentage=used[-1] if used else None,
        ),
    )


def v2_from_v1(scaler: autoscaling_v1.HorizontalPodAutoscaler) -> autoscaling_v2.HorizontalPodAutoscaler:
    """Return a ``v1`` autoscaler as the stored ``v2``. The default metric is CPU utilization."""
    spec, status, said = scaler.spec, scaler.status, scaler.metadata.annotations
    share, used = spec.target_cpu_utilization_percentage, status.current_cpu_utilization_percentage
    metrics: tuple[autoscaling_v2.MetricSpec, ...] = () if share is None else (cpu_metric(share),)
    if METRICS in said:
        metrics = metrics_in(said[METRICS]) + metrics
    current: tuple[autoscaling_v2.MetricStatus, ...] = () if used is None else (_cpu_status(used),)
    if CURRENT_METRICS in said:
        current = statuses_in(said[CURRENT_METRICS]) or current
    return autoscaling_v2.HorizontalPodAutoscaler(
        metadata=without_round_trip(scaler.metadata),
        spec=autoscaling_v2.HorizontalPodAutoscalerSpec(
            scale_target_ref=_reference(autoscaling_v2.CrossVersionObjectReference, spec.scale_target_ref),
            min_replicas=spec.min_replicas,
            max_replicas=spec.max_replicas,
            metrics=metrics or (cpu_metric(DEFAULT_UTILIZATION),),
            behavior=behavior_in(said[BEHAVIOR]) if BEHAVIOR in said else None,
        ),
        status=autoscaling_v2.HorizontalPodAutoscalerStatus(
            observed_generation=status.observed_generation,
            last_scale_time=status.last_scale_time,
            current_replicas=status.current_replicas,
            desired_replicas=status.desired_replicas,
            current_metrics=current,
            conditions=conditions_in(said[CONDITIONS]) if CONDITIONS in said else (),
        ),
    )


def cpu_metric(percent: int) -> autoscaling_v2.MetricSpec:
    """Return a metric with a target of ``percent`` CPU utilization."""
    target = autoscaling_v2.MetricTarget(type="Utilization", average_utilization=percent)
    source = autoscaling_v2.ResourceMetricSource(name="cpu", target=target)
    return autoscaling_v2.MetricSpec(type="Resource", resource=source)


def _cpu_status(percent: int) -> autoscaling_v2.MetricStatus:
    current = autoscaling_v2.MetricValueStatus(average_utilization=percent)
    source = autoscaling_v2.ResourceMetricStatus(name="cpu", current=current)
    return autoscaling_v2.MetricStatus(type="Resource", resource=source)


def _is_cpu(metric: autoscaling_v2.MetricSpec | autoscaling_v2.MetricStatus) -> bool:
    return metric.type == "Resource" and metric.resource is not None and metric.resource.name == "cpu"


def _cpu_share(metric: autoscaling_v2.MetricSpec) -> int | None:
    """Return the target of a CPU utilization metric; None for metrics without a ``v1`` field."""
    return metric.resource.target.average_utilization if _is_cpu(metric) and metric.resource else None


def _reference(kind: Any, reference: Any) -> Any:
    return kind(api_version=reference.api_version, kind=reference.kind, name=reference.name)


def _with_annotations(scaler: autoscaling_v2.HorizontalPodAutoscaler) -> ObjectMeta:
    metadata = without_round_trip(scaler.metadata)
    others = [metric for metric in scaler.spec.metrics if _cpu_share(metric) is None]
    found = annotations_of(scaler, others)
    return structs.replace(metadata, annotations={**metadata.annotations, **found}) if found else metadata
