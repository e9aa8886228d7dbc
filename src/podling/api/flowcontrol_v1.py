"""Kubernetes v1.36 types of flowcontrol/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.markers import INT32, LIST_SET, ListMap, MergeKey
from podling.api.meta_v1 import ListMeta, ObjectMeta


class ExemptPriorityLevelConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    lendable_percent: Annotated[int, INT32] | None = None
    nominal_concurrency_shares: Annotated[int, INT32] | None = None


class FlowDistinguisherMethod(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    type: str = field(default_factory=str)


class FlowSchema(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('flowcontrol.apiserver.k8s.io', 'v1', 'FlowSchema')
    api_version: str = field(default_factory=lambda: 'flowcontrol.apiserver.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'FlowSchema')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: FlowSchemaSpec = field(default_factory=lambda: FlowSchemaSpec())
    status: FlowSchemaStatus = field(default_factory=lambda: FlowSchemaStatus())


class FlowSchemaCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = ''
    type: str = ''


class FlowSchemaList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('flowcontrol.apiserver.k8s.io', 'v1', 'FlowSchemaList')
    api_version: str = field(default_factory=lambda: 'flowcontrol.apiserver.k8s.io/v1')
    items: tuple[FlowSchema, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'FlowSchemaList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class FlowSchemaSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('priorityLevelConfiguration',)
    distinguisher_method: FlowDistinguisherMethod | None = None
    matching_precedence: Annotated[int, INT32] = field(default_factory=int)
    priority_level_configuration: PriorityLevelConfigurationReference = field(default_factory=lambda: PriorityLevelConfigurationReference())
    rules: tuple[PolicyRulesWithSubjects, ...] = ()


class FlowSchemaStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[FlowSchemaCondition, ...], MergeKey('type'), ListMap('type')] = ()


class GroupSubject(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)


class LimitResponse(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    queuing: QueuingConfiguration | None = None
    type: str = field(default_factory=str)


class LimitedPriorityLevelConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    borrowing_limit_percent: Annotated[int, INT32] | None = None
    lendable_percent: Annotated[int, INT32] | None = None
    limit_response: LimitResponse = field(default_factory=lambda: LimitResponse())
    nominal_concurrency_shares: Annotated[int, INT32] | None = field(default_factory=NoneType)


class NonResourcePolicyRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('nonResourceURLs', 'verbs')
    non_resource_urls: Annotated[tuple[str, ...], LIST_SET] = field(default_factory=empty_list, name='nonResourceURLs')
    verbs: Annotated[tuple[str, ...], LIST_SET] = field(default_factory=empty_list)


class PolicyRulesWithSubjects(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('subjects',)
    non_resource_rules: tuple[NonResourcePolicyRule, ...] = ()
    resource_rules: tuple[ResourcePolicyRule, ...] = ()
    subjects: tuple[Subject, ...] = field(default_factory=empty_list)


class PriorityLevelConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('flowcontrol.apiserver.k8s.io', 'v1', 'PriorityLevelConfiguration')
    api_version: str = field(default_factory=lambda: 'flowcontrol.apiserver.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'PriorityLevelConfiguration')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PriorityLevelConfigurationSpec = field(default_factory=lambda: PriorityLevelConfigurationSpec())
    status: PriorityLevelConfigurationStatus = field(default_factory=lambda: PriorityLevelConfigurationStatus())


class PriorityLevelConfigurationCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = ''
    type: str = ''


class PriorityLevelConfigurationList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('flowcontrol.apiserver.k8s.io', 'v1', 'PriorityLevelConfigurationList')
    api_version: str = field(default_factory=lambda: 'flowcontrol.apiserver.k8s.io/v1')
    items: tuple[PriorityLevelConfiguration, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PriorityLevelConfigurationList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PriorityLevelConfigurationReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)


class PriorityLevelConfigurationSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    exempt: ExemptPriorityLevelConfiguration | None = None
    limited: LimitedPriorityLevelConfiguration | None = None
    type: str = field(default_factory=str)


class PriorityLevelConfigurationStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[PriorityLevelConfigurationCondition, ...], MergeKey('type'), ListMap('type')] = ()


class QueuingConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    hand_size: Annotated[int, INT32] = field(default_factory=int)
    queue_length_limit: Annotated[int, INT32] = field(default_factory=int)
    queues: Annotated[int, INT32] = field(default_factory=int)


class ResourcePolicyRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('apiGroups', 'resources', 'verbs')
    api_groups: Annotated[tuple[str, ...], LIST_SET] = field(default_factory=empty_list)
    cluster_scope: bool = False
    namespaces: Nullable[Annotated[tuple[str, ...], LIST_SET]] = field(default_factory=nil_list)
    resources: Annotated[tuple[str, ...], LIST_SET] = field(default_factory=empty_list)
    verbs: Annotated[tuple[str, ...], LIST_SET] = field(default_factory=empty_list)

    def __post_init__(self) -> None:
        if not self.namespaces:
            empty_as_null(self, 'namespaces')


class ServiceAccountSubject(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'namespace')
    name: str = field(default_factory=str)
    namespace: str = field(default_factory=str)


class Subject(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind',)
    group: GroupSubject | None = None
    kind: str = field(default_factory=str)
    service_account: ServiceAccountSubject | None = None
    user: UserSubject | None = None


class UserSubject(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
