"""Kubernetes v1.36 types of networking/v1beta1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import ListMap, MergeKey
from podling.api.meta_v1 import Condition, ListMeta, ObjectMeta


class IPAddress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1beta1', 'IPAddress')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'IPAddress')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: IPAddressSpec = field(default_factory=lambda: IPAddressSpec())


class IPAddressList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1beta1', 'IPAddressList')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1beta1')
    items: tuple[IPAddress, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'IPAddressList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class IPAddressSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('parentRef',)
    parent_ref: ParentReference = field(default_factory=lambda: ParentReference())


class ParentReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'resource')
    group: str = ''
    name: str = ''
    namespace: str = ''
    resource: str = ''


class ServiceCIDR(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1beta1', 'ServiceCIDR')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'ServiceCIDR')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ServiceCIDRSpec = field(default_factory=lambda: ServiceCIDRSpec())
    status: ServiceCIDRStatus = field(default_factory=lambda: ServiceCIDRStatus())


class ServiceCIDRList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1beta1', 'ServiceCIDRList')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1beta1')
    items: tuple[ServiceCIDR, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ServiceCIDRList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ServiceCIDRSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    cidrs: tuple[str, ...] = ()


class ServiceCIDRStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()
