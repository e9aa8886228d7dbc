"""SidecarSets as structs, in the version that is stored. Upstream: ``apis/apps/v1beta1``."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from podling.api.core_v1 import Container, LocalObjectReference, ObjectFieldSelector, Volume
from podling.api.meta_v1 import LabelSelector
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.common_types import PriorityStrategy, ScatterTerm
from podling_kruise.policies import RECREATE
from podling_kruise.sidecarset.definition import definition

COLD, HOT = "ColdUpgrade", "HotUpgrade"
BEFORE, AFTER = "BeforeAppContainer", "AfterAppContainer"
ENABLED, DISABLED = "enabled", "disabled"
MODE_SUM, MODE_MAX = "sum", "max"
ROLLING_UPDATE, NOT_UPDATE = "RollingUpdate", "NotUpdate"
STANDING_TYPES = (NOT_UPDATE, RECREATE)
"""Types of strategies that leave living pods as they are."""
ALWAYS, PARTIAL = "Always", "Partial"
RETAIN, OVERWRITE, MERGE_JSON = "Retain", "Overwrite", "MergePatchJson"


class UpgradeStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    upgrade_type: str = ""
    hot_upgrade_empty_image: str = ""


class ShareVolumePolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""


class SourceName(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    field_ref: ObjectFieldSelector | None = None


class TransferEnv(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Variables of another container that the sidecar gets, too."""

    source_container_name: str = ""
    source_container_name_from: SourceName | None = None
    env_name: str = ""
    env_names: tuple[str, ...] = ()


class ResourceExpressions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An expression for each resource; none is unlimited, or nothing."""

    cpu: str = ""
    memory: str = ""


class ResourcesExpr(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    limits: ResourceExpressions | None = None
    requests: ResourceExpressions | None = None


class ResourcesPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The way the resources of a sidecar follow from those of the pod's containers."""

    target_containers_mode: str = ""
    target_containers_name_regex: str = ""
    resources_expr: ResourcesExpr = msgspec.field(default_factory=lambda: ResourcesExpr())


class SidecarContainer(Container, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pod_inject_policy: str = ""
    upgrade_strategy: UpgradeStrategy = msgspec.field(default_factory=lambda: UpgradeStrategy())
    share_volume_policy: ShareVolumePolicy = msgspec.field(default_factory=lambda: ShareVolumePolicy())
    share_volume_device_policy: ShareVolumePolicy | None = None
    transfer_env: tuple[TransferEnv, ...] = ()
    resources_policy: ResourcesPolicy | None = None

    @property
    def is_hot(self) -> bool:
        return self.upgrade_strategy.upgrade_type == HOT

    @property
    def shares_mounts(self) -> bool:
        return self.share_volume_policy.type == ENABLED

    @property
    def shares_devices(self) -> bool:
        policy = self.share_volume_device_policy
        return policy is not None and policy.type == ENABLED


class InjectRevision(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_version: str | None = None
    revision_name: str | None = None
    policy: str = ""


class InjectionStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    paused: bool = False
    revision: InjectRevision | None = None


class UpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    paused: bool = False
    selector: LabelSelector | None = None
    partition: int | str | None = None
    max_unavailable: int | str | None = None
    priority_strategy: PriorityStrategy | None = None
    scatter_strategy: tuple[ScatterTerm, ...] = ()

    @property
    def leaves_pods(self) -> bool:
        """Living pods keep their sidecars."""
        return self.type in STANDING_TYPES


class PatchPodMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    annotations: dict[str, str] = {}
    patch_policy: str = ""


class SidecarSetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    init_containers: tuple[SidecarContainer, ...] = ()
    containers: tuple[SidecarContainer, ...] = ()
    volumes: tuple[Volume, ...] = ()
    update_strategy: UpdateStrategy = msgspec.field(default_factory=lambda: UpdateStrategy())
    injection_strategy: InjectionStrategy = msgspec.field(default_factory=lambda: InjectionStrategy())
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    revision_history_limit: int | None = None
    patch_pod_metadata: tuple[PatchPodMetadata, ...] = ()
    custom_version: str = ""


class SidecarSetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The numbers without a default are always written."""

    observed_generation: int = 0
    matched_pods: int = msgspec.field(default_factory=int)
    updated_pods: int = msgspec.field(default_factory=int)
    ready_pods: int = msgspec.field(default_factory=int)
    updated_ready_pods: int = 0
    latest_revision: str = ""
    collision_count: int | None = None


class SidecarSet(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: SidecarSetSpec = msgspec.field(default_factory=lambda: SidecarSetSpec())
    status: SidecarSetStatus = msgspec.field(default_factory=lambda: SidecarSetStatus())


def plain_container(sidecar: SidecarContainer, **changes: Any) -> Container:
    """Return the container without the fields that only SidecarSets have."""
    own = {name: getattr(sidecar, name) for name in Container.__struct_fields__}
    return Container(**{**own, **changes})


def hot_names(name: str) -> tuple[str, str]:
    """Return the names of the two containers of a sidecar with hot upgrades."""
    return f"{name}-1", f"{name}-2"
