"""Kubernetes v1.36 types of scheduling/v1alpha2. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.markers import INT32, ListMap, MergeKey, RETAIN_KEYS
from podling.api.meta_v1 import Condition, ListMeta, ObjectMeta


class BasicSchedulingPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    pass


class GangSchedulingPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('minCount',)
    min_count: Annotated[int, INT32] = field(default_factory=int)


class PodGroup(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('scheduling.k8s.io', 'v1alpha2', 'PodGroup')
    api_version: str = field(default_factory=lambda: 'scheduling.k8s.io/v1alpha2')
    kind: str = field(default_factory=lambda: 'PodGroup')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PodGroupSpec = field(default_factory=lambda: PodGroupSpec())
    status: PodGroupStatus = field(default_factory=lambda: PodGroupStatus())


class PodGroupList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('scheduling.k8s.io', 'v1alpha2', 'PodGroupList')
    api_version: str = field(default_factory=lambda: 'scheduling.k8s.io/v1alpha2')
    items: tuple[PodGroup, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PodGroupList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PodGroupResourceClaim(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupResourceClaimStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    resource_claim_name: str | None = None


class PodGroupSchedulingConstraints(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupSchedulingPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class PodGroupSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('schedulingPolicy',)
    disruption_mode: str | None = None
    pod_group_template_ref: PodGroupTemplateReference | None = field(default_factory=NoneType)
    priority: Annotated[int, INT32] | None = None
    priority_class_name: str = ''
    resource_claims: Annotated[tuple[PodGroupResourceClaim, ...], MergeKey('name'), RETAIN_KEYS, ListMap('name')] = ()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    scheduling_policy: PodGroupSchedulingPolicy = field(default_factory=lambda: PodGroupSchedulingPolicy())


class PodGroupStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()
    resource_claim_statuses: Annotated[tuple[PodGroupResourceClaimStatus, ...], MergeKey('name'), RETAIN_KEYS, ListMap('name')] = ()


class PodGroupTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'schedulingPolicy')
    disruption_mode: str | None = None
    name: str = field(default_factory=str)
    priority: Annotated[int, INT32] | None = None
    priority_class_name: str = ''
    resource_claims: Annotated[tuple[PodGroupResourceClaim, ...], MergeKey('name'), RETAIN_KEYS, ListMap('name')] = ()
    scheduling_constraints: PodGroupSchedulingConstraints | None = field(default_factory=NoneType)
    scheduling_policy: PodGroupSchedulingPolicy = field(default_factory=lambda: PodGroupSchedulingPolicy())


class PodGroupTemplateReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    workload: WorkloadPodGroupTemplateReference | None = field(default_factory=NoneType)


class TopologyConstraint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key',)
    key: str = field(default_factory=str)


class TypedLocalObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    api_group: str = ''
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)


class Workload(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('scheduling.k8s.io', 'v1alpha2', 'Workload')
    api_version: str = field(default_factory=lambda: 'scheduling.k8s.io/v1alpha2')
    kind: str = field(default_factory=lambda: 'Workload')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: WorkloadSpec = field(default_factory=lambda: WorkloadSpec())


class WorkloadList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('scheduling.k8s.io', 'v1alpha2', 'WorkloadList')
    api_version: str = field(default_factory=lambda: 'scheduling.k8s.io/v1alpha2')
    items: tuple[Workload, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'WorkloadList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class WorkloadPodGroupTemplateReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('podGroupTemplateName', 'workloadName')
    pod_group_template_name: str = field(default_factory=str)
    workload_name: str = field(default_factory=str)


class WorkloadSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('podGroupTemplates',)
    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: Nullable[Annotated[tuple[PodGroupTemplate, ...], ListMap('name')]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.pod_group_templates:
            empty_as_null(self, 'pod_group_templates')
