"""OpenAPI v3 documents as protobuf, for clients that prefer it.

The document is the JSON one (``openapi.v3_document``); this module says only where each of its keys goes in
the messages of ``openapi.v3``. Field numbers are facts of ``google/gnostic openapiv3/OpenAPIv3.proto``, and
so is that a default that is neither number nor text nor truth value comes out empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from podling.machinery.openapi.openapi_wire import EXTENSION, Encoder, Field, boolean, double, string, wrapped

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
ASKED_AS = ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf", MEDIA_TYPE)
"""The media types that mean this form; answers carry the second."""

_SCHEMA, _PARAMETER, _RESPONSE = "Schema or reference", "Parameter or reference", "Response or reference"
_BODY, _SECURITY = "RequestBody or reference", "SecurityScheme or reference"

_MESSAGES: Mapping[str, Mapping[str, Field]] = {
    "Document": {
        "openapi": Field(1, "string"),
        "info": Field(2, "Info"),
        "paths": Field(4, "PathItem", entries=1),
        "components": Field(5, "Components"),
        "security": Field(6, "strings", entries=1),
        "externalDocs": Field(8, "ExternalDocs"),
        EXTENSION: Field(9, "any"),
    },
    "Info": {
        "title": Field(1, "string"),
        "description": Field(2, "string"),
        "version": Field(6, "string"),
        EXTENSION: Field(7, "any"),
    },
    "ExternalDocs": {
        "description": Field(1, "string"),
        "url": Field(2, "string"),
        EXTENSION: Field(3, "any"),
    },
    "Components": {
        "schemas": Field(1, _SCHEMA, entries=1),
        "responses": Field(2, _RESPONSE, entries=1),
        "parameters": Field(3, _PARAMETER, entries=1),
        "requestBodies": Field(5, _BODY, entries=1),
        "securitySchemes": Field(7, _SECURITY, entries=1),
        EXTENSION: Field(10, "any"),
    },
    "SecurityScheme": {
        "type": Field(1, "string"),
        "description": Field(2, "string"),
        "name": Field(3, "string"),
        "in": Field(4, "string"),
        "scheme": Field(5, "string"),
        "bearerFormat": Field(6, "string"),
        EXTENSION: Field(9, "any"),
    },
    "PathItem": {
        "$ref": Field(1, "string"),
        "summary": Field(2, "string"),
        "description": Field(3, "string"),
        "get": Field(4, "Operation"),
        "put": Field(5, "Operation"),
        "post": Field(6, "Operation"),
        "delete": Field(7, "Operation"),
        "options": Field(8, "Operation"),
        "head": Field(9, "Operation"),
        "patch": Field(10, "Operation"),
        "trace": Field(11, "Operation"),
        "parameters": Field(13, _PARAMETER),
        EXTENSION: Field(14, "any"),
    },
    "Operation": {
        "tags": Field(1, "string"),
        "summary": Field(2, "string"),
        "description": Field(3, "string"),
        "externalDocs": Field(4, "ExternalDocs"),
        "operationId": Field(5, "string"),
        "parameters": Field(6, _PARAMETER),
        "requestBody": Field(7, _BODY),
        "responses": Field(8, _RESPONSE, entries=2),
        "deprecated": Field(10, "bool"),
        "security": Field(11, "strings", entries=1),
        EXTENSION: Field(13, "any"),
    },
    "Parameter": {
        "name": Field(1, "string"),
        "in": Field(2, "string"),
        "description": Field(3, "string"),
        "required": Field(4, "bool"),
        "deprecated": Field(5, "bool"),
        "allowEmptyValue": Field(6, "bool"),
        "style": Field(7, "string"),
        "explode": Field(8, "bool"),
        "allowReserved": Field(9, "bool"),
        "schema": Field(10, _SCHEMA),
        "example": Field(11, "value"),
        "content": Field(13, "MediaType", entries=1),
        EXTENSION: Field(14, "any"),
    },
    "RequestBody": {
        "description": Field(1, "string"),
        "content": Field(2, "MediaType", entries=1),
        "required": Field(3, "bool"),
        EXTENSION: Field(4, "any"),
    },
    "Response": {
        "description": Field(1, "string"),
        "content": Field(3, "MediaType", entries=1),
        EXTENSION: Field(5, "any"),
    },
    "MediaType": {
        "schema": Field(1, _SCHEMA),
        "example": Field(2, "value"),
        EXTENSION: Field(5, "any"),
    },
    "Schema": {
        "nullable": Field(1, "bool"),
        "readOnly": Field(3, "bool"),
        "writeOnly": Field(4, "bool"),
        "externalDocs": Field(6, "ExternalDocs"),
        "example": Field(7, "value"),
        "deprecated": Field(8, "bool"),
        "title": Field(9, "string"),
        "multipleOf": Field(10, "double"),
        "maximum": Field(11, "double"),
        "exclusiveMaximum": Field(12, "bool"),
        "minimum": Field(13, "double"),
        "exclusiveMinimum": Field(14, "bool"),
        "maxLength": Field(15, "integer"),
        "minLength": Field(16, "integer"),
        "pattern": Field(17, "string"),
        "maxItems": Field(18, "integer"),
        "minItems": Field(19, "integer"),
        "uniqueItems": Field(20, "bool"),
        "maxProperties": Field(21, "integer"),
        "minProperties": Field(22, "integer"),
        "required": Field(23, "string"),
        "enum": Field(24, "any"),
        "type": Field(25, "string"),
        "allOf": Field(26, _SCHEMA),
        "oneOf": Field(27, _SCHEMA),
        "anyOf": Field(28, _SCHEMA),
        "not": Field(29, "Schema"),
        "items": Field(30, _SCHEMA, inside=(1,)),
        "properties": Field(31, _SCHEMA, entries=1),
        "additionalProperties": Field(32, "schema or bool"),
        "default": Field(33, "default value"),
        "description": Field(34, "string"),
        "format": Field(35, "string"),
        EXTENSION: Field(36, "any"),
    },
}


def v3_document(document: bytes) -> bytes:
    """The protobuf form of an OpenAPI v3 document in JSON. Raises ``KeyError`` for a key without a place."""
    return _ENCODER.message("Document", msgspec.json.decode(document))


def _or_reference(name: str) -> Callable[[Encoder, Any], bytes]:
    """Return a choice: what is said here, or where it is said."""

    def write(encoder: Encoder, value: Any) -> bytes:
        if "$ref" in value:
            return wrapped(2, string(1, value["$ref"]))
        return wrapped(1, encoder.message(name, value))

    return write


def _schema_or_bool(encoder: Encoder, value: Any) -> bytes:
    return (
        boolean(2, value) if isinstance(value, bool) else wrapped(1, _or_reference("Schema")(encoder, value))
    )


def _default(encoder: Encoder, value: Any) -> bytes:
    if isinstance(value, bool):
        return boolean(2, value)
    if isinstance(value, int | float):
        return double(1, value)
    return string(3, value) if isinstance(value, str) else b""


_ENCODER = Encoder(
    _MESSAGES,
    {
        **{f"{name} or reference": _or_reference(name) for name in _MESSAGES},
        "schema or bool": _schema_or_bool,
        "default value": _default,
    },
)
