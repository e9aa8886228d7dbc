"""From metrics to a number of replicas. Pure.

All values are thousandths. Upstream: ``pkg/controller/podautoscaler/replica_calculator.go`` and
``metrics/utilization.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.controllers.autoscaling.pod_groups import (
    MetricError,
    PodGroups,
    PodMetric,
    PodMetrics,
    group_pods,
    pod_requests,
    ready_pods,
)
from podling.controllers.autoscaling.settings import AutoscalerSettings

REPLICAS_MAX = 2**31 - 1


class Tolerances(Struct, frozen=True):
    """The parts by which a ratio may miss 1 without effect."""

    down: float
    up: float

    def allow(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Scaled(Struct, frozen=True, kw_only=True):
    """The scaled object as the calculation sees it.

    ``pods`` are those of its selector. ``replicas`` are wanted by its spec, ``seen`` by its status.
    """

    namespace: str
    pods: Sequence[Pod]
    replicas: int
    seen: int
    tolerances: Tolerances
    settings: AutoscalerSettings
    now: datetime


class Replicas(Struct, frozen=True):
    """A number of replicas and the metric's present value, as the status shows it.

    ``utilization`` is a percentage of requests.
    """

    count: int
    value: int
    utilization: int | None = None


def resource_replicas(
    scaled: Scaled, metrics: PodMetrics, resource: str, target: int, container: str = ""
) -> Replicas:
    """Return the replicas for a target utilization in percent of requests. Raises ``MetricError``."""
    groups, known = _known(scaled, metrics, resource)
    requests = pod_requests(scaled.pods, container, resource)
    utilization, value = _utilization(known, requests)
    ratio = utilization / target
    full = {name: requests[name] * max(100, target) // 100 for name in groups.missing}

    def again(assumed: PodMetrics) -> float:
        return _utilization(assumed, requests)[0] / target

    assumed = _assumed(known, groups, ratio, full, scaled.now)
    return Replicas(_count(scaled, groups, ratio, assumed, again), value, utilization)


def plain_replicas(scaled: Scaled, metrics: PodMetrics, resource: str, target: int) -> Replicas:
    """Return the replicas for a target value per pod. ``resource`` is empty for other metrics.

    Raises ``MetricError``.
    """
    groups, known = _known(scaled, metrics, resource)
    value = _mean(known)
    ratio = value / target

    def again(assumed: PodMetrics) -> float:
        return _mean(assumed) / target

    assumed = _assumed(known, groups, ratio, dict.fromkeys(groups.missing, target), scaled.now)
    return Replicas(_count(scaled, groups, ratio, assumed, again), value)


def value_replicas(scaled: Scaled, value: int, target: int) -> Replicas:
    """Return the replicas for a target value of the whole. Raises ``MetricError``."""
    ratio = value / target
    if scaled.replicas == 0:
        return Replicas(_ceil(ratio), value)  # nothing runs that could be compared with
    if scaled.tolerances.allow(ratio):
        return Replicas(scaled.replicas, value)
    try:
        ready = ready_pods(scaled.pods)
    except MetricError as error:
        raise MetricError(f"unable to calculate ready pods: {error}") from None
    return Replicas(_ceil(ratio * ready), value)


def average_replicas(scaled: Scaled, value: int, target: int) -> Replicas:
    """Return the replicas for a value of the whole that is divided by the pods."""
    if scaled.seen == 0:
        return Replicas(_ceil(value / target), value)
    count = scaled.seen
    if not scaled.tolerances.allow(value / (target * scaled.seen)):
        count = _ceil(value / target)
    return Replicas(count, math.ceil(value / scaled.seen))


def _known(scaled: Scaled, metrics: PodMetrics, resource: str) -> tuple[PodGroups, dict[str, PodMetric]]:
    """Return the pods by how they count, and the metrics of those that count as measured."""
    if not scaled.pods:
        raise MetricError("no pods returned by selector while calculating replica count")
    groups = group_pods(scaled.pods, metrics, resource, scaled.settings, scaled.now)
    left_out = groups.ignored | groups.unready
    known = {name: metric for name, metric in metrics.items() if name not in left_out}
    if not known:
        raise MetricError("did not receive metrics for targeted pods (pods might be unready)")
    return groups, known


def _utilization(metrics: PodMetrics, requests: Mapping[str, int]) -> tuple[int, int]:
    """Return the percentage of the requests in use, and the mean use. Raises ``MetricError``."""
    used = [(metric.value, requests[name]) for name, metric in metrics.items() if name in requests]
    requested = sum(request for _, request in used)
    if requested == 0:
        raise MetricError("no metrics returned matched known pods")
    total = sum(value for value, _ in used)
    return total * 100 // requested, total // len(used)


def _mean(metrics: PodMetrics) -> int:
    return sum(metric.value for metric in metrics.values()) // len(metrics)


def _assumed(
    known: PodMetrics, groups: PodGroups, ratio: float, full: Mapping[str, int], now: datetime
) -> dict[str, PodMetric]:
    """Return the metrics with those that missing and unready pods are assumed to have.

    They are chosen so that scaling is damped: a missing pod uses its target when the others need less, and
    nothing when they need more; an unready one uses nothing when they need more.
    """
    assumed = dict(known)
    if ratio < 1.0:
        assumed |= {name: PodMetric(value, now) for name, value in full.items()}
    elif ratio > 1.0:
        assumed |= dict.fromkeys(groups.missing, PodMetric(0, now))
        assumed |= dict.fromkeys(groups.unready, PodMetric(0, now))
    return assumed


def _count(
    scaled: Scaled,
    groups: PodGroups,
    ratio: float,
    assumed: PodMetrics,
    again: Callable[[PodMetrics], float],
) -> int:
    """Return the replicas that follow from the ratio of use and target."""
    current, tolerances = scaled.replicas, scaled.tolerances
    if not groups.missing and not (groups.unready and ratio > 1.0):
        return current if tolerances.allow(ratio) else _ceil(ratio * groups.ready)
    new = again(assumed)
    if tolerances.allow(new) or (ratio < 1.0 < new) or (new < 1.0 < ratio):
        return current  # with the assumed metrics the direction would change
    count = _ceil(new * len(assumed))
    if (new < 1.0 and count > current) or (new > 1.0 and count < current):
        return current
    return count


def _ceil(count: float) -> int:
    return min(math.ceil(count), REPLICAS_MAX)
