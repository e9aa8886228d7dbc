"""Kubernetes v1.36 types of coordination/v1beta1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import MICRO_TIME
from podling.api.meta_v1 import ListMeta, ObjectMeta


class LeaseCandidate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('coordination.k8s.io', 'v1beta1', 'LeaseCandidate')
    api_version: str = field(default_factory=lambda: 'coordination.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'LeaseCandidate')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: LeaseCandidateSpec = field(default_factory=lambda: LeaseCandidateSpec())


class LeaseCandidateList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('coordination.k8s.io', 'v1beta1', 'LeaseCandidateList')
    api_version: str = field(default_factory=lambda: 'coordination.k8s.io/v1beta1')
    items: tuple[LeaseCandidate, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'LeaseCandidateList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class LeaseCandidateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('binaryVersion', 'leaseName', 'strategy')
    micro_times: ClassVar[bool] = True
    binary_version: str = field(default_factory=str)
    emulation_version: str = ''
    lease_name: str = field(default_factory=str)
    ping_time: Annotated[datetime, MICRO_TIME] | None = None
    renew_time: Annotated[datetime, MICRO_TIME] | None = None
    strategy: str = ''
