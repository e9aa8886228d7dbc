"""Kubernetes v1.36 types of rbac/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.meta_v1 import LabelSelector, ListMeta, ObjectMeta


class AggregationRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class ClusterRole(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'ClusterRole')
    aggregation_rule: AggregationRule | None = None
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'ClusterRole')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    rules: Nullable[tuple[PolicyRule, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.rules:
            empty_as_null(self, 'rules')


class ClusterRoleBinding(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('roleRef',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBinding')
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'ClusterRoleBinding')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    role_ref: RoleRef = field(default_factory=lambda: RoleRef())
    subjects: tuple[Subject, ...] = ()


class ClusterRoleBindingList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBindingList')
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    items: tuple[ClusterRoleBinding, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ClusterRoleBindingList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ClusterRoleList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'ClusterRoleList')
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    items: tuple[ClusterRole, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ClusterRoleList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PolicyRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('verbs',)
    api_groups: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = field(default=(), name='nonResourceURLs')
    resource_names: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = field(default_factory=empty_list)


class Role(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'Role')
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'Role')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    rules: Nullable[tuple[PolicyRule, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.rules:
            empty_as_null(self, 'rules')


class RoleBinding(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('roleRef',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'RoleBinding')
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'RoleBinding')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    role_ref: RoleRef = field(default_factory=lambda: RoleRef())
    subjects: tuple[Subject, ...] = ()


class RoleBindingList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'RoleBindingList')
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    items: tuple[RoleBinding, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'RoleBindingList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class RoleList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('rbac.authorization.k8s.io', 'v1', 'RoleList')
    api_version: str = field(default_factory=lambda: 'rbac.authorization.k8s.io/v1')
    items: tuple[Role, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'RoleList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class RoleRef(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    atomic_struct: ClassVar[bool] = True
    api_group: str = field(default_factory=str)
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)


class Subject(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    atomic_struct: ClassVar[bool] = True
    api_group: str = ''
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)
    namespace: str = ''
