"""Kubernetes v1.36 types of coordination/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import INT32, MICRO_TIME
from podling.api.meta_v1 import ListMeta, ObjectMeta


class Lease(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('coordination.k8s.io', 'v1', 'Lease')
    api_version: str = field(default_factory=lambda: 'coordination.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'Lease')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: LeaseSpec = field(default_factory=lambda: LeaseSpec())


class LeaseList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('coordination.k8s.io', 'v1', 'LeaseList')
    api_version: str = field(default_factory=lambda: 'coordination.k8s.io/v1')
    items: tuple[Lease, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'LeaseList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class LeaseSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    micro_times: ClassVar[bool] = True
    acquire_time: Annotated[datetime, MICRO_TIME] | None = None
    holder_identity: str | None = None
    lease_duration_seconds: Annotated[int, INT32] | None = None
    lease_transitions: Annotated[int, INT32] | None = None
    preferred_holder: str | None = None
    renew_time: Annotated[datetime, MICRO_TIME] | None = None
    strategy: str | None = None
