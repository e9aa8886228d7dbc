"""The protobuf form of the OpenAPI v2 document says what its JSON says.

It is read back here by numbers written down a second time, from ``OpenAPIv2.proto``, so that a slip in the
encoder's tables shows.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from podling.machinery.openapi import openapi, openapi_proto
from tests.support.protobuf import Message, extensions, fields, pairs, text


def schema(data: bytes) -> dict[str, Any]:
    """Return a Schema message as its JSON."""
    message = fields(data)
    known = {1: "$ref", 2: "format", 4: "description"}
    found: dict[str, Any] = {
        name: text(message, number) for number, name in known.items() if number in message
    }
    if 19 in message:
        found["required"] = [str(each, "utf-8") for each in message[19]]
    if 20 in message:
        found["enum"] = [json.loads(text(fields(each), 2)) for each in message[20]]
    if 21 in message:
        found["additionalProperties"] = schema(fields(message[21][0])[1][0])
    if 22 in message:
        found["type"] = text(fields(message[22][0]), 1)
    if 23 in message:
        found["items"] = schema(fields(message[23][0])[1][0])
    if 25 in message:
        properties = pairs(fields(message[25][0]), 1)
        found["properties"] = {name: schema(value) for name, value in properties.items()}
    assert message.keys() <= {1, 2, 4, 19, 20, 21, 22, 23, 25, 31}
    return found | extensions(message, 31)


def parameter(data: bytes) -> dict[str, Any]:
    """Return a ParametersItem as its JSON: a body, or one choice of four."""
    choice = fields(fields(data)[1][0])
    if 1 in choice:
        body = fields(choice[1][0])
        found: dict[str, Any] = {"name": text(body, 2), "in": text(body, 3), "schema": schema(body[5][0])}
        return found | ({"required": bool(body[4][0])} if 4 in body else {})
    (place, inner), *others = fields(choice[2][0]).items()
    assert not others
    where, kind, unique = {3: ("query", 6, 20), 4: ("path", 5, 19)}[place]
    said = fields(inner[0])
    found = {
        "name": text(said, 4),
        "in": text(said, 2),
        "description": text(said, 3),
        "type": text(said, kind),
        "uniqueItems": bool(said[unique][0]),
    }
    assert found["in"] == where
    return found | ({"required": bool(said[1][0])} if 1 in said else {})


def operation(data: bytes) -> dict[str, Any]:
    message = fields(data)
    responses: dict[str, dict[str, Any]] = {}
    for code, value in pairs(fields(message[9][0]), 1).items():
        response = fields(fields(value)[1][0])
        responses[code] = {"description": text(response, 1)}
        if 2 in response:
            responses[code]["schema"] = schema(fields(response[2][0])[1][0])
    found = {
        "tags": [str(each, "utf-8") for each in message[1]],
        "operationId": text(message, 5),
        "parameters": [parameter(each) for each in message.get(8, ())],
        "responses": responses,
    }
    for number, name in ((6, "produces"), (7, "consumes")):
        if number in message:
            found[name] = [str(each, "utf-8") for each in message[number]]
    return found | extensions(message, 13)


METHODS = {2: "get", 3: "put", 4: "post", 5: "delete", 8: "patch"}


def path_item(data: bytes) -> dict[str, Any]:
    message = fields(data)
    found: dict[str, Any] = {"parameters": [parameter(each) for each in message.get(9, ())]}
    return found | {
        name: operation(message[number][0]) for number, name in METHODS.items() if number in message
    }


@cache
def as_json() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(openapi.v2_document())
    return found


@cache
def as_protobuf() -> Message:
    return fields(openapi_proto.v2_document(openapi.v2_document()))


def test_every_definition_comes_back() -> None:
    definitions = pairs(fields(as_protobuf()[9][0]), 1)
    assert {name: schema(value) for name, value in definitions.items()} == as_json()["definitions"]


def test_every_path_comes_back() -> None:
    paths = pairs(fields(as_protobuf()[8][0]), 2)
    assert {name: path_item(value) for name, value in paths.items()} == as_json()["paths"]


def test_the_frame_of_the_document_comes_back() -> None:
    document = as_protobuf()
    info = fields(document[2][0])
    assert text(document, 1) == "2.0"
    assert {"title": text(info, 1), "version": text(info, 2)} == as_json()["info"]
    security = pairs(fields(document[13][0]), 1)
    key = fields(fields(security["BearerToken"])[2][0])
    names = ("type", "name", "in", "description")
    assert (
        dict(zip(names, (text(key, number) for number in (1, 2, 3, 4)), strict=True))
        == as_json()["securityDefinitions"]["BearerToken"]
    )
    assert pairs(fields(document[12][0]), 1) == {"BearerToken": b""}
    assert document.keys() == {1, 2, 8, 9, 12, 13}


def test_values_of_any_kind_travel_as_text() -> None:
    said = {"type": "string", "default": ["a", "b"], "enum": ["x", 1], "maxLength": 300, "maximum": 1.5}
    plain = {"definitions": {"D": said}}
    data = openapi_proto.v2_document(json.dumps(plain).encode())
    assert b'["a","b"]\n' in data, "a list is one default"
    assert b'"x"\n' in data
    assert b"1\n" in data
    assert bytes([11 << 3, 0xAC, 0x02]) in data, "three hundred takes two bytes"


def test_nothing_is_dropped_in_silence() -> None:
    with pytest.raises(KeyError, match="novelty"):
        openapi_proto.v2_document(b'{"definitions": {"D": {"novelty": true}}}')
