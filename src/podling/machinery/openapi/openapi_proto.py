"""The OpenAPI v2 document as protobuf: the only form that client-go requests and reads.

The document is the JSON one (``openapi.v2_document``); this module only maps its keys to
the messages of ``openapi.v2``. Field numbers are facts of ``google/gnostic openapiv2/OpenAPIv2.proto``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podling.machinery.openapi.openapi_wire import EXTENSION, Encoder, Field, boolean, wrapped

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ASKED_AS = ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", MEDIA_TYPE)
"""The media types that mean this form. The first is no valid media type, but what clients have always sent;
answers carry the second."""

_SCHEMA_NUMBERS = {
    "format": (2, "string"), "title": (3, "string"), "description": (4, "string"), "default": (5, "value"),
    "multipleOf": (6, "double"), "maximum": (7, "double"), "exclusiveMaximum": (8, "bool"),
    "minimum": (9, "double"), "exclusiveMinimum": (10, "bool"), "maxLength": (11, "integer"),
    "minLength": (12, "integer"), "pattern": (13, "string"), "maxItems": (14, "integer"),
    "minItems": (15, "integer"), "uniqueItems": (16, "bool"), "maxProperties": (17, "integer"),
    "minProperties": (18, "integer"), "required": (19, "string"), "enum": (20, "any"),
    "allOf": (24, "Schema"), "discriminator": (26, "string"), "readOnly": (27, "bool"),
    "example": (30, "value"),
}  # fmt: skip


def _parameter(first: int, type_number: int) -> Mapping[str, Field]:
    """Return the fields of a query, path or header parameter: the same everywhere, only shifted."""
    names = (
        ("type", "string"), ("format", "string"), ("items", "Items"), ("collectionFormat", "string"),
        ("default", "value"), ("maximum", "double"), ("exclusiveMaximum", "bool"), ("minimum", "double"),
        ("exclusiveMinimum", "bool"), ("maxLength", "integer"), ("minLength", "integer"),
        ("pattern", "string"), ("maxItems", "integer"), ("minItems", "integer"), ("uniqueItems", "bool"),
        ("enum", "any"), ("multipleOf", "double"), (EXTENSION, "any"),
    )  # fmt: skip
    about = {"required": "bool", "in": "string", "description": "string", "name": "string"} if first else {}
    fields = {name: Field(number, kind) for number, (name, kind) in enumerate(about.items(), first)}
    return fields | {name: Field(number, kind) for number, (name, kind) in enumerate(names, type_number)}


_MESSAGES: Mapping[str, Mapping[str, Field]] = {
    "Document": {
        "swagger": Field(1, "string"),
        "info": Field(2, "Info"),
        "host": Field(3, "string"),
        "basePath": Field(4, "string"),
        "schemes": Field(5, "string"),
        "consumes": Field(6, "string"),
        "produces": Field(7, "string"),
        "paths": Field(8, "PathItem", entries=2),
        "definitions": Field(9, "Schema", entries=1),
        "security": Field(12, "strings", entries=1),
        "securityDefinitions": Field(13, "ApiKeySecurity", inside=(2,), entries=1),
        EXTENSION: Field(16, "any"),
    },
    "Info": {
        "title": Field(1, "string"),
        "version": Field(2, "string"),
        "description": Field(3, "string"),
        EXTENSION: Field(7, "any"),
    },
    "ApiKeySecurity": {
        "type": Field(1, "string"),
        "name": Field(2, "string"),
        "in": Field(3, "string"),
        "description": Field(4, "string"),
        EXTENSION: Field(5, "any"),
    },
    "PathItem": {
        "$ref": Field(1, "string"),
        "get": Field(2, "Operation"),
        "put": Field(3, "Operation"),
        "post": Field(4, "Operation"),
        "delete": Field(5, "Operation"),
        "options": Field(6, "Operation"),
        "head": Field(7, "Operation"),
        "patch": Field(8, "Operation"),
        "parameters": Field(9, "parameter", inside=(1,)),
        EXTENSION: Field(10, "any"),
    },
    "Operation": {
        "tags": Field(1, "string"),
        "summary": Field(2, "string"),
        "description": Field(3, "string"),
        "operationId": Field(5, "string"),
        "produces": Field(6, "string"),
        "consumes": Field(7, "string"),
        "parameters": Field(8, "parameter", inside=(1,)),
        "responses": Field(9, "Response", inside=(1,), entries=1),
        "schemes": Field(10, "string"),
        "deprecated": Field(11, "bool"),
        "security": Field(12, "strings", entries=1),
        EXTENSION: Field(13, "any"),
    },
    "Response": {
        "description": Field(1, "string"),
        "schema": Field(2, "Schema", inside=(1,)),
        EXTENSION: Field(5, "any"),
    },
    "BodyParameter": {
        "description": Field(1, "string"),
        "name": Field(2, "string"),
        "in": Field(3, "string"),
        "required": Field(4, "bool"),
        "schema": Field(5, "Schema"),
        EXTENSION: Field(6, "any"),
    },
    "HeaderParameter": _parameter(1, 5),
    "PathParameter": _parameter(1, 5),
    "QueryParameter": {**_parameter(1, 6), "allowEmptyValue": Field(5, "bool")},
    "FormDataParameter": {**_parameter(1, 6), "allowEmptyValue": Field(5, "bool")},
    "Items": _parameter(0, 1),
    "Schema": {
        "$ref": Field(1, "string"),
        **{name: Field(number, kind) for name, (number, kind) in _SCHEMA_NUMBERS.items()},
        "additionalProperties": Field(21, "schema or bool"),
        "type": Field(22, "string", inside=(1,)),
        "items": Field(23, "Schema", inside=(1,)),
        "properties": Field(25, "Schema", entries=1),
        EXTENSION: Field(31, "any"),
    },
}

_PARAMETERS = {
    "body": ("BodyParameter", (1,)),
    "header": ("HeaderParameter", (2, 1)),
    "formData": ("FormDataParameter", (2, 2)),
    "query": ("QueryParameter", (2, 3)),
    "path": ("PathParameter", (2, 4)),
}
"""By what ``in`` says: the message of a parameter, and its places in the choices around it."""


def v2_document(document: bytes) -> bytes:
    """The protobuf form of an OpenAPI v2 document in JSON. Raises ``KeyError`` for a key without a place."""
    return _ENCODER.message("Document", msgspec.json.decode(document))


def _schema_or_bool(encoder: Encoder, value: Any) -> bytes:
    return boolean(2, value) if isinstance(value, bool) else wrapped(1, encoder.message("Schema", value))


def _parameter_of_a_kind(encoder: Encoder, value: Any) -> bytes:
    name, choices = _PARAMETERS[value["in"]]
    payload = encoder.message(name, value)
    for number in reversed(choices):
        payload = wrapped(number, payload)
    return payload


_ENCODER = Encoder(_MESSAGES, {"schema or bool": _schema_or_bool, "parameter": _parameter_of_a_kind})
