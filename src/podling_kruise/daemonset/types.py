"""Advanced DaemonSets as structs, in the stored version. Upstream: ``apis/apps/v1beta1``."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.apps_v1 import DaemonSetCondition
from podling.api.core_v1 import PodTemplateSpec
from podling.api.meta_v1 import LabelSelector
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.common_types import Lifecycle
from podling_kruise.daemonset.definition import definition

STANDARD = "Standard"
BURST = 250


class RollingUpdate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    rolling_update_type: str = ""
    max_unavailable: int | str | None = None
    max_surge: int | str | None = None
    selector: LabelSelector | None = None
    partition: int | str | None = None
    paused: bool = False


class UpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class ScaleStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    partitioned_scaling: bool = False


class DaemonSetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    selector: LabelSelector = msgspec.field(default_factory=lambda: LabelSelector())
    template: PodTemplateSpec = msgspec.field(default_factory=lambda: PodTemplateSpec())
    update_strategy: UpdateStrategy = msgspec.field(default_factory=lambda: UpdateStrategy())
    min_ready_seconds: int = 0
    burst_replicas: int | str | None = None
    revision_history_limit: int | None = None
    lifecycle: Lifecycle | None = None
    scale_strategy: ScaleStrategy | None = None

    @property
    def rolling(self) -> RollingUpdate:
        return self.update_strategy.rolling_update or RollingUpdate()


class DaemonSetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The numbers without a default are always written."""

    current_number_scheduled: int = msgspec.field(default_factory=int)
    number_misscheduled: int = msgspec.field(default_factory=int)
    desired_number_scheduled: int = msgspec.field(default_factory=int)
    number_ready: int = msgspec.field(default_factory=int)
    observed_generation: int = 0
    updated_number_scheduled: int = msgspec.field(default_factory=int)
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None
    conditions: tuple[DaemonSetCondition, ...] = ()
    update_revision: str = ""


class DaemonSet(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: DaemonSetSpec = msgspec.field(default_factory=lambda: DaemonSetSpec())
    status: DaemonSetStatus = msgspec.field(default_factory=lambda: DaemonSetStatus())
