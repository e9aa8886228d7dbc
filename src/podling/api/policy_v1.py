"""Kubernetes v1.36 types of policy/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import INT32, ListMap, MergeKey
from podling.api.meta_v1 import Condition, DeleteOptions, LabelSelector, ListMeta, ObjectMeta


class Eviction(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('policy', 'v1', 'Eviction')
    api_version: str = field(default_factory=lambda: 'policy/v1')
    delete_options: DeleteOptions | None = None
    kind: str = field(default_factory=lambda: 'Eviction')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())


class PodDisruptionBudget(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('policy', 'v1', 'PodDisruptionBudget')
    api_version: str = field(default_factory=lambda: 'policy/v1')
    kind: str = field(default_factory=lambda: 'PodDisruptionBudget')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PodDisruptionBudgetSpec = field(default_factory=lambda: PodDisruptionBudgetSpec())
    status: PodDisruptionBudgetStatus = field(default_factory=lambda: PodDisruptionBudgetStatus())


class PodDisruptionBudgetList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('policy', 'v1', 'PodDisruptionBudgetList')
    api_version: str = field(default_factory=lambda: 'policy/v1')
    items: tuple[PodDisruptionBudget, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PodDisruptionBudgetList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PodDisruptionBudgetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    max_unavailable: int | str | None = None
    min_available: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()
    current_healthy: Annotated[int, INT32] = field(default_factory=int)
    desired_healthy: Annotated[int, INT32] = field(default_factory=int)
    disrupted_pods: dict[str, datetime | None] = field(default_factory=dict)
    disruptions_allowed: Annotated[int, INT32] = field(default_factory=int)
    expected_pods: Annotated[int, INT32] = field(default_factory=int)
    observed_generation: int = 0
