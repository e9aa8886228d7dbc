"""CloneSets as structs, in the version that is stored. Upstream: ``apis/apps/v1beta1/cloneset_types.go``."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.core_v1 import PersistentVolumeClaim, PodTemplateSpec
from podling.api.meta_v1 import LabelSelector
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.cloneset.definition import definition
from podling_kruise.common_types import InPlaceUpdateStrategy, Lifecycle, PriorityStrategy, ScatterTerm

RECREATE, IF_POSSIBLE, ONLY = "ReCreate", "InPlaceIfPossible", "InPlaceOnly"
ROLLING_UPDATE, ON_DELETE = "RollingUpdate", "OnDelete"
MAX_UNAVAILABLE = "20%"


class ScaleStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pods_to_delete: tuple[str, ...] = ()
    max_unavailable: int | str | None = None
    enable_pvc_reuse: bool = msgspec.field(default=False, name="enablePVCReuse")
    exclude_preparing_delete: bool = False


class RollingUpdate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    partition: int | str | None = None
    max_unavailable: int | str | None = None
    max_surge: int | str | None = None
    pod_update_policy: str = ""
    paused: bool = False
    priority_strategy: PriorityStrategy | None = None
    scatter_strategy: tuple[ScatterTerm, ...] = ()
    in_place_update_strategy: InPlaceUpdateStrategy | None = None


class UpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class CloneSetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=lambda: PodTemplateSpec())
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    scale_strategy: ScaleStrategy = msgspec.field(default_factory=lambda: ScaleStrategy())
    update_strategy: UpdateStrategy = msgspec.field(default_factory=lambda: UpdateStrategy())
    revision_history_limit: int | None = None
    min_ready_seconds: int = 0
    lifecycle: Lifecycle | None = None
    progress_deadline_seconds: int | None = None

    @property
    def wanted(self) -> int:
        """The desired number of pods."""
        return 1 if self.replicas is None else self.replicas

    @property
    def rolling(self) -> RollingUpdate:
        return self.update_strategy.rolling_update or RollingUpdate()


class CloneSetCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    status: str = ""
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class CloneSetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The numbers without a default are always written."""

    observed_generation: int = 0
    replicas: int = msgspec.field(default_factory=int)
    ready_replicas: int = msgspec.field(default_factory=int)
    available_replicas: int = msgspec.field(default_factory=int)
    updated_replicas: int = msgspec.field(default_factory=int)
    updated_ready_replicas: int = msgspec.field(default_factory=int)
    updated_available_replicas: int = 0
    expected_updated_replicas: int = 0
    update_revision: str = ""
    current_revision: str = ""
    collision_count: int | None = None
    conditions: tuple[CloneSetCondition, ...] = ()
    label_selector: str = ""


class CloneSet(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: CloneSetSpec = msgspec.field(default_factory=lambda: CloneSetSpec())
    status: CloneSetStatus = msgspec.field(default_factory=lambda: CloneSetStatus())
