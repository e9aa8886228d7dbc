"""Objects that are nested deeper than the server follows: an answer for the client, nothing in the log."""

from __future__ import annotations

import json
import logging

import pytest

from tests.support.wire import Caller

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "deeps.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "deeps", "kind": "Deep"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}},
        ],
    },
}
DEEPS = "/apis/example.com/v1/namespaces/default/deeps"
DEPTHS = (10, 100, 250, 330, 400, 490, 600, 950, 5000)


def deep(depth: int) -> str:
    spec = '{"a":' * depth + "1" + "}" * depth
    return f'{{"apiVersion":"example.com/v1","kind":"Deep","metadata":{{"name":"d{depth}"}},"spec":{spec}}}'


async def test_no_depth_of_a_request_is_an_error_of_the_server(
    call: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    made = await call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    assert made.code == 201, made
    for depth in DEPTHS:
        name, text = f"{DEEPS}/d{depth}", deep(depth)
        change = json.dumps([{"op": "test", "path": "/kind", "value": "Deep"}])
        answers = [
            await call("POST", DEEPS, text, content_type="application/json"),
            await call("PATCH", f"{name}?fieldManager=f", text, content_type="application/apply-patch+yaml"),
            await call("PATCH", name, text, content_type="application/merge-patch+json"),
            await call("PATCH", name, change, content_type="application/json-patch+json"),
            await call("PUT", name, text, content_type="application/json"),
            await call("GET", name),
            await call("GET", DEEPS, accept="application/json;as=Table;v=v1;g=meta.k8s.io"),
            await call("GET", f"{DEEPS}?labelSelector=a%21%3Db"),
            await call("DELETE", f"{name}?dryRun=All"),
        ]
        assert max(answer.code for answer in answers) < 500, (depth, answers)
        assert answers[0].code in (201, 400), (depth, answers[0])
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
