"""Kubernetes v1.36 types of apiserverinternal/v1alpha1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import LIST_SET, ListMap
from podling.api.meta_v1 import ListMeta, ObjectMeta


class ServerStorageVersion(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('apiServerID', 'decodableVersions', 'encodingVersion')
    api_server_id: str = field(default='', name='apiServerID')
    decodable_versions: Annotated[tuple[str, ...], LIST_SET] = ()
    encoding_version: str = ''
    served_versions: Annotated[tuple[str, ...], LIST_SET] = ()


class StorageVersion(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('metadata',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('internal.apiserver.k8s.io', 'v1alpha1', 'StorageVersion')
    api_version: str = field(default_factory=lambda: 'internal.apiserver.k8s.io/v1alpha1')
    kind: str = field(default_factory=lambda: 'StorageVersion')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: StorageVersionSpec = field(default_factory=lambda: StorageVersionSpec())
    status: StorageVersionStatus = field(default_factory=lambda: StorageVersionStatus())


class StorageVersionCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('message', 'reason', 'status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    observed_generation: int = 0
    reason: str = field(default_factory=str)
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class StorageVersionList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('internal.apiserver.k8s.io', 'v1alpha1', 'StorageVersionList')
    api_version: str = field(default_factory=lambda: 'internal.apiserver.k8s.io/v1alpha1')
    items: tuple[StorageVersion, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'StorageVersionList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class StorageVersionSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    pass


class StorageVersionStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    common_encoding_version: str | None = None
    conditions: Annotated[tuple[StorageVersionCondition, ...], ListMap('type')] = ()
    storage_versions: Annotated[tuple[ServerStorageVersion, ...], ListMap('apiServerID')] = ()
