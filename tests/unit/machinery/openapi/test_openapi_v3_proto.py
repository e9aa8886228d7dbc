"""The protobuf form of OpenAPI v3 documents says what their JSON says, as far as ``openapi.v3`` has words.

It is read back here by numbers written down a second time, from ``OpenAPIv3.proto``, so that a slip in the
encoder's tables shows.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from podling.machinery.openapi import openapi, openapi_v3_proto
from tests.support.protobuf import extensions, fields, pairs, text

LOST = "a default that is an object has no place"


def choice(data: bytes, read: Any) -> dict[str, Any]:
    """Return the value itself, or the one that it references."""
    ((number, (inner,)),) = fields(data).items()
    return {"$ref": text(fields(inner), 1)} if number == 2 else read(inner)


def default(data: bytes) -> Any:
    said = fields(data)
    if 3 in said:
        return text(said, 3)
    return bool(said[2][0]) if 2 in said else said[1][0] if 1 in said else LOST


def additional(data: bytes) -> Any:
    said = fields(data)
    return bool(said[2][0]) if 2 in said else choice(said[1][0], schema)


def schema(data: bytes) -> dict[str, Any]:
    message = fields(data)
    found: dict[str, Any] = {}
    for number, name in {17: "pattern", 25: "type", 34: "description", 35: "format"}.items():
        if number in message:
            found[name] = text(message, number)
    for number, name in {1: "nullable", 20: "uniqueItems"}.items():
        if number in message:
            found[name] = bool(message[number][0])
    for number, name in {11: "maximum", 13: "minimum", 15: "maxLength"}.items():
        if number in message:
            found[name] = message[number][0]
    for number, name in {26: "allOf", 27: "oneOf", 28: "anyOf"}.items():
        if number in message:
            found[name] = [choice(each, schema) for each in message[number]]
    if 23 in message:
        found["required"] = [str(each, "utf-8") for each in message[23]]
    if 24 in message:
        found["enum"] = [json.loads(text(fields(each), 2)) for each in message[24]]
    if 29 in message:
        found["not"] = schema(message[29][0])
    if 30 in message:
        found["items"] = choice(fields(message[30][0])[1][0], schema)
    if 31 in message:
        properties = pairs(fields(message[31][0]), 1)
        found["properties"] = {name: choice(value, schema) for name, value in properties.items()}
    if 32 in message:
        found["additionalProperties"] = additional(message[32][0])
    if 33 in message:
        found["default"] = default(message[33][0])
    assert message.keys() <= {1, 11, 13, 15, 17, 20, *range(23, 37)}
    return found | extensions(message, 36)


def content(data: bytes) -> dict[str, Any]:
    found = pairs(fields(data), 1)
    return {name: {"schema": choice(fields(value)[1][0], schema)} for name, value in found.items()}


def parameter(data: bytes) -> dict[str, Any]:
    message = fields(data)
    found: dict[str, Any] = {
        "name": text(message, 1),
        "in": text(message, 2),
        "description": text(message, 3),
    }
    found["schema"] = choice(message[10][0], schema)
    return found | ({"required": bool(message[4][0])} if 4 in message else {})


def body(data: bytes) -> dict[str, Any]:
    message = fields(data)
    return {"content": content(message[2][0])} | ({"required": bool(message[3][0])} if 3 in message else {})


def response(data: bytes) -> dict[str, Any]:
    message = fields(data)
    return {"description": text(message, 1)} | ({"content": content(message[3][0])} if 3 in message else {})


def operation(data: bytes) -> dict[str, Any]:
    message = fields(data)
    responses = pairs(fields(message[8][0]), 2)
    found: dict[str, Any] = {
        "tags": [str(each, "utf-8") for each in message[1]],
        "operationId": text(message, 5),
        "parameters": [choice(each, parameter) for each in message.get(6, ())],
        "responses": {code: choice(value, response) for code, value in responses.items()},
    }
    if 7 in message:
        found["requestBody"] = choice(message[7][0], body)
    return found | extensions(message, 13)


METHODS = {4: "get", 5: "put", 6: "post", 7: "delete", 10: "patch"}


def path_item(data: bytes) -> dict[str, Any]:
    message = fields(data)
    found: dict[str, Any] = {"parameters": [choice(each, parameter) for each in message.get(13, ())]}
    return found | {
        name: operation(message[number][0]) for number, name in METHODS.items() if number in message
    }


def document(data: bytes) -> dict[str, Any]:
    message = fields(data)
    assert message.keys() == {1, 2, 4, 5}
    info, components = fields(message[2][0]), fields(message[5][0])
    schemas, security = (pairs(fields(components[number][0]), 1) for number in (1, 7))
    key = fields(fields(security["BearerToken"])[1][0])
    names = ("type", "description", "name", "in")
    return {
        "openapi": text(message, 1),
        "info": {"title": text(info, 1), "version": text(info, 6)},
        "paths": {name: path_item(value) for name, value in pairs(fields(message[4][0]), 1).items()},
        "components": {
            "schemas": {name: choice(value, schema) for name, value in schemas.items()},
            "securitySchemes": {"BearerToken": {name: text(key, at) for at, name in enumerate(names, 1)}},
        },
    }


def expected(plain: Any) -> Any:
    """Return a JSON document as far as protobuf has words for it."""
    if isinstance(plain, list):
        return [expected(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    lost = {"default": LOST} if plain.get("default") == {} else {}
    return {name: expected(value) for name, value in plain.items()} | lost


@pytest.mark.parametrize(("group", "version"), [("", "v1"), ("apps", "v1"), ("apiextensions.k8s.io", "v1")])
def test_a_document_comes_back(group: str, version: str) -> None:
    plain = openapi.v3_document(group, version)
    assert plain is not None
    assert document(openapi_v3_proto.v3_document(plain)) == expected(json.loads(plain))


def test_schema_keywords_survive_protobuf_round_trip() -> None:
    said = {
        "nullable": True,
        "pattern": "^a",
        "maximum": 1.5,
        "minimum": -2.0,
        "maxLength": 300,
        "enum": ["x", 1, None],
        "not": {"type": "string"},
        "anyOf": [{"default": "text"}, {"default": 3.0}, {"default": True}, {"default": ["a", "b"]}],
        "additionalProperties": False,
        "x-kubernetes-validations": [{"rule": "true"}],
    }
    data = openapi_v3_proto.v3_document(json.dumps({"components": {"schemas": {"D": said}}}).encode())
    found = choice(pairs(fields(fields(fields(data)[5][0])[1][0]), 1)["D"], schema)
    assert found == {**said, "anyOf": [*said["anyOf"][:3], {"default": LOST}]}  # type: ignore[index]


def test_nothing_is_dropped_in_silence() -> None:
    with pytest.raises(KeyError, match="novelty"):
        openapi_v3_proto.v3_document(b'{"components": {"schemas": {"D": {"novelty": true}}}}')
