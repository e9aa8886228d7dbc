"""Kubernetes v1.36 types of meta/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, Any, ClassVar

from msgspec import Raw, Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.markers import INT32, LIST_SET, ListMap, MergeKey


class APIGroup(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'versions')
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'APIGroup')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'APIGroup')
    name: str = field(default_factory=str)
    preferred_version: GroupVersionForDiscovery = field(default_factory=lambda: GroupVersionForDiscovery())
    server_address_by_client_cidrs: tuple[ServerAddressByClientCIDR, ...] = field(default=(), name='serverAddressByClientCIDRs')
    versions: tuple[GroupVersionForDiscovery, ...] = field(default_factory=empty_list)


class APIGroupList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('groups',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'APIGroupList')
    api_version: str = field(default_factory=lambda: 'v1')
    groups: Nullable[tuple[APIGroup, ...]] = field(default_factory=nil_list)
    kind: str = field(default_factory=lambda: 'APIGroupList')

    def __post_init__(self) -> None:
        if not self.groups:
            empty_as_null(self, 'groups')


class APIResource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name', 'namespaced', 'singularName', 'verbs')
    categories: tuple[str, ...] = ()
    group: str = ''
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)
    namespaced: bool = field(default_factory=bool)
    short_names: tuple[str, ...] = ()
    singular_name: str = field(default_factory=str)
    storage_version_hash: str = ''
    verbs: tuple[str, ...] = field(default_factory=empty_list)
    version: str = ''


class APIResourceList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('groupVersion', 'resources')
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'APIResourceList')
    api_version: str = field(default_factory=lambda: 'v1')
    group_version: str = field(default_factory=str)
    kind: str = field(default_factory=lambda: 'APIResourceList')
    resources: Nullable[tuple[APIResource, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.resources:
            empty_as_null(self, 'resources')


class APIVersions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('serverAddressByClientCIDRs', 'versions')
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'APIVersions')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'APIVersions')
    server_address_by_client_cidrs: tuple[ServerAddressByClientCIDR, ...] = field(default_factory=empty_list, name='serverAddressByClientCIDRs')
    versions: tuple[str, ...] = field(default_factory=empty_list)


class Condition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('lastTransitionTime', 'message', 'reason', 'status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = field(default_factory=str)
    observed_generation: int = 0
    reason: str = field(default_factory=str)
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class DeleteOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    api_version: str = ''
    dry_run: tuple[str, ...] = ()
    grace_period_seconds: int | None = None
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    kind: str = ''
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None


class FieldSelectorRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key', 'operator')
    key: str = field(default_factory=str)
    operator: str = field(default_factory=str)
    values: tuple[str, ...] = ()


class GroupResource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('group', 'resource')
    group: str = field(default_factory=str)
    resource: str = field(default_factory=str)


class GroupVersionForDiscovery(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('groupVersion', 'version')
    group_version: str = field(default_factory=str)
    version: str = field(default_factory=str)


class LabelSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_labels: dict[str, str] = field(default_factory=dict)


class LabelSelectorRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key', 'operator')
    key: str = field(default_factory=str)
    operator: str = field(default_factory=str)
    values: tuple[str, ...] = ()


class ListMeta(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    continue_: str = ''
    remaining_item_count: int | None = None
    resource_version: str = ''
    self_link: str = ''
    shard_info: ShardInfo | None = None


class ManagedFieldsEntry(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    api_version: str = ''
    fields_type: str = ''
    fields_v1: Raw = Raw()
    manager: str = ''
    operation: str = ''
    subresource: str = ''
    time: datetime | None = None


class ObjectMeta(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    annotations: dict[str, str] = field(default_factory=dict)
    creation_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    deletion_timestamp: datetime | None = None
    finalizers: Annotated[tuple[str, ...], MergeKey(''), LIST_SET] = ()
    generate_name: str = ''
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    managed_fields: tuple[ManagedFieldsEntry, ...] = ()
    name: str = ''
    namespace: str = ''
    owner_references: Annotated[tuple[OwnerReference, ...], MergeKey('uid'), ListMap('uid')] = ()
    resource_version: str = ''
    self_link: str = ''
    uid: str = ''


class OwnerReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('apiVersion', 'kind', 'name', 'uid')
    atomic_struct: ClassVar[bool] = True
    api_version: str = field(default_factory=str)
    block_owner_deletion: bool | None = None
    controller: bool | None = None
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)
    uid: str = field(default_factory=str)


class Preconditions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    resource_version: str | None = None
    uid: str | None = None


class ServerAddressByClientCIDR(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('clientCIDR', 'serverAddress')
    client_cidr: str = field(default_factory=str, name='clientCIDR')
    server_address: str = field(default_factory=str)


class ShardInfo(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('selector',)
    selector: str = field(default_factory=str)


class Status(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Status')
    api_version: str = field(default_factory=lambda: 'v1')
    code: Annotated[int, INT32] = 0
    details: StatusDetails | None = None
    kind: str = field(default_factory=lambda: 'Status')
    message: str = ''
    metadata: ListMeta = field(default_factory=lambda: ListMeta())
    reason: str = ''
    status: str = ''


class StatusCause(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    field_: str = ''
    message: str = ''
    reason: str = ''


class StatusDetails(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    causes: tuple[StatusCause, ...] = ()
    group: str = ''
    kind: str = ''
    name: str = ''
    retry_after_seconds: Annotated[int, INT32] = 0
    uid: str = ''


class WatchEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('object', 'type')
    object: Any = field(default_factory=NoneType)
    type: str = field(default_factory=str)


class Info(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('buildDate', 'compiler', 'gitCommit', 'gitTreeState', 'gitVersion', 'goVersion', 'major', 'minor', 'platform')
    build_date: str = field(default_factory=str)
    compiler: str = field(default_factory=str)
    emulation_major: str = ''
    emulation_minor: str = ''
    git_commit: str = field(default_factory=str)
    git_tree_state: str = field(default_factory=str)
    git_version: str = field(default_factory=str)
    go_version: str = field(default_factory=str)
    major: str = field(default_factory=str)
    min_compatibility_major: str = ''
    min_compatibility_minor: str = ''
    minor: str = field(default_factory=str)
    platform: str = field(default_factory=str)
