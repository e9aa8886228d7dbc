"""From the spec of one metric and its reading to a proposal of replicas. Pure.

Messages are Kubernetes'. Upstream: ``computeReplicasForMetric`` and the functions below it in
``pkg/controller/podautoscaler/horizontal.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from podling.api.autoscaling_v2 import (
    ContainerResourceMetricStatus,
    ExternalMetricStatus,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
    ObjectMetricStatus,
    PodsMetricStatus,
    ResourceMetricStatus,
)
from podling.api.meta_v1 import LabelSelector
from podling.controllers.autoscaling.pod_groups import MetricError, PodMetric
from podling.controllers.autoscaling.replica_calculator import (
    Replicas,
    Scaled,
    average_replicas,
    plain_replicas,
    resource_replicas,
    value_replicas,
)
from podling.machinery.quantity import NANO, Quantity, milli_value

UNSET = "neither a value target nor an average value target was set"
UNSET_RESOURCE = (
    "invalid resource metric source: neither an average utilization target nor an average value (usage) "
    "target was set"
)


class PodReading(Struct, frozen=True):
    """The metric of each pod, by name."""

    metrics: Mapping[str, PodMetric]


class ValueReading(Struct, frozen=True):
    """The metric of one object, or the sum of the external series that match, in thousandths."""

    value: int


class FailedReading(Struct, frozen=True):
    """A metrics API that did not answer, or had no metric: the error in Kubernetes' words."""

    error: str


Reading = PodReading | ValueReading | FailedReading


class Proposal(Struct, frozen=True):
    """The replicas that one metric recommends, the metric's name in messages, and its status."""

    replicas: int
    name: str
    status: MetricStatus


class Unproposed(Exception):
    """A metric that recommends nothing.

    ``reason`` and ``why`` are those of the event and of the condition; the text is that of the whole failure.
    """

    def __init__(self, reason: str, why: str, text: str) -> None:
        super().__init__(text)
        self.reason, self.why = reason, why


def propose(spec: MetricSpec, reading: Reading, scaled: Scaled) -> Proposal:
    """Return the proposal of a metric. Raises ``Unproposed``."""
    match spec.type:
        case "Resource" if spec.resource is not None:
            return _resource(spec, reading, scaled)
        case "ContainerResource" if spec.container_resource is not None:
            return _container_resource(spec, reading, scaled)
        case "Pods" if spec.pods is not None:
            return _pods(spec, reading, scaled)
        case "Object" if spec.object is not None:
            return _object(spec, reading, scaled)
        case "External" if spec.external is not None:
            return _external(spec, reading, scaled)
    why = f'unknown metric source type "{spec.type}"'
    raise Unproposed("InvalidMetricSourceType", why, why)


def _resource(spec: MetricSpec, reading: Reading, scaled: Scaled) -> Proposal:
    source = spec.resource
    assert source is not None, "the caller has looked"
    try:
        found = _of_resource(source.name, "", source.target, reading, scaled)
    except MetricError as error:
        text = f"failed to get {source.name} resource metric value: {error}"
        raise Unproposed("FailedGetResourceMetric", str(error), text) from None
    status = ResourceMetricStatus(name=source.name, current=_resource_value(found))
    name = _resource_name(source.name, "", found)
    return Proposal(found.count, name, MetricStatus(type=spec.type, resource=status))


def _container_resource(spec: MetricSpec, reading: Reading, scaled: Scaled) -> Proposal:
    source = spec.container_resource
    assert source is not None, "the caller has looked"
    try:
        found = _of_resource(source.name, source.container, source.target, reading, scaled)
    except MetricError as error:
        text = f"failed to get {source.container} container metric value: {error}"
        raise Unproposed("FailedGetContainerResourceMetric", str(error), text) from None
    current = _resource_value(found)
    status = ContainerResourceMetricStatus(name=source.name, container=source.container, current=current)
    name = _resource_name(source.name, source.container, found)
    return Proposal(found.count, name, MetricStatus(type=spec.type, container_resource=status))


def _of_resource(
    resource: str, container: str, target: MetricTarget, reading: Reading, scaled: Scaled
) -> Replicas:
    """Return the replicas of a resource metric. Raises ``MetricError``."""
    what = "usage" if target.average_value is not None else "utilization"
    if target.average_value is None and target.average_utilization is None:
        raise MetricError(UNSET_RESOURCE)
    if isinstance(reading, FailedReading):
        text = f"unable to get metrics for resource {resource}: {reading.error}"
        raise MetricError(f"failed to get {resource} {what}: {text}")
    assert isinstance(reading, PodReading), "resources are measured by pods"
    try:
        if target.average_value is not None:
            wanted = milli_value(target.average_value)
            return plain_replicas(scaled, reading.metrics, resource, wanted)
        wanted = target.average_utilization or 0
        return resource_replicas(scaled, reading.metrics, resource, wanted, container)
    except MetricError as error:
        raise MetricError(f"failed to get {resource} {what}: {error}") from None


def _resource_value(found: Replicas) -> MetricValueStatus:
    return MetricValueStatus(average_utilization=found.utilization, average_value=milli_text(found.value))


