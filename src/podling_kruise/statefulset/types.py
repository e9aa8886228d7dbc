"""Advanced StatefulSets as structs, in the stored version. Upstream: ``apis/apps/v1beta1``."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.apps_v1 import (
    StatefulSetCondition,
    StatefulSetOrdinals,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
)
from podling.api.core_v1 import PersistentVolumeClaim, PodTemplateSpec
from podling.api.meta_v1 import LabelSelector
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.common_types import InPlaceUpdateStrategy, Lifecycle, PriorityStrategy
from podling_kruise.statefulset.definition import definition

MAX_MIN_READY_SECONDS = 300


class UnorderedUpdate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    priority_strategy: PriorityStrategy | None = None


class RollingUpdate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    partition: int | None = None
    max_unavailable: int | str | None = None
    pod_update_policy: str = ""
    paused: bool = False
    unordered_update: UnorderedUpdate | None = None
    in_place_update_strategy: InPlaceUpdateStrategy | None = None
    min_ready_seconds: int | None = None


class UpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class ScaleStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    max_unavailable: int | str | None = None


ON_POD_ROLLING_UPDATE, ON_CLAIM_DELETE = "OnPodRollingUpdate", "OnDelete"


class VolumeClaimUpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""


class StatefulSetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    replicas: int | None = None
    selector: LabelSelector = msgspec.field(default_factory=lambda: LabelSelector())
    template: PodTemplateSpec = msgspec.field(default_factory=lambda: PodTemplateSpec())
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    volume_claim_update_strategy: VolumeClaimUpdateStrategy | None = None
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: UpdateStrategy = msgspec.field(default_factory=lambda: UpdateStrategy())
    revision_history_limit: int | None = None
    reserve_ordinals: tuple[int | str, ...] = ()
    lifecycle: Lifecycle | None = None
    scale_strategy: ScaleStrategy | None = None
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    ordinals: StatefulSetOrdinals | None = None

    @property
    def wanted(self) -> int:
        """The desired number of pods."""
        return 1 if self.replicas is None else self.replicas

    @property
    def grows_claims(self) -> bool:
        """Claims become as large as their templates together with the update of their pods."""
        strategy = self.volume_claim_update_strategy
        return strategy is not None and strategy.type == ON_POD_ROLLING_UPDATE

    @property
    def rolling(self) -> RollingUpdate:
        return self.update_strategy.rolling_update or RollingUpdate()

    @property
    def min_ready_seconds(self) -> int:
        """The time for which a pod must be ready to be available; it is part of the rolling update here."""
        return self.rolling.min_ready_seconds or 0


class VolumeClaimStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    volume_claim_name: str = ""
    compatible_replicas: int = 0
    compatible_ready_replicas: int = 0


class StatefulSetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The numbers without a default are always written."""

    observed_generation: int = 0
    replicas: int = msgspec.field(default_factory=int)
    ready_replicas: int = msgspec.field(default_factory=int)
    available_replicas: int = msgspec.field(default_factory=int)
    current_replicas: int = msgspec.field(default_factory=int)
    updated_replicas: int = msgspec.field(default_factory=int)
    updated_ready_replicas: int = 0
    updated_available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None
    conditions: tuple[StatefulSetCondition, ...] = ()
    label_selector: str = ""
    volume_claims: tuple[VolumeClaimStatus, ...] = ()


class StatefulSet(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: StatefulSetSpec = msgspec.field(default_factory=lambda: StatefulSetSpec())
    status: StatefulSetStatus = msgspec.field(default_factory=lambda: StatefulSetStatus())
