"""Kubernetes v1.36 types of resource/v1alpha3. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import INT32, ListMap, MergeKey
from podling.api.meta_v1 import Condition, ListMeta, ObjectMeta


class DeviceTaint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('effect', 'key')
    effect: str = field(default_factory=str)
    key: str = field(default_factory=str)
    time_added: datetime | None = None
    value: str = ''


class DeviceTaintRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1alpha3', 'DeviceTaintRule')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1alpha3')
    kind: str = field(default_factory=lambda: 'DeviceTaintRule')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: DeviceTaintRuleSpec = field(default_factory=lambda: DeviceTaintRuleSpec())
    status: DeviceTaintRuleStatus = field(default_factory=lambda: DeviceTaintRuleStatus())


class DeviceTaintRuleList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1alpha3', 'DeviceTaintRuleList')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1alpha3')
    items: tuple[DeviceTaintRule, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'DeviceTaintRuleList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class DeviceTaintRuleSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('taint',)
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = field(default_factory=lambda: DeviceTaint())


class DeviceTaintRuleStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()


class DeviceTaintSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    device: str | None = None
    driver: str | None = None
    pool: str | None = None


class PoolStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver', 'generation', 'poolName')
    allocated_devices: Annotated[int, INT32] | None = None
    available_devices: Annotated[int, INT32] | None = None
    driver: str = ''
    generation: int = field(default_factory=int)
    node_name: str | None = None
    pool_name: str = ''
    resource_slice_count: Annotated[int, INT32] | None = None
    total_devices: Annotated[int, INT32] | None = None
    unavailable_devices: Annotated[int, INT32] | None = None
    validation_error: str | None = None


class ResourcePoolStatusRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('metadata', 'spec')
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1alpha3', 'ResourcePoolStatusRequest')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1alpha3')
    kind: str = field(default_factory=lambda: 'ResourcePoolStatusRequest')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ResourcePoolStatusRequestSpec = field(default_factory=lambda: ResourcePoolStatusRequestSpec())
    status: ResourcePoolStatusRequestStatus | None = None


class ResourcePoolStatusRequestList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1alpha3', 'ResourcePoolStatusRequestList')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1alpha3')
    items: tuple[ResourcePoolStatusRequest, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ResourcePoolStatusRequestList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ResourcePoolStatusRequestSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver',)
    driver: str = field(default_factory=str)
    limit: Annotated[int, INT32] | None = None
    pool_name: str | None = None


class ResourcePoolStatusRequestStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('poolCount',)
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()
    pool_count: Annotated[int, INT32] | None = None
    pools: tuple[PoolStatus, ...] = ()
