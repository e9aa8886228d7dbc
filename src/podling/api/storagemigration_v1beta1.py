"""Kubernetes v1.36 types of storagemigration/v1beta1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import ListMap, MergeKey
from podling.api.meta_v1 import Condition, GroupResource, ListMeta, ObjectMeta


class StorageVersionMigration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storagemigration.k8s.io', 'v1beta1', 'StorageVersionMigration')
    api_version: str = field(default_factory=lambda: 'storagemigration.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'StorageVersionMigration')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: StorageVersionMigrationSpec = field(default_factory=lambda: StorageVersionMigrationSpec())
    status: StorageVersionMigrationStatus = field(default_factory=lambda: StorageVersionMigrationStatus())


class StorageVersionMigrationList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storagemigration.k8s.io', 'v1beta1', 'StorageVersionMigrationList')
    api_version: str = field(default_factory=lambda: 'storagemigration.k8s.io/v1beta1')
    items: tuple[StorageVersionMigration, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'StorageVersionMigrationList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class StorageVersionMigrationSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('resource',)
    resource: GroupResource = field(default_factory=lambda: GroupResource())


class StorageVersionMigrationStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()
    resource_version: str = ''
