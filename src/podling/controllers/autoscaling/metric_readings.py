"""Reading the metrics APIs: ``metrics.k8s.io``, ``custom.metrics.k8s.io`` and ``external.metrics.k8s.io``.

Errors are values in Kubernetes' words; they end in the status of the autoscaler.
Upstream: ``pkg/controller/podautoscaler/metrics``, ``k8s.io/metrics/pkg/client``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct, field

from podling.api.autoscaling_v2 import CrossVersionObjectReference, MetricIdentifier, MetricSpec
from podling.api.meta_v1 import LabelSelector
from podling.client.base import Unreachable
from podling.controllers.autoscaling.metric_proposals import (
    FailedReading,
    PodReading,
    Reading,
    ValueReading,
)
from podling.controllers.autoscaling.pod_groups import MetricError, PodMetric
from podling.machinery.durations import seconds_of
from podling.machinery.errors import ApiError
from podling.machinery.quantity import milli_value
from podling.machinery.resource import Resource
from podling.machinery.resource_metrics import GROUP_VERSION, PodMetrics, PodMetricsList
from podling.machinery.selectors import from_label_selector

DEFAULT_WINDOW = timedelta(minutes=1)
CUSTOM_VERSIONS = ("v1beta2", "v1beta1")
"""The newest first, as clients choose."""
CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io/v1beta1"
T = TypeVar("T")


class AggregatedReads(Protocol):
    """Reads paths of aggregated APIs. Raises ``ApiError``, and ``Unreachable`` without an answer."""

    async def get(self, path: str) -> bytes: ...


class _Described(Struct, rename="camel"):
    name: str = ""


class _CustomValue(Struct, rename="camel"):
    """A metric of an object, in either version."""

    described_object: _Described = field(default_factory=_Described)
    timestamp: datetime | None = None
    window_seconds: int | None = None
    window: int | None = None
    value: str = "0"


class _CustomValues(Struct):
    items: list[_CustomValue] = []


class _ExternalValue(Struct):
    value: str = "0"


class _ExternalValues(Struct):
    items: list[_ExternalValue] = []


class MetricReadings:
    """Reads the metrics of one namespace's autoscaler at a time.

    Args:
        resource_of: returns the resource of a group and kind that an object metric describes.
    """

    def __init__(self, reads: AggregatedReads, resource_of: Callable[[str, str], Resource | None]) -> None:
        self._reads, self._resource_of = reads, resource_of

    async def read(self, spec: MetricSpec, namespace: str, selector: str, now: datetime) -> Reading:
        """Return the reading of a metric; ``selector`` chooses the pods of the scaled object."""
        try:
            match spec.type:
                case "Resource" if spec.resource is not None:
                    return await self._resource(spec.resource.name, "", namespace, selector)
                case "ContainerResource" if spec.container_resource is not None:
                    source = spec.container_resource
                    return await self._resource(source.name, source.container, namespace, selector)
                case "Pods" if spec.pods is not None:
                    return await self._pods(spec.pods.metric, namespace, selector, now)
                case "Object" if spec.object is not None:
                    return await self._object(spec.object.metric, spec.object.described_object, namespace)
                case "External" if spec.external is not None:
                    return await self._external(spec.external.metric, namespace)
        except MetricError as error:
            return FailedReading(str(error))
        return FailedReading("")

    async def _resource(self, resource: str, container: str, namespace: str, selector: str) -> Reading:
        path = f"/apis/{GROUP_VERSION}/namespaces/{namespace}/pods?{urlencode({'labelSelector': selector})}"
        found = await self._get(path, PodMetricsList, "resource", "pods.metrics.k8s.io")
        if not found.items:
            raise MetricError("no metrics returned from resource metrics API")
        used = {pod.metadata.name or "": _use(pod, resource, container) for pod in found.items}
        return PodReading({name: metric for name, metric in used.items() if metric is not None})

    async def _pods(self, metric: MetricIdentifier, namespace: str, selector: str, now: datetime) -> Reading:
        query = {"labelSelector": selector, **_metric_selector(metric, "metricLabelSelector")}
        path = f"namespaces/{namespace}/pods/*/{quote(metric.name, safe='')}?{urlencode(query)}"
        values = await self._custom(path)
        if not values:
            raise MetricError("no metrics returned from custom metrics API")
        return PodReading({each.described_object.name: _pod_metric(each, now) for each in values})

    async def _object(
        self, metric: MetricIdentifier, described: CrossVersionObjectReference, namespace: str
    ) -> Reading:
        group = (described.api_version or "").rpartition("/")[0]
        query = urlencode(_metric_selector(metric, "metricLabelSelector"))
        name = quote(metric.name, safe="")
        if (group, described.kind) == ("", "Namespace"):
            path = f"namespaces/{namespace}/metrics/{name}"
        else:
            resource = self._resource_of(group, described.kind)
            if resource is None:
                text = f'no matches for kind "{described.kind}" in group "{group}"'
                raise MetricError(f"unable to fetch metrics from custom metrics API: {text}")
            of = quote(described.name, safe="")
            path = f"namespaces/{namespace}/{resource.group_resource}/{of}/{name}"
        values = await self._custom(f"{path}?{query}" if query else path)
        if len(values) != 1:
            what = "more than one" if values else "no"
            text = f"the custom metrics API server returned {what} results when we asked for exactly one"
            raise MetricError(f"unable to fetch metrics from custom metrics API: {text}")
        return ValueReading(_milli(values[0].value))

    async def _external(self, metric: MetricIdentifier, namespace: str) -> Reading:
        query = urlencode(_metric_selector(metric, "labelSelector"))
        name = quote(metric.name, safe="")
        path = f"/apis/{EXTERNAL}/namespaces/{namespace}/{name}" + (f"?{query}" if query else "")
        found = await self._get(path, _ExternalValues, "external", f"{metric.name}.external.metrics.k8s.io")
        if not found.items:
            raise MetricError("no metrics returned from external metrics API")
        return ValueReading(sum(_milli(each.value) for each in found.items))

    async def _custom(self, path: str) -> Sequence[_CustomValue]:
        """Return the values at a path of the newest version that is served."""
        last: MetricError | None = None
        what = path.partition("?")[0].rpartition("/")[2]
        for version in CUSTOM_VERSIONS:
            try:
                whole = f"/apis/{CUSTOM}/{version}/{path}"
                return (await self._get(whole, _CustomValues, "custom", f"*.{CUSTOM} {what}")).items
            except _NotServed as error:
                last = last or error
        assert last is not None, "there are versions"
        raise last

    async def _get(self, path: str, type_: type[T], api: str, what: str) -> T:
        """Return the answer of a metrics API. Raises ``MetricError``."""
        failed = f"unable to fetch metrics from {api} metrics API"
        try:
            return msgspec.json.decode(await self._reads.get(path), type=type_)
        except ApiError as error:
            text = f"{failed}: {_words(error, what)}"
            raise (_NotServed if error.status.details is None else MetricError)(text) from None
        except Unreachable as error:
            raise MetricError(f"{failed}: {error}") from None
        except msgspec.MsgspecError as error:
            raise MetricError(f"{failed}: {error}") from None


class _NotServed(MetricError):
    """The answer is not about an object: the API itself may be missing."""


def _words(error: ApiError, what: str) -> str:
    """Return the text of a Go client for an error that is not about an object."""
    if error.code == 404 and error.status.details is None:
        return f"the server could not find the requested resource (get {what})"
    if error.code == 503:
        return f"the server is currently unable to handle the request (get {what})"
    return str(error)


def _use(pod: PodMetrics, resource: str, container: str) -> PodMetric | None:
    """Return the use of a pod, or of one of its containers. Raises ``MetricError``."""
    if container and container not in [each.name for each in pod.containers]:
        where = f"{pod.metadata.namespace}/{pod.metadata.name}"
        raise MetricError(f"container {container} not present in metrics for pod {where}")
    usages = [each.usage.get(resource) for each in pod.containers if container in ("", each.name)]
    if not usages or None in usages:
        return None
    total = sum(_milli(each) for each in _present(usages))
    return PodMetric(total, pod.timestamp, _window(pod.window))


def _present(usages: Iterable[str | None]) -> Iterable[str]:
    return (each for each in usages if each is not None)


def _window(text: str) -> timedelta:
    try:
        return timedelta(seconds=seconds_of(text))
    except (ValueError, OverflowError):
        return DEFAULT_WINDOW


def _pod_metric(value: _CustomValue, now: datetime) -> PodMetric:
    seconds = value.window_seconds if value.window_seconds is not None else value.window
    window = DEFAULT_WINDOW if seconds is None else timedelta(seconds=min(max(seconds, 0), 10**6))
    return PodMetric(_milli(value.value), value.timestamp or now, window)


def _milli(text: str) -> int:
    try:
        return milli_value(text)
    except ValueError as error:
        raise MetricError(str(error)) from None


def _metric_selector(metric: MetricIdentifier, parameter: str) -> Mapping[str, Any]:
    """Return the query parameter that selects series, if the metric has a selector."""
    selector: LabelSelector | None = metric.selector
    text = str(from_label_selector(selector)) if selector is not None else ""
    return {parameter: text} if text else {}
