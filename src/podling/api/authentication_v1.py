"""Kubernetes v1.36 types of authentication/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.meta_v1 import ObjectMeta


class BoundObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    api_version: str = ''
    kind: str = ''
    name: str = ''
    uid: str = ''


class SelfSubjectReview(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('authentication.k8s.io', 'v1', 'SelfSubjectReview')
    api_version: str = field(default_factory=lambda: 'authentication.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'SelfSubjectReview')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    status: SelfSubjectReviewStatus = field(default_factory=lambda: SelfSubjectReviewStatus())


class SelfSubjectReviewStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    user_info: UserInfo = field(default_factory=lambda: UserInfo())


class TokenRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('authentication.k8s.io', 'v1', 'TokenRequest')
    api_version: str = field(default_factory=lambda: 'authentication.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'TokenRequest')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: TokenRequestSpec = field(default_factory=lambda: TokenRequestSpec())
    status: TokenRequestStatus = field(default_factory=lambda: TokenRequestStatus())


class TokenRequestSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    audiences: tuple[str, ...] = field(default_factory=empty_list)
    bound_object_ref: BoundObjectReference | None = field(default_factory=NoneType)
    expiration_seconds: int | None = field(default_factory=NoneType)


class TokenRequestStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    expiration_timestamp: datetime | None = field(default_factory=NoneType)
    token: str = field(default_factory=str)


class TokenReview(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('authentication.k8s.io', 'v1', 'TokenReview')
    api_version: str = field(default_factory=lambda: 'authentication.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'TokenReview')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: TokenReviewSpec = field(default_factory=lambda: TokenReviewSpec())
    status: TokenReviewStatus = field(default_factory=lambda: TokenReviewStatus())


class TokenReviewSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('token',)
    audiences: tuple[str, ...] = ()
    token: str = ''


class TokenReviewStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    audiences: tuple[str, ...] = ()
    authenticated: bool = False
    error: str = ''
    user: UserInfo = field(default_factory=lambda: UserInfo())


class UserInfo(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    uid: str = ''
    username: str = ''
