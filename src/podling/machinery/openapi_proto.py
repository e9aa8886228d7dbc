"""The OpenAPI v2 document as protobuf: the form in which client-go asks for it, and the only one it takes.

The document is the JSON one (``openapi.v2_document``); this module says only where each of its keys goes in
the messages of ``openapi.v2``. Field numbers are facts of ``google/gnostic openapiv2/OpenAPIv2.proto``. What
protobuf has no message for (vendor extensions, defaults, enumerations) travels as text inside an ``Any``:
YAML there, of which JSON is a part.

A key without a place is an error, never dropped in silence: a document that says less than its JSON would
make clients disagree with each other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ASKED_AS = ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", MEDIA_TYPE)
"""The media types that mean this form. The first is no valid media type, but what clients have always sent;
answers carry the second."""

_EXTENSION = "x-"
_VARINT, _DOUBLE, _BYTES = 0, 1, 2


class Field(NamedTuple):
    """Where the value of a key goes.

    ``kind`` is a scalar or a message; a list of it is a repeated field. ``inside`` are the field numbers of
    the messages between, which only wrap. ``entries``: the value is a map, written as a message whose field
    of that number repeats pairs of name and value.
    """

    number: int
    kind: str
    inside: tuple[int, ...] = ()
    entries: int = 0


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
    """The fields of a query, path or header parameter: the same everywhere, only shifted."""
    names = (
        ("type", "string"), ("format", "string"), ("items", "Items"), ("collectionFormat", "string"),
        ("default", "value"), ("maximum", "double"), ("exclusiveMaximum", "bool"), ("minimum", "double"),
        ("exclusiveMinimum", "bool"), ("maxLength", "integer"), ("minLength", "integer"),
        ("pattern", "string"), ("maxItems", "integer"), ("minItems", "integer"), ("uniqueItems", "bool"),
        ("enum", "any"), ("multipleOf", "double"), (_EXTENSION, "any"),
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
        _EXTENSION: Field(16, "any"),
    },
    "Info": {
        "title": Field(1, "string"),
        "version": Field(2, "string"),
        "description": Field(3, "string"),
        _EXTENSION: Field(7, "any"),
    },
    "ApiKeySecurity": {
        "type": Field(1, "string"),
        "name": Field(2, "string"),
        "in": Field(3, "string"),
        "description": Field(4, "string"),
        _EXTENSION: Field(5, "any"),
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
        _EXTENSION: Field(10, "any"),
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
        _EXTENSION: Field(13, "any"),
    },
    "Response": {
        "description": Field(1, "string"),
        "schema": Field(2, "Schema", inside=(1,)),
        _EXTENSION: Field(5, "any"),
    },
    "BodyParameter": {
        "description": Field(1, "string"),
        "name": Field(2, "string"),
        "in": Field(3, "string"),
        "required": Field(4, "bool"),
        "schema": Field(5, "Schema"),
        _EXTENSION: Field(6, "any"),
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
        _EXTENSION: Field(31, "any"),
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
    return _message("Document", msgspec.json.decode(document))


def _message(name: str, plain: Mapping[str, Any]) -> bytes:
    fields, parts = _MESSAGES[name], []
    for key, value in plain.items():
        if key.startswith(_EXTENSION):
            number = fields[_EXTENSION].number
            parts.append(_wrapped(number, _pair(key, _any(value))))
        else:
            parts += _field(fields[key], value)
    return b"".join(parts)


def _field(field: Field, value: Any) -> Iterable[bytes]:
    """A key's value, as often as a list says; where any value may stand, a list is one value."""
    for each in value if isinstance(value, list) and field.kind != "value" else (value,):
        if field.entries:
            pairs = (_pair(name, _nested(field, item)) for name, item in each.items())
            yield _wrapped(field.number, b"".join(_wrapped(field.entries, pair) for pair in pairs))
        elif field.kind in _SCALARS and not field.inside:
            yield _SCALARS[field.kind](field.number, each)
        else:
            yield _wrapped(field.number, _nested(field, each))


def _nested(field: Field, value: Any) -> bytes:
    """The payload of a value, inside of what wraps it."""
    *outer, innermost = field.inside or (0,)
    if field.kind in _SCALARS:
        payload = _SCALARS[field.kind](innermost, value)
    else:
        payload = _payload(field.kind, value)
        payload = _wrapped(innermost, payload) if innermost else payload
    for number in reversed(outer):
        payload = _wrapped(number, payload)
    return payload


def _payload(kind: str, value: Any) -> bytes:
    match kind:
        case "any" | "value":
            return _any(value)
        case "strings":
            return b"".join(_string(1, each) for each in value)
        case "schema or bool":
            return _bool(2, value) if isinstance(value, bool) else _wrapped(1, _message("Schema", value))
        case "parameter":
            name, choices = _PARAMETERS[value["in"]]
            payload = _message(name, value)
            for number in reversed(choices):
                payload = _wrapped(number, payload)
            return payload
        case _:
            return _message(kind, value)


def _pair(name: str, payload: bytes) -> bytes:
    return _string(1, name) + _wrapped(2, payload)


def _any(value: Any) -> bytes:
    return _wrapped(2, msgspec.json.encode(value) + b"\n")


def _wrapped(number: int, payload: bytes) -> bytes:
    return _tag(number, _BYTES) + _varint(len(payload)) + payload


def _string(number: int, value: str) -> bytes:
    return _wrapped(number, value.encode())


def _bool(number: int, value: bool) -> bytes:
    return _tag(number, _VARINT) + _varint(int(value))


def _integer(number: int, value: int) -> bytes:
    return _tag(number, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _double(number: int, value: float) -> bytes:
    return _tag(number, _DOUBLE) + struct.pack("<d", value)


_SCALARS: Mapping[str, Callable[[int, Any], bytes]] = {
    "string": _string,
    "bool": _bool,
    "integer": _integer,
    "double": _double,
}


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
