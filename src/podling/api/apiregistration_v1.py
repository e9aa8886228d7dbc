"""Kubernetes v1.36 types of apiregistration/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import BYTES, INT32, ListMap, MergeKey
from podling.api.meta_v1 import ListMeta, ObjectMeta


class APIService(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apiregistration.k8s.io', 'v1', 'APIService')
    api_version: str = field(default_factory=lambda: 'apiregistration.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'APIService')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: APIServiceSpec = field(default_factory=lambda: APIServiceSpec())
    status: APIServiceStatus = field(default_factory=lambda: APIServiceStatus())


class APIServiceCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class APIServiceList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apiregistration.k8s.io', 'v1', 'APIServiceList')
    api_version: str = field(default_factory=lambda: 'apiregistration.k8s.io/v1')
    items: tuple[APIService, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'APIServiceList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class APIServiceSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('groupPriorityMinimum', 'versionPriority')
    ca_bundle: Annotated[str, BYTES] = ''
    group: str = ''
    group_priority_minimum: Annotated[int, INT32] = field(default_factory=int)
    insecure_skip_tls_verify: bool = field(default=False, name='insecureSkipTLSVerify')
    service: ServiceReference | None = None
    version: str = ''
    version_priority: Annotated[int, INT32] = field(default_factory=int)


class APIServiceStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[APIServiceCondition, ...], MergeKey('type'), ListMap('type')] = ()


class ServiceReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    name: str = ''
    namespace: str = ''
    port: Annotated[int, INT32] | None = None
