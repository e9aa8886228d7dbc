"""Kubernetes v1.36 types of admissionregistration/v1beta1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import ListMap, MergeKey
from podling.api.meta_v1 import LabelSelector, ListMeta, ObjectMeta


class ApplyConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    expression: str = ''


class JSONPatch(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    expression: str = ''


class MatchCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('expression', 'name')
    expression: str = field(default_factory=str)
    name: str = field(default_factory=str)


class MatchResources(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    exclude_resource_rules: tuple[NamedRuleWithOperations, ...] = ()
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    resource_rules: tuple[NamedRuleWithOperations, ...] = ()


class MutatingAdmissionPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1beta1', 'MutatingAdmissionPolicy')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'MutatingAdmissionPolicy')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: MutatingAdmissionPolicySpec = field(default_factory=lambda: MutatingAdmissionPolicySpec())


class MutatingAdmissionPolicyBinding(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1beta1', 'MutatingAdmissionPolicyBinding')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'MutatingAdmissionPolicyBinding')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: MutatingAdmissionPolicyBindingSpec = field(default_factory=lambda: MutatingAdmissionPolicyBindingSpec())


class MutatingAdmissionPolicyBindingList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1beta1', 'MutatingAdmissionPolicyBindingList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1beta1')
    items: tuple[MutatingAdmissionPolicyBinding, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'MutatingAdmissionPolicyBindingList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class MutatingAdmissionPolicyBindingSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str = ''


class MutatingAdmissionPolicyList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1beta1', 'MutatingAdmissionPolicyList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1beta1')
    items: tuple[MutatingAdmissionPolicy, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'MutatingAdmissionPolicyList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class MutatingAdmissionPolicySpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    failure_policy: str | None = None
    match_conditions: Annotated[tuple[MatchCondition, ...], MergeKey('name'), ListMap('name')] = ()
    match_constraints: MatchResources | None = None
    mutations: tuple[Mutation, ...] = ()
    param_kind: ParamKind | None = None
    reinvocation_policy: str = ''
    variables: tuple[Variable, ...] = ()


class Mutation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('patchType',)
    apply_configuration: ApplyConfiguration | None = None
    json_patch: JSONPatch | None = None
    patch_type: str = field(default_factory=str)


class NamedRuleWithOperations(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str | None = None


class ParamKind(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    api_version: str = ''
    kind: str = ''


class ParamRef(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    name: str = ''
    namespace: str = ''
    parameter_not_found_action: str | None = None
    selector: LabelSelector | None = None


class Variable(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('expression', 'name')
    atomic_struct: ClassVar[bool] = True
    expression: str = field(default_factory=str)
    name: str = field(default_factory=str)
