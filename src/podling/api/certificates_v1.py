"""Kubernetes v1.36 types of certificates/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import BYTES, INT32, ListMap
from podling.api.meta_v1 import ListMeta, ObjectMeta


class CertificateSigningRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1', 'CertificateSigningRequest')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'CertificateSigningRequest')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: CertificateSigningRequestSpec = field(default_factory=lambda: CertificateSigningRequestSpec())
    status: CertificateSigningRequestStatus = field(default_factory=lambda: CertificateSigningRequestStatus())


class CertificateSigningRequestCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    last_update_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class CertificateSigningRequestList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1', 'CertificateSigningRequestList')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1')
    items: tuple[CertificateSigningRequest, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'CertificateSigningRequestList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class CertificateSigningRequestSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('request', 'signerName')
    expiration_seconds: Annotated[int, INT32] | None = None
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    request: Annotated[str, BYTES] = field(default_factory=str)
    signer_name: str = field(default_factory=str)
    uid: str = ''
    usages: tuple[str, ...] = ()
    username: str = ''


class CertificateSigningRequestStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    certificate: Annotated[str, BYTES] = ''
    conditions: Annotated[tuple[CertificateSigningRequestCondition, ...], ListMap('type')] = ()
