"""Kubernetes v1.36 types of admissionregistration/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import BYTES, INT32, LIST_SET, ListMap, MergeKey
from podling.api.meta_v1 import Condition, LabelSelector, ListMeta, ObjectMeta


class ApplyConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    expression: str = ''


class AuditAnnotation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key', 'valueExpression')
    key: str = field(default_factory=str)
    value_expression: str = field(default_factory=str)


class ExpressionWarning(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('fieldRef', 'warning')
    field_ref: str = field(default_factory=str)
    warning: str = field(default_factory=str)


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
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'MutatingAdmissionPolicy')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'MutatingAdmissionPolicy')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: MutatingAdmissionPolicySpec = field(default_factory=lambda: MutatingAdmissionPolicySpec())


class MutatingAdmissionPolicyBinding(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'MutatingAdmissionPolicyBinding')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'MutatingAdmissionPolicyBinding')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: MutatingAdmissionPolicyBindingSpec = field(default_factory=lambda: MutatingAdmissionPolicyBindingSpec())


class MutatingAdmissionPolicyBindingList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'MutatingAdmissionPolicyBindingList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    items: tuple[MutatingAdmissionPolicyBinding, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'MutatingAdmissionPolicyBindingList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class MutatingAdmissionPolicyBindingSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str = ''


class MutatingAdmissionPolicyList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'MutatingAdmissionPolicyList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
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


class MutatingWebhook(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('admissionReviewVersions', 'clientConfig', 'name', 'sideEffects')
    admission_review_versions: tuple[str, ...] = field(default_factory=empty_list)
    client_config: WebhookClientConfig = field(default_factory=lambda: WebhookClientConfig())
    failure_policy: str | None = None
    match_conditions: Annotated[tuple[MatchCondition, ...], MergeKey('name'), ListMap('name')] = ()
    match_policy: str | None = None
    name: str = field(default_factory=str)
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    reinvocation_policy: str | None = None
    rules: tuple[RuleWithOperations, ...] = ()
    side_effects: str | None = field(default_factory=NoneType)
    timeout_seconds: Annotated[int, INT32] | None = None


class MutatingWebhookConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'MutatingWebhookConfiguration')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'MutatingWebhookConfiguration')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    webhooks: Annotated[tuple[MutatingWebhook, ...], MergeKey('name'), ListMap('name')] = ()


class MutatingWebhookConfigurationList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'MutatingWebhookConfigurationList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    items: tuple[MutatingWebhookConfiguration, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'MutatingWebhookConfigurationList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


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


class RuleWithOperations(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str | None = None


class ServiceReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'namespace')
    name: str = field(default_factory=str)
    namespace: str = field(default_factory=str)
    path: str | None = None
    port: Annotated[int, INT32] | None = None


class TypeChecking(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    expression_warnings: tuple[ExpressionWarning, ...] = ()


class ValidatingAdmissionPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicy')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'ValidatingAdmissionPolicy')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ValidatingAdmissionPolicySpec = field(default_factory=lambda: ValidatingAdmissionPolicySpec())
    status: ValidatingAdmissionPolicyStatus = field(default_factory=lambda: ValidatingAdmissionPolicyStatus())


class ValidatingAdmissionPolicyBinding(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicyBinding')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'ValidatingAdmissionPolicyBinding')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ValidatingAdmissionPolicyBindingSpec = field(default_factory=lambda: ValidatingAdmissionPolicyBindingSpec())


class ValidatingAdmissionPolicyBindingList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicyBindingList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    items: tuple[ValidatingAdmissionPolicyBinding, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ValidatingAdmissionPolicyBindingList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ValidatingAdmissionPolicyBindingSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('policyName', 'validationActions')
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str = ''
    validation_actions: Annotated[tuple[str, ...], LIST_SET] = ()


class ValidatingAdmissionPolicyList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicyList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    items: tuple[ValidatingAdmissionPolicy, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ValidatingAdmissionPolicyList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ValidatingAdmissionPolicySpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    failure_policy: str | None = None
    match_conditions: Annotated[tuple[MatchCondition, ...], MergeKey('name'), ListMap('name')] = ()
    match_constraints: MatchResources | None = None
    param_kind: ParamKind | None = None
    validations: tuple[Validation, ...] = ()
    variables: Annotated[tuple[Variable, ...], MergeKey('name'), ListMap('name')] = ()


class ValidatingAdmissionPolicyStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], ListMap('type')] = ()
    observed_generation: int = 0
    type_checking: TypeChecking | None = None


class ValidatingWebhook(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('admissionReviewVersions', 'clientConfig', 'name', 'sideEffects')
    admission_review_versions: tuple[str, ...] = field(default_factory=empty_list)
    client_config: WebhookClientConfig = field(default_factory=lambda: WebhookClientConfig())
    failure_policy: str | None = None
    match_conditions: Annotated[tuple[MatchCondition, ...], MergeKey('name'), ListMap('name')] = ()
    match_policy: str | None = None
    name: str = field(default_factory=str)
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    rules: tuple[RuleWithOperations, ...] = ()
    side_effects: str | None = field(default_factory=NoneType)
    timeout_seconds: Annotated[int, INT32] | None = None


class ValidatingWebhookConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'ValidatingWebhookConfiguration')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'ValidatingWebhookConfiguration')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    webhooks: Annotated[tuple[ValidatingWebhook, ...], MergeKey('name'), ListMap('name')] = ()


class ValidatingWebhookConfigurationList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('admissionregistration.k8s.io', 'v1', 'ValidatingWebhookConfigurationList')
    api_version: str = field(default_factory=lambda: 'admissionregistration.k8s.io/v1')
    items: tuple[ValidatingWebhookConfiguration, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ValidatingWebhookConfigurationList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class Validation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('expression',)
    expression: str = field(default_factory=str)
    message: str = ''
    message_expression: str = ''
    reason: str | None = None


class Variable(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('expression', 'name')
    atomic_struct: ClassVar[bool] = True
    expression: str = field(default_factory=str)
    name: str = field(default_factory=str)


class WebhookClientConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ca_bundle: Annotated[str, BYTES] = ''
    service: ServiceReference | None = None
    url: str | None = None
