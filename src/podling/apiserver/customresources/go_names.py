"""Parts of definitions as messages show them: by the names that they have inside of Kubernetes. Pure.

Upstream: ``apiextensions-apiserver/pkg/apis/apiextensions/{types,types_jsonschema}.go``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podling.api.apiextensions_v1 import (
    CustomResourceColumnDefinition,
    CustomResourceDefinitionVersion,
    CustomResourceSubresources,
    JSONSchemaProps,
)
from podling.machinery.encoding import codec
from podling.machinery.fields import Shown

_SCHEMA = {
    "ID": "id", "Schema": "$schema", "Ref": "$ref", "Description": "description", "Type": "type",
    "Nullable": "nullable", "Format": "format", "Title": "title", "Default": "default", "Maximum": "maximum",
    "ExclusiveMaximum": "exclusiveMaximum", "Minimum": "minimum", "ExclusiveMinimum": "exclusiveMinimum",
    "MaxLength": "maxLength", "MinLength": "minLength", "Pattern": "pattern", "MaxItems": "maxItems",
    "MinItems": "minItems", "UniqueItems": "uniqueItems", "MultipleOf": "multipleOf", "Enum": "enum",
    "MaxProperties": "maxProperties", "MinProperties": "minProperties", "Required": "required",
    "Items": "items", "AllOf": "allOf", "OneOf": "oneOf", "AnyOf": "anyOf", "Not": "not",
    "Properties": "properties", "AdditionalProperties": "additionalProperties",
    "PatternProperties": "patternProperties", "Dependencies": "dependencies",
    "AdditionalItems": "additionalItems", "Definitions": "definitions", "ExternalDocs": "externalDocs",
    "Example": "example", "XPreserveUnknownFields": "x-kubernetes-preserve-unknown-fields",
    "XEmbeddedResource": "x-kubernetes-embedded-resource", "XIntOrString": "x-kubernetes-int-or-string",
    "XListMapKeys": "x-kubernetes-list-map-keys", "XListType": "x-kubernetes-list-type",
    "XMapType": "x-kubernetes-map-type", "XValidations": "x-kubernetes-validations",
}  # fmt: skip
"""The fields of a schema in their order there, and as definitions write them."""
_TEXTS = {"ID", "Schema", "Description", "Type", "Format", "Title", "Pattern"}
_FLAGS = {
    "Nullable", "ExclusiveMaximum", "ExclusiveMinimum", "UniqueItems", "XEmbeddedResource", "XIntOrString",
}  # fmt: skip
_MAPS = {"Properties", "PatternProperties", "Definitions"}
_LISTS = {"AllOf", "OneOf", "AnyOf"}
_RULE = {
    "Rule": "rule", "Message": "message", "MessageExpression": "messageExpression", "Reason": "reason",
    "FieldPath": "fieldPath", "OptionalOldSelf": "optionalOldSelf",
}  # fmt: skip


def schema_fields(schema: JSONSchemaProps) -> Iterable[str]:
    """Return the names of what a schema says."""
    plain = codec.to_plain(schema)
    return [name for name, key in _SCHEMA.items() if plain.get(key) not in (None, False)]


def schema(schema: JSONSchemaProps) -> Shown:
    return _shown(_schema(codec.to_plain(schema)))


def versions(given: Sequence[CustomResourceDefinitionVersion], shared: Iterable[str]) -> Shown:
    """Versions without what all of them have alike (``shared``), which is kept beside them."""
    return _shown([_version(each, set(shared)) for each in given])


def _shown(value: Any) -> Shown:
    return Shown(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _version(version: CustomResourceDefinitionVersion, shared: set[str]) -> dict[str, Any]:
    own = version.schema if "schema" not in shared else None
    root = own.open_apiv3_schema if own is not None else None
    columns = [_column(each) for each in version.additional_printer_columns]
    selectable = [{"JSONPath": each.json_path} for each in version.selectable_fields]
    inside = None if root is None else _schema(codec.to_plain(root))
    return {
        "Name": version.name,
        "Served": version.served,
        "Storage": version.storage,
        "Deprecated": bool(version.deprecated),
        "DeprecationWarning": version.deprecation_warning,
        "Schema": None if own is None else {"OpenAPIV3Schema": inside},
        "Subresources": None if "subresources" in shared else _subresources(version.subresources),
        "AdditionalPrinterColumns": None if "columns" in shared else columns or None,
        "SelectableFields": None if "selectable" in shared else selectable or None,
    }


def _column(column: CustomResourceColumnDefinition) -> dict[str, Any]:
    return {
        "Name": column.name,
        "Type": column.type,
        "Format": column.format or "",
        "Description": column.description or "",
        "Priority": column.priority or 0,
        "JSONPath": column.json_path,
    }


def _subresources(asked: CustomResourceSubresources | None) -> dict[str, Any] | None:
    if asked is None:
        return None
    scale = asked.scale and {
        "SpecReplicasPath": asked.scale.spec_replicas_path,
        "StatusReplicasPath": asked.scale.status_replicas_path,
        "LabelSelectorPath": asked.scale.label_selector_path,
    }
    return {"Status": None if asked.status is None else {}, "Scale": scale}


def _schema(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain  # invalid, which validation reports
    return {name: _part(name, plain.get(key)) for name, key in _SCHEMA.items()}


def _part(name: str, value: Any) -> Any:
    if name in _TEXTS:
        return value or ""
    if name in _FLAGS:
        return bool(value)
    if value is None:
        return None
    if name in _MAPS:
        return {key: _schema(value[key]) for key in sorted(value)}
    if name in _LISTS:
        return [_schema(each) for each in value]
    match name:
        case "Not":
            return _schema(value)
        case "Items":
            many = isinstance(value, list)
            one = None if many else _schema(value)
            return {"Schema": one, "JSONSchemas": [_schema(each) for each in value] if many else None}
        case "AdditionalProperties" | "AdditionalItems":
            inside = isinstance(value, dict)
            return {"Allows": inside or bool(value), "Schema": _schema(value) if inside else None}
        case "XValidations":
            return [_rule(each) for each in value]
    return value


def _rule(plain: Mapping[str, Any]) -> dict[str, Any]:
    needed = ("Rule", "Message", "MessageExpression", "FieldPath")
    return {name: plain.get(key, "" if name in needed else None) for name, key in _RULE.items()}


def rule(plain: Mapping[str, Any]) -> Shown:
    """Return a rule."""
    return _shown(_rule(plain))
