"""Structs of VerticalPodAutoscalers and their checkpoints.

Upstream: ``apis/autoscaling.k8s.io/v1/types.go``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from podling.api.autoscaling_v1 import CrossVersionObjectReference
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.quantity import Quantity, parse
from podling_vpa.definitions import autoscaler_definition, checkpoint_definition
from podling_vpa.names import EVERY_CONTAINER, RECREATE

Amounts = dict[str, str]
"""Quantities by resource, as text."""
GivenAmounts = dict[str, int | str]
"""Quantities by resource as users write them: also plain numbers."""


def quantity_of(given: int | str) -> Quantity:
    """Return an amount as users write it. Raises ValueError."""
    return parse(str(given))


class EvictionRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    resources: tuple[str, ...] = ()
    change_requirement: str = ""


class UpdatePolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    update_mode: str | None = None
    min_replicas: int | None = None
    eviction_requirements: tuple[EvictionRequirement, ...] = ()
    evict_after_oom_seconds: int | None = msgspec.field(default=None, name="evictAfterOOMSeconds")


class ContainerPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    container_name: str = ""
    mode: str | None = None
    min_allowed: GivenAmounts = {}
    max_allowed: GivenAmounts = {}
    controlled_resources: tuple[str, ...] | None = None
    controlled_values: str | None = None
    oom_bump_up_ratio: int | str | None = None
    oom_min_bump_up: int | str | None = None
    memory_aggregation_interval_seconds: int | None = None
    memory_aggregation_interval_count: int | None = None
    startup_boost: dict[str, Any] | None = None


class ResourcePolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    container_policies: tuple[ContainerPolicy, ...] = ()


class RecommenderSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    name: str = ""


class AutoscalerSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    target_ref: CrossVersionObjectReference | None = None
    update_policy: UpdatePolicy | None = None
    resource_policy: ResourcePolicy | None = None
    recommenders: tuple[RecommenderSelector, ...] = ()
    startup_boost: dict[str, Any] | None = None


class ContainerRecommendation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The recommendation for one container. ``target`` is always written, as the schema requires it."""

    container_name: str = ""
    target: Amounts | None = None
    lower_bound: Amounts = {}
    upper_bound: Amounts = {}
    uncapped_target: Amounts = {}

    @property
    def wanted(self) -> Amounts:
        """The target; empty if there is none."""
        return self.target or {}


class Recommendation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    container_recommendations: tuple[ContainerRecommendation, ...] = ()

    def of(self, container: str) -> ContainerRecommendation | None:
        """Return the recommendation for a container."""
        return next(
            (each for each in self.container_recommendations if each.container_name == container), None
        )


class AutoscalerCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class AutoscalerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    recommendation: Recommendation | None = None
    conditions: tuple[AutoscalerCondition, ...] = ()
    observed_generation: int | None = None


class VerticalPodAutoscaler(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(autoscaler_definition())

    spec: AutoscalerSpec = msgspec.field(default_factory=lambda: AutoscalerSpec())
    status: AutoscalerStatus = msgspec.field(default_factory=lambda: AutoscalerStatus())

    @property
    def update_mode(self) -> str:
        """The update mode; ``Recreate`` is the default."""
        policy = self.spec.update_policy
        return (policy.update_mode if policy is not None else None) or RECREATE

    def policy_of(self, container: str) -> ContainerPolicy | None:
        return container_policy(self.spec.resource_policy, container)


def container_policy(policy: ResourcePolicy | None, container: str) -> ContainerPolicy | None:
    """Return the policy of a container: its own one, else that of ``*``."""
    found = None
    for each in policy.container_policies if policy is not None else ():
        if each.container_name == container:
            return each
        if each.container_name == EVERY_CONTAINER:
            found = each
    return found


class CheckpointSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    vpa_object_name: str = ""
    container_name: str = ""


class HistogramCheckpoint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A histogram: weights by bucket, the largest 10000, and the sum that they stand for."""

    reference_timestamp: datetime | None = None
    bucket_weights: dict[str, int] = {}
    total_weight: float = 0.0


class CheckpointStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    last_update_time: datetime | None = None
    version: str = ""
    cpu_histogram: HistogramCheckpoint = msgspec.field(default_factory=lambda: HistogramCheckpoint())
    memory_histogram: HistogramCheckpoint = msgspec.field(default_factory=lambda: HistogramCheckpoint())
    first_sample_start: datetime | None = None
    last_sample_start: datetime | None = None
    total_samples_count: int = 0


class VerticalPodAutoscalerCheckpoint(
    TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    custom_resource: ClassVar[CustomResource] = defined_resource(checkpoint_definition())

    spec: CheckpointSpec = msgspec.field(default_factory=lambda: CheckpointSpec())
    status: CheckpointStatus = msgspec.field(default_factory=lambda: CheckpointStatus())
