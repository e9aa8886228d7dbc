"""Kubernetes v1.36 types of apiextensions/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, Any, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.markers import BYTES, INT32, ListMap, MergeKey
from podling.api.meta_v1 import ListMeta, ObjectMeta


class CustomResourceColumnDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('jsonPath', 'name', 'type')
    description: str = ''
    format: str = ''
    json_path: str = field(default_factory=str)
    name: str = field(default_factory=str)
    priority: Annotated[int, INT32] = 0
    type: str = field(default_factory=str)


class CustomResourceConversion(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('strategy',)
    strategy: str = field(default_factory=str)
    webhook: WebhookConversion | None = None


class CustomResourceDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition')
    api_version: str = field(default_factory=lambda: 'apiextensions.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'CustomResourceDefinition')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: CustomResourceDefinitionSpec = field(default_factory=lambda: CustomResourceDefinitionSpec())
    status: CustomResourceDefinitionStatus = field(default_factory=lambda: CustomResourceDefinitionStatus())


class CustomResourceDefinitionCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    observed_generation: int = 0
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class CustomResourceDefinitionList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('apiextensions.k8s.io', 'v1', 'CustomResourceDefinitionList')
    api_version: str = field(default_factory=lambda: 'apiextensions.k8s.io/v1')
    items: tuple[CustomResourceDefinition, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'CustomResourceDefinitionList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class CustomResourceDefinitionNames(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'plural')
    categories: tuple[str, ...] = ()
    kind: str = field(default_factory=str)
    list_kind: str = ''
    plural: str = field(default_factory=str)
    short_names: tuple[str, ...] = ()
    singular: str = ''


class CustomResourceDefinitionSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('group', 'names', 'scope', 'versions')
    conversion: CustomResourceConversion | None = None
    group: str = field(default_factory=str)
    names: CustomResourceDefinitionNames = field(default_factory=lambda: CustomResourceDefinitionNames())
    preserve_unknown_fields: bool = False
    scope: str = field(default_factory=str)
    versions: tuple[CustomResourceDefinitionVersion, ...] = field(default_factory=empty_list)


class CustomResourceDefinitionStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    accepted_names: CustomResourceDefinitionNames = field(default_factory=lambda: CustomResourceDefinitionNames())
    conditions: Nullable[Annotated[tuple[CustomResourceDefinitionCondition, ...], ListMap('type')]] = field(default_factory=nil_list)
    observed_generation: int = 0
    stored_versions: tuple[str, ...] = field(default_factory=empty_list)

    def __post_init__(self) -> None:
        if not self.conditions:
            empty_as_null(self, 'conditions')


class CustomResourceDefinitionVersion(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'served', 'storage')
    additional_printer_columns: tuple[CustomResourceColumnDefinition, ...] = ()
    deprecated: bool = False
    deprecation_warning: str | None = None
    name: str = field(default_factory=str)
    schema: CustomResourceValidation | None = None
    selectable_fields: tuple[SelectableField, ...] = ()
    served: bool = field(default_factory=bool)
    storage: bool = field(default_factory=bool)
    subresources: CustomResourceSubresources | None = None


class CustomResourceSubresourceScale(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('specReplicasPath', 'statusReplicasPath')
    label_selector_path: str | None = None
    spec_replicas_path: str = field(default_factory=str)
    status_replicas_path: str = field(default_factory=str)


class CustomResourceSubresourceStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    pass


class CustomResourceSubresources(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    scale: CustomResourceSubresourceScale | None = None
    status: CustomResourceSubresourceStatus | None = None


class CustomResourceValidation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    open_apiv3_schema: JSONSchemaProps | None = field(default=None, name='openAPIV3Schema')


class ExternalDocumentation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    description: str = ''
    url: str = ''


class JSONSchemaProps(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ref: str | None = field(default=None, name='$ref')
    schema: str = field(default='', name='$schema')
    additional_items: Any = None
    additional_properties: Any = None
    all_of: tuple[JSONSchemaProps, ...] = ()
    any_of: tuple[JSONSchemaProps, ...] = ()
    default: Any = None
    definitions: dict[str, JSONSchemaProps] = field(default_factory=dict)
    dependencies: dict[str, Any] = field(default_factory=dict)
    description: str = ''
    enum: tuple[Any, ...] = ()
    example: Any = None
    exclusive_maximum: bool = False
    exclusive_minimum: bool = False
    external_docs: ExternalDocumentation | None = None
    format: str = ''
    id: str = ''
    items: Any = None
    max_items: int | None = None
    max_length: int | None = None
    max_properties: int | None = None
    maximum: float | None = None
    min_items: int | None = None
    min_length: int | None = None
    min_properties: int | None = None
    minimum: float | None = None
    multiple_of: float | None = None
    not_: JSONSchemaProps | None = None
    nullable: bool = False
    one_of: tuple[JSONSchemaProps, ...] = ()
    pattern: str = ''
    pattern_properties: dict[str, JSONSchemaProps] = field(default_factory=dict)
    properties: dict[str, JSONSchemaProps] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    title: str = ''
    type: str = ''
    unique_items: bool = False
    x_kubernetes_embedded_resource: bool = field(default=False, name='x-kubernetes-embedded-resource')
    x_kubernetes_int_or_string: bool = field(default=False, name='x-kubernetes-int-or-string')
    x_kubernetes_list_map_keys: tuple[str, ...] = field(default=(), name='x-kubernetes-list-map-keys')
    x_kubernetes_list_type: str | None = field(default=None, name='x-kubernetes-list-type')
    x_kubernetes_map_type: str | None = field(default=None, name='x-kubernetes-map-type')
    x_kubernetes_preserve_unknown_fields: bool | None = field(default=None, name='x-kubernetes-preserve-unknown-fields')
    x_kubernetes_validations: Annotated[tuple[ValidationRule, ...], MergeKey('rule'), ListMap('rule')] = field(default=(), name='x-kubernetes-validations')


class SelectableField(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('jsonPath',)
    json_path: str = field(default_factory=str)


class ServiceReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'namespace')
    name: str = field(default_factory=str)
    namespace: str = field(default_factory=str)
    path: str | None = None
    port: Annotated[int, INT32] | None = None


class ValidationRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('rule',)
    field_path: str = ''
    message: str = ''
    message_expression: str = ''
    optional_old_self: bool | None = None
    reason: str | None = None
    rule: str = field(default_factory=str)


class WebhookClientConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ca_bundle: Annotated[str, BYTES] = ''
    service: ServiceReference | None = None
    url: str | None = None


class WebhookConversion(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('conversionReviewVersions',)
    client_config: WebhookClientConfig | None = None
    conversion_review_versions: tuple[str, ...] = field(default_factory=empty_list)
