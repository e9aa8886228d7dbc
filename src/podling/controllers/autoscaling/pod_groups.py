"""Grouping of pods for the calculation of replicas, and their requests. Pure.

Upstream: ``groupPods`` and ``calculateRequests`` in ``pkg/controller/podautoscaler/replica_calculator.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from podling.api.core_v1 import Container, Pod
from podling.controllers.autoscaling.settings import AutoscalerSettings
from podling.machinery import pods as pod_helpers
from podling.machinery.quantity import milli_value

CPU = "cpu"


class MetricError(Exception):
    """A metric from which no number of replicas follows; the text is Kubernetes'."""


class PodMetric(Struct, frozen=True):
    """The metric of one pod, in thousandths."""

    value: int
    at: datetime
    window: timedelta = timedelta(minutes=1)


PodMetrics = Mapping[str, PodMetric]
"""By the names of pods."""


class PodGroups(Struct, frozen=True):
    """The number of ready pods, and the names of those that count differently."""

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    """Pods without a metric."""
    ignored: frozenset[str]
    """Pods that have failed or are being deleted."""


def group_pods(
    pods: Iterable[Pod], metrics: PodMetrics, resource: str, settings: AutoscalerSettings, now: datetime
) -> PodGroups:
    """Return the pods by how they count; readiness matters for the resource ``cpu`` alone."""
    ready = 0
    unready, missing, ignored = set(), set(), set()
    for pod in pods:
        name = pod.metadata.name or ""
        metric = metrics.get(name)
        if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
            ignored.add(name)
        elif pod.status.phase == "Pending":
            unready.add(name)
        elif metric is None:
            missing.add(name)
        elif resource == CPU and _is_starting(pod, metric, settings, now):
            unready.add(name)
        else:
            ready += 1
    return PodGroups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _is_starting(pod: Pod, metric: PodMetric, settings: AutoscalerSettings, now: datetime) -> bool:
    """Return whether a pod's CPU sample is one of its start, or of a pod that has never been ready."""
    condition = pod_helpers.condition(pod, "Ready")
    started = pod.status.start_time
    if condition is None or started is None:
        return True
    since = condition.last_transition_time or started
    if started + timedelta(seconds=settings.cpu_initialization_period) > now:
        return condition.status == "False" or metric.at < since + metric.window
    delay = timedelta(seconds=settings.initial_readiness_delay)
    return condition.status == "False" and started + delay > since


def ready_pods(pods: Sequence[Pod]) -> int:
    """Return the number of pods that run and are ready. Raises ``MetricError`` without any pod."""
    if not pods:
        raise MetricError("no pods returned by selector while calculating replica count")
    return sum(pod.status.phase == "Running" and pod_helpers.is_ready(pod) for pod in pods)


def pod_requests(pods: Iterable[Pod], container: str, resource: str) -> dict[str, int]:
    """Return the requests of pods in thousandths, or those of one container. Raises ``MetricError``.

    The request of a pod as a whole takes the place of its containers'.
    """
    return {pod.metadata.name or "": _request(pod, container, resource) for pod in pods}


def _request(pod: Pod, container: str, resource: str) -> int:
    whole = pod.spec.resources
    if not container and whole is not None and resource in whole.requests:
        return milli_value(whole.requests[resource])
    total = 0
    for each in _long_running(pod):
        if container not in ("", each.name):
            continue
        request = each.resources.requests.get(resource)
        if request is None:
            text = f"missing request for {resource} in container {each.name} of Pod {pod.metadata.name}"
            raise MetricError(text)
        total += milli_value(request)
    return total


def _long_running(pod: Pod) -> Iterator[Container]:
    yield from pod.spec.containers
    yield from (each for each in pod.spec.init_containers if each.restart_policy == "Always")
