"""Kubernetes v1.36 types of autoscaling/v2. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.markers import INT32, ListMap, MergeKey, QUANTITY
from podling.api.meta_v1 import LabelSelector, ListMeta, ObjectMeta


class ContainerResourceMetricSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('container', 'name', 'target')
    container: str = field(default_factory=str)
    name: str = field(default_factory=str)
    target: MetricTarget = field(default_factory=lambda: MetricTarget())


class ContainerResourceMetricStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('container', 'current', 'name')
    container: str = field(default_factory=str)
    current: MetricValueStatus = field(default_factory=lambda: MetricValueStatus())
    name: str = field(default_factory=str)


class CrossVersionObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    api_version: str = ''
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)


class ExternalMetricSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('metric', 'target')
    metric: MetricIdentifier = field(default_factory=lambda: MetricIdentifier())
    target: MetricTarget = field(default_factory=lambda: MetricTarget())


class ExternalMetricStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('current', 'metric')
    current: MetricValueStatus = field(default_factory=lambda: MetricValueStatus())
    metric: MetricIdentifier = field(default_factory=lambda: MetricIdentifier())


class HPAScalingPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('periodSeconds', 'type', 'value')
    period_seconds: Annotated[int, INT32] = field(default_factory=int)
    type: str = field(default_factory=str)
    value: Annotated[int, INT32] = field(default_factory=int)


class HPAScalingRules(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    policies: tuple[HPAScalingPolicy, ...] = ()
    select_policy: str | None = None
    stabilization_window_seconds: Annotated[int, INT32] | None = None
    tolerance: Annotated[str, QUANTITY] | None = None


class HorizontalPodAutoscaler(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('autoscaling', 'v2', 'HorizontalPodAutoscaler')
    api_version: str = field(default_factory=lambda: 'autoscaling/v2')
    kind: str = field(default_factory=lambda: 'HorizontalPodAutoscaler')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: HorizontalPodAutoscalerSpec = field(default_factory=lambda: HorizontalPodAutoscalerSpec())
    status: HorizontalPodAutoscalerStatus = field(default_factory=lambda: HorizontalPodAutoscalerStatus())


class HorizontalPodAutoscalerBehavior(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None


class HorizontalPodAutoscalerCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class HorizontalPodAutoscalerList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('autoscaling', 'v2', 'HorizontalPodAutoscalerList')
    api_version: str = field(default_factory=lambda: 'autoscaling/v2')
    items: tuple[HorizontalPodAutoscaler, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'HorizontalPodAutoscalerList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class HorizontalPodAutoscalerSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('maxReplicas', 'scaleTargetRef')
    behavior: HorizontalPodAutoscalerBehavior | None = None
    max_replicas: Annotated[int, INT32] = field(default_factory=int)
    metrics: tuple[MetricSpec, ...] = ()
    min_replicas: Annotated[int, INT32] | None = None
    scale_target_ref: CrossVersionObjectReference = field(default_factory=lambda: CrossVersionObjectReference())


class HorizontalPodAutoscalerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('desiredReplicas',)
    conditions: Annotated[tuple[HorizontalPodAutoscalerCondition, ...], MergeKey('type'), ListMap('type')] = ()
    current_metrics: Nullable[tuple[MetricStatus, ...]] = field(default_factory=nil_list)
    current_replicas: Annotated[int, INT32] = 0
    desired_replicas: Annotated[int, INT32] = field(default_factory=int)
    last_scale_time: datetime | None = None
    observed_generation: int | None = None

    def __post_init__(self) -> None:
        if not self.current_metrics:
            empty_as_null(self, 'current_metrics')


class MetricIdentifier(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    selector: LabelSelector | None = None


class MetricSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None
    type: str = field(default_factory=str)


class MetricStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None
    type: str = field(default_factory=str)


class MetricTarget(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    average_utilization: Annotated[int, INT32] | None = None
    average_value: Annotated[str, QUANTITY] | None = None
    type: str = field(default_factory=str)
    value: Annotated[str, QUANTITY] | None = None


class MetricValueStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    average_utilization: Annotated[int, INT32] | None = None
    average_value: Annotated[str, QUANTITY] | None = None
    value: Annotated[str, QUANTITY] | None = None


class ObjectMetricSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('describedObject', 'metric', 'target')
    described_object: CrossVersionObjectReference = field(default_factory=lambda: CrossVersionObjectReference())
    metric: MetricIdentifier = field(default_factory=lambda: MetricIdentifier())
    target: MetricTarget = field(default_factory=lambda: MetricTarget())


class ObjectMetricStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('current', 'describedObject', 'metric')
    current: MetricValueStatus = field(default_factory=lambda: MetricValueStatus())
    described_object: CrossVersionObjectReference = field(default_factory=lambda: CrossVersionObjectReference())
    metric: MetricIdentifier = field(default_factory=lambda: MetricIdentifier())


class PodsMetricSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('metric', 'target')
    metric: MetricIdentifier = field(default_factory=lambda: MetricIdentifier())
    target: MetricTarget = field(default_factory=lambda: MetricTarget())


class PodsMetricStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('current', 'metric')
    current: MetricValueStatus = field(default_factory=lambda: MetricValueStatus())
    metric: MetricIdentifier = field(default_factory=lambda: MetricIdentifier())


class ResourceMetricSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'target')
    name: str = field(default_factory=str)
    target: MetricTarget = field(default_factory=lambda: MetricTarget())


class ResourceMetricStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('current', 'name')
    current: MetricValueStatus = field(default_factory=lambda: MetricValueStatus())
    name: str = field(default_factory=str)
