"""Kubernetes v1.36 types of autoscaling/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import INT32
from podling.api.meta_v1 import ListMeta, ObjectMeta


class CrossVersionObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    atomic_struct: ClassVar[bool] = True
    api_version: str = ''
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)


class HorizontalPodAutoscaler(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('autoscaling', 'v1', 'HorizontalPodAutoscaler')
    api_version: str = field(default_factory=lambda: 'autoscaling/v1')
    kind: str = field(default_factory=lambda: 'HorizontalPodAutoscaler')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: HorizontalPodAutoscalerSpec = field(default_factory=lambda: HorizontalPodAutoscalerSpec())
    status: HorizontalPodAutoscalerStatus = field(default_factory=lambda: HorizontalPodAutoscalerStatus())


class HorizontalPodAutoscalerList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('autoscaling', 'v1', 'HorizontalPodAutoscalerList')
    api_version: str = field(default_factory=lambda: 'autoscaling/v1')
    items: tuple[HorizontalPodAutoscaler, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'HorizontalPodAutoscalerList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class HorizontalPodAutoscalerSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('maxReplicas', 'scaleTargetRef')
    max_replicas: Annotated[int, INT32] = field(default_factory=int)
    min_replicas: Annotated[int, INT32] | None = None
    scale_target_ref: CrossVersionObjectReference = field(default_factory=lambda: CrossVersionObjectReference())
    target_cpu_utilization_percentage: Annotated[int, INT32] | None = field(default=None, name='targetCPUUtilizationPercentage')


class HorizontalPodAutoscalerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('currentReplicas', 'desiredReplicas')
    current_cpu_utilization_percentage: Annotated[int, INT32] | None = field(default=None, name='currentCPUUtilizationPercentage')
    current_replicas: Annotated[int, INT32] = field(default_factory=int)
    desired_replicas: Annotated[int, INT32] = field(default_factory=int)
    last_scale_time: datetime | None = None
    observed_generation: int | None = None


class Scale(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('autoscaling', 'v1', 'Scale')
    api_version: str = field(default_factory=lambda: 'autoscaling/v1')
    kind: str = field(default_factory=lambda: 'Scale')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ScaleSpec = field(default_factory=lambda: ScaleSpec())
    status: ScaleStatus = field(default_factory=lambda: ScaleStatus())


class ScaleSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    replicas: Annotated[int, INT32] = 0


class ScaleStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('replicas',)
    replicas: Annotated[int, INT32] = field(default_factory=int)
    selector: str = ''
