"""Kubernetes v1.36 types of authorization/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.meta_v1 import FieldSelectorRequirement, LabelSelectorRequirement, ObjectMeta


class FieldSelectorAttributes(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    raw_selector: str = ''
    requirements: tuple[FieldSelectorRequirement, ...] = ()


class LabelSelectorAttributes(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    raw_selector: str = ''
    requirements: tuple[LabelSelectorRequirement, ...] = ()


class LocalSubjectAccessReview(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('authorization.k8s.io', 'v1', 'LocalSubjectAccessReview')
    api_version: str = field(default_factory=lambda: 'authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'LocalSubjectAccessReview')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: SubjectAccessReviewSpec = field(default_factory=lambda: SubjectAccessReviewSpec())
    status: SubjectAccessReviewStatus = field(default_factory=lambda: SubjectAccessReviewStatus())


class NonResourceAttributes(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    path: str = ''
    verb: str = ''


class NonResourceRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('verbs',)
    non_resource_urls: tuple[str, ...] = field(default=(), name='nonResourceURLs')
    verbs: tuple[str, ...] = field(default_factory=empty_list)


class ResourceAttributes(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    field_selector: FieldSelectorAttributes | None = None
    group: str = ''
    label_selector: LabelSelectorAttributes | None = None
    name: str = ''
    namespace: str = ''
    resource: str = ''
    subresource: str = ''
    verb: str = ''
    version: str = ''


class ResourceRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('verbs',)
    api_groups: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = field(default_factory=empty_list)


class SelfSubjectAccessReview(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('authorization.k8s.io', 'v1', 'SelfSubjectAccessReview')
    api_version: str = field(default_factory=lambda: 'authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'SelfSubjectAccessReview')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: SelfSubjectAccessReviewSpec = field(default_factory=lambda: SelfSubjectAccessReviewSpec())
    status: SubjectAccessReviewStatus = field(default_factory=lambda: SubjectAccessReviewStatus())


class SelfSubjectAccessReviewSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None


class SelfSubjectRulesReview(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('authorization.k8s.io', 'v1', 'SelfSubjectRulesReview')
    api_version: str = field(default_factory=lambda: 'authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'SelfSubjectRulesReview')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: SelfSubjectRulesReviewSpec = field(default_factory=lambda: SelfSubjectRulesReviewSpec())
    status: SubjectRulesReviewStatus = field(default_factory=lambda: SubjectRulesReviewStatus())


class SelfSubjectRulesReviewSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    namespace: str = ''


class SubjectAccessReview(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('authorization.k8s.io', 'v1', 'SubjectAccessReview')
    api_version: str = field(default_factory=lambda: 'authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'SubjectAccessReview')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: SubjectAccessReviewSpec = field(default_factory=lambda: SubjectAccessReviewSpec())
    status: SubjectAccessReviewStatus = field(default_factory=lambda: SubjectAccessReviewStatus())


class SubjectAccessReviewSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None
    uid: str = ''
    user: str = ''


class SubjectAccessReviewStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('allowed',)
    allowed: bool = field(default_factory=bool)
    denied: bool = False
    evaluation_error: str = ''
    reason: str = ''


class SubjectRulesReviewStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('incomplete', 'nonResourceRules', 'resourceRules')
    evaluation_error: str = ''
    incomplete: bool = field(default_factory=bool)
    non_resource_rules: tuple[NonResourceRule, ...] = field(default_factory=empty_list)
    resource_rules: tuple[ResourceRule, ...] = field(default_factory=empty_list)
