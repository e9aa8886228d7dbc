"""Validation of the schema of a definition. Pure.

First its structure, then its defaults, then its other keywords; its rules last, and only where the values
that they read are valid.

Upstream: ``validateCustomResourceDefinitionValidation`` in
``apiextensions-apiserver/pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

from podling.api.apiextensions_v1 import JSONSchemaProps
from podling.apiserver.customresources import go_names
from podling.apiserver.customresources.default_validation import default_errors
from podling.apiserver.customresources.openapi_validation import SchemaWalk
from podling.apiserver.customresources.structural import Schema
from podling.apiserver.customresources.structural_validation import structural_errors, unsupported
from podling.machinery import fields
from podling.machinery.encoding import codec
from podling.machinery.fields import FieldError, Path

Errors = list[FieldError]

BESIDE_A_STATUS = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum",
    "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required",
    "Items", "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
"""Keywords of a schema's root beside a status subresource: those that do not concern the status."""


def schema_errors(path: Path, schema: JSONSchemaProps, *, status: bool = False) -> Errors:
    """Everything wrong with a schema. ``status``: whether the status is written by itself."""
    plain = codec.to_plain(schema)
    errors = _beside_a_status(path, schema) if status else []
    if schema.nullable:
        errors.append(fields.forbidden(path.child("nullable"), "nullable cannot be true at the root"))
    problem = unsupported(plain)
    inside = [] if problem else structural_errors(path, plain)
    inside = inside or ([] if problem else default_errors(path, Schema(plain)))
    walk = SchemaWalk(rules=not problem and not inside)
    errors += inside + walk.errors(path, plain)
    if problem and not errors:
        errors.append(fields.invalid(path, "", problem))
    return errors + walk.total_errors(path)


def _beside_a_status(path: Path, schema: JSONSchemaProps) -> Errors:
    for name in go_names.schema_fields(schema):
        if name == "Type" and schema.type != "object":
            text = (
                'only "object" is allowed as the type at the root of the schema if the status subresource '
                "is enabled"
            )
            return [fields.invalid(path.child("type"), schema.type, text)]
        if name not in BESIDE_A_STATUS:
            text = (
                f"only [{' '.join(BESIDE_A_STATUS)}] fields are allowed at the root of the schema if the "
                "status subresource is enabled"
            )
            return [fields.invalid(path, go_names.schema(schema), text)]
    return []