def _resource_name(resource: str, container: str, found: Replicas) -> str:
    if found.utilization is None:
        return f"{resource} resource"
    whole = "container resource" if container else "resource"
    return f"{resource} {whole} utilization (percentage of request)"


def _pods(spec: MetricSpec, reading: Reading, scaled: Scaled) -> Proposal:
    source = spec.pods
    assert source is not None, "the caller has looked"
    try:
        if isinstance(reading, FailedReading):
            raise MetricError(f"unable to get metric {source.metric.name}: {reading.error}")
        assert isinstance(reading, PodReading), "the metric is one of pods"
        wanted = milli_value(source.target.average_value or "0")
        found = plain_replicas(scaled, reading.metrics, "", wanted)
    except MetricError as error:
        text = f"failed to get pods metric value: {error}"
        raise Unproposed("FailedGetPodsMetric", str(error), text) from None
    current = MetricValueStatus(average_value=milli_text(found.value))
    status = PodsMetricStatus(metric=source.metric, current=current)
    return Proposal(
        found.count, f"pods metric {source.metric.name}", MetricStatus(type=spec.type, pods=status)
    )


def _object(spec: MetricSpec, reading: Reading, scaled: Scaled) -> Proposal:
    source = spec.object
    assert source is not None, "the caller has looked"
    metric, described = source.metric, source.described_object
    averaged = source.target.type == "AverageValue"
    if not averaged and source.target.type != "Value":
        why = f"invalid object metric source: {UNSET}"
        raise _failed_object(why, why)
    try:
        where = f"{described.kind} on {scaled.namespace} {described.name}"  # the order of words is upstream's
        value = _value_of(reading, f"unable to get metric {metric.name}: {where}/")
        found = _of_value(scaled, value, source.target)
    except MetricError as error:
        why = str(error)
        text = f"failed to get {metric.name} object metric: {why}" if averaged else why
        raise _failed_object(why, text) from None
    if averaged:
        name = f"external metric {metric.name}({selector_text(metric.selector)})"
    else:
        name = f"{described.kind} metric {metric.name}"
    status = ObjectMetricStatus(
        metric=metric, described_object=described, current=_value_status(found, averaged=averaged)
    )
    return Proposal(found.count, name, MetricStatus(type=spec.type, object=status))


def _failed_object(why: str, text: str) -> Unproposed:
    return Unproposed("FailedGetObjectMetric", why, f"failed to get object metric value: {text}")


def _external(spec: MetricSpec, reading: Reading, scaled: Scaled) -> Proposal:
    source = spec.external
    assert source is not None, "the caller has looked"
    metric = source.metric
    averaged = source.target.average_value is not None
    if not averaged and source.target.value is None:
        why = f"invalid external metric source: {UNSET}"
        raise Unproposed("FailedGetExternalMetric", why, _external_text(metric.name, why))
    try:
        series = f"{scaled.namespace}/{metric.name}/{selector_text(metric.selector)}"
        value = _value_of(reading, f"unable to get external metric {series}: ")
        found = _of_value(scaled, value, source.target)
    except MetricError as error:
        why = str(error)
        of = f"failed to get {metric.name} external metric" if averaged else "failed to get external metric"
        text = f"{of}: {why}" if averaged else f"{of} {metric.name}: {why}"
        raise Unproposed("FailedGetExternalMetric", why, _external_text(metric.name, text)) from None
    status = ExternalMetricStatus(metric=metric, current=_value_status(found, averaged=averaged))
    name = f"external metric {metric.name}({selector_text(metric.selector)})"
    return Proposal(found.count, name, MetricStatus(type=spec.type, external=status))


def _external_text(name: str, why: str) -> str:
    return f"failed to get {name} external metric value: {why}"


def _value_of(reading: Reading, prefix: str) -> int:
    """Return the value of a reading. Raises ``MetricError`` with what failed."""
    if isinstance(reading, FailedReading):
        raise MetricError(prefix + reading.error)
    assert isinstance(reading, ValueReading), "the metric is not one of pods"
    return reading.value


def _of_value(scaled: Scaled, value: int, target: MetricTarget) -> Replicas:
    """Return the replicas for one value, of the whole or divided by the pods. Raises ``MetricError``."""
    if target.average_value is not None:
        return average_replicas(scaled, value, milli_value(target.average_value))
    return value_replicas(scaled, value, milli_value(target.value or "0"))


def _value_status(found: Replicas, *, averaged: bool) -> MetricValueStatus:
    if averaged:
        return MetricValueStatus(average_value=milli_text(found.value))
    return MetricValueStatus(value=milli_text(found.value))


def milli_text(value: int) -> str:
    """Return thousandths as a quantity: ``250m``, ``1500``."""
    return str(Quantity(value * (NANO // 1000)))


def selector_text(selector: LabelSelector | None) -> str:
    """Return a selector as Go prints the struct, which is what messages show."""
    if selector is None:
        return "nil"
    labels = "".join(f"{name}: {value}," for name, value in sorted(selector.match_labels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},"
        f"Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
