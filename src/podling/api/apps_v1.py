"""Kubernetes v1.36 types of apps/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, Any, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.core_v1 import PersistentVolumeClaim, PodTemplateSpec
from podling.api.markers import INT32, ListMap, MergeKey, RETAIN_KEYS
from podling.api.meta_v1 import LabelSelector, ListMeta, ObjectMeta


class ControllerRevision(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('revision',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'ControllerRevision')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    data: Any = field(default_factory=NoneType)
    kind: str = field(default_factory=lambda: 'ControllerRevision')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    revision: int = field(default_factory=int)


class ControllerRevisionList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'ControllerRevisionList')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    items: tuple[ControllerRevision, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ControllerRevisionList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class DaemonSet(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'DaemonSet')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    kind: str = field(default_factory=lambda: 'DaemonSet')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: DaemonSetSpec = field(default_factory=lambda: DaemonSetSpec())
    status: DaemonSetStatus = field(default_factory=lambda: DaemonSetStatus())


class DaemonSetCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class DaemonSetList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'DaemonSetList')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    items: tuple[DaemonSet, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'DaemonSetList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class DaemonSetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('selector', 'template')
    min_ready_seconds: Annotated[int, INT32] = 0
    revision_history_limit: Annotated[int, INT32] | None = None
    selector: LabelSelector = field(default_factory=lambda: LabelSelector())
    template: PodTemplateSpec = field(default_factory=lambda: PodTemplateSpec())
    update_strategy: DaemonSetUpdateStrategy = field(default_factory=lambda: DaemonSetUpdateStrategy())


class DaemonSetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('currentNumberScheduled', 'desiredNumberScheduled', 'numberMisscheduled', 'numberReady')
    collision_count: Annotated[int, INT32] | None = None
    conditions: Annotated[tuple[DaemonSetCondition, ...], MergeKey('type'), ListMap('type')] = ()
    current_number_scheduled: Annotated[int, INT32] = field(default_factory=int)
    desired_number_scheduled: Annotated[int, INT32] = field(default_factory=int)
    number_available: Annotated[int, INT32] = 0
    number_misscheduled: Annotated[int, INT32] = field(default_factory=int)
    number_ready: Annotated[int, INT32] = field(default_factory=int)
    number_unavailable: Annotated[int, INT32] = 0
    observed_generation: int = 0
    updated_number_scheduled: Annotated[int, INT32] = 0


class DaemonSetUpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    rolling_update: RollingUpdateDaemonSet | None = None
    type: str = ''


class Deployment(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'Deployment')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    kind: str = field(default_factory=lambda: 'Deployment')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: DeploymentSpec = field(default_factory=lambda: DeploymentSpec())
    status: DeploymentStatus = field(default_factory=lambda: DeploymentStatus())


class DeploymentCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    last_update_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class DeploymentList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'DeploymentList')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    items: tuple[Deployment, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'DeploymentList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class DeploymentSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('selector', 'template')
    min_ready_seconds: Annotated[int, INT32] = 0
    paused: bool = False
    progress_deadline_seconds: Annotated[int, INT32] | None = None
    replicas: Annotated[int, INT32] | None = None
    revision_history_limit: Annotated[int, INT32] | None = None
    selector: LabelSelector = field(default_factory=lambda: LabelSelector())
    strategy: Annotated[DeploymentStrategy, RETAIN_KEYS] = field(default_factory=lambda: DeploymentStrategy())
    template: PodTemplateSpec = field(default_factory=lambda: PodTemplateSpec())


class DeploymentStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    available_replicas: Annotated[int, INT32] = 0
    collision_count: Annotated[int, INT32] | None = None
    conditions: Annotated[tuple[DeploymentCondition, ...], MergeKey('type'), ListMap('type')] = ()
    observed_generation: int = 0
    ready_replicas: Annotated[int, INT32] = 0
    replicas: Annotated[int, INT32] = 0
    terminating_replicas: Annotated[int, INT32] | None = None
    unavailable_replicas: Annotated[int, INT32] = 0
    updated_replicas: Annotated[int, INT32] = 0


class DeploymentStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    rolling_update: RollingUpdateDeployment | None = None
    type: str = ''


class ReplicaSet(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'ReplicaSet')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    kind: str = field(default_factory=lambda: 'ReplicaSet')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ReplicaSetSpec = field(default_factory=lambda: ReplicaSetSpec())
    status: ReplicaSetStatus = field(default_factory=lambda: ReplicaSetStatus())


class ReplicaSetCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class ReplicaSetList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'ReplicaSetList')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    items: tuple[ReplicaSet, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ReplicaSetList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ReplicaSetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('selector',)
    min_ready_seconds: Annotated[int, INT32] = 0
    replicas: Annotated[int, INT32] | None = None
    selector: LabelSelector = field(default_factory=lambda: LabelSelector())
    template: PodTemplateSpec = field(default_factory=lambda: PodTemplateSpec())


class ReplicaSetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('replicas',)
    available_replicas: Annotated[int, INT32] = 0
    conditions: Annotated[tuple[ReplicaSetCondition, ...], MergeKey('type'), ListMap('type')] = ()
    fully_labeled_replicas: Annotated[int, INT32] = 0
    observed_generation: int = 0
    ready_replicas: Annotated[int, INT32] = 0
    replicas: Annotated[int, INT32] = field(default_factory=int)
    terminating_replicas: Annotated[int, INT32] | None = None


class RollingUpdateDaemonSet(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class RollingUpdateDeployment(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class RollingUpdateStatefulSetStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    max_unavailable: int | str | None = None
    partition: Annotated[int, INT32] | None = None


class StatefulSet(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'StatefulSet')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    kind: str = field(default_factory=lambda: 'StatefulSet')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: StatefulSetSpec = field(default_factory=lambda: StatefulSetSpec())
    status: StatefulSetStatus = field(default_factory=lambda: StatefulSetStatus())


class StatefulSetCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class StatefulSetList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apps', 'v1', 'StatefulSetList')
    api_version: str = field(default_factory=lambda: 'apps/v1')
    items: tuple[StatefulSet, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'StatefulSetList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class StatefulSetOrdinals(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    start: Annotated[int, INT32] = field(default_factory=int)


class StatefulSetPersistentVolumeClaimRetentionPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    when_deleted: str = ''
    when_scaled: str = ''


class StatefulSetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('selector', 'template')
    min_ready_seconds: Annotated[int, INT32] = 0
    ordinals: StatefulSetOrdinals | None = None
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    pod_management_policy: str = ''
    replicas: Annotated[int, INT32] | None = None
    revision_history_limit: Annotated[int, INT32] | None = None
    selector: LabelSelector = field(default_factory=lambda: LabelSelector())
    service_name: str = field(default_factory=str)
    template: PodTemplateSpec = field(default_factory=lambda: PodTemplateSpec())
    update_strategy: StatefulSetUpdateStrategy = field(default_factory=lambda: StatefulSetUpdateStrategy())
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()


class StatefulSetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('replicas',)
    available_replicas: Annotated[int, INT32] = field(default_factory=int)
    collision_count: Annotated[int, INT32] | None = None
    conditions: Annotated[tuple[StatefulSetCondition, ...], MergeKey('type'), ListMap('type')] = ()
    current_replicas: Annotated[int, INT32] = 0
    current_revision: str = ''
    observed_generation: int = 0
    ready_replicas: Annotated[int, INT32] = 0
    replicas: Annotated[int, INT32] = field(default_factory=int)
    update_revision: str = ''
    updated_replicas: Annotated[int, INT32] = 0


class StatefulSetUpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    rolling_update: RollingUpdateStatefulSetStrategy | None = None
    type: str = ''
