"""Reviews of scenarios' webhooks by the expressions in their scripts."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from podling.apiserver.backends.local_servers import ServerRequest
from podling.sim.servers.scripted_handler import ScriptedHandler, where_problem
from podling.sim.servers.server_scripts import Server

LABEL = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]


def review(**request: Any) -> ServerRequest:
    body = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u1", "operation": "CREATE", "object": {"metadata": {}}, **request},
    }
    return ServerRequest("POST", "/review?timeout=10s", body=json.dumps(body).encode())


async def response(request: ServerRequest, **fields: Any) -> Any:
    server = msgspec.convert({"service": "default/hook", **fields}, Server)
    found = json.loads((await ScriptedHandler(server)(request)).body)
    assert (found["apiVersion"], found["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert found["response"].pop("uid") == "u1"
    return found["response"]


async def test_review_without_a_rule_is_allowed() -> None:
    assert await response(review()) == {"allowed": True}


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        ("request.operation == 'CREATE'", False),
        ("request.operation == 'DELETE'", True),
        ("object.spec.replicas > 3", True),  # there is no such field
        ("oldObject == null", False),
    ],
)
async def test_first_review_that_fits_answers(where: str, allowed: bool) -> None:
    refusal = {"where": where, "allowed": False, "message": "no", "code": 422}
    found = await response(review(), reviews=[refusal, {"warnings": ["late"]}])
    late = {"allowed": True, "warnings": ["late"]}
    assert found == (late if allowed else {"allowed": False, "status": {"code": 422, "message": "no"}})


async def test_patch_is_encoded_and_left_out_where_there_is_no_object() -> None:
    found = await response(review(), reviews=[{"patch": LABEL}])
    assert found["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(found["patch"])) == LABEL
    assert await response(review(object=None), reviews=[{"patch": LABEL}]) == {"allowed": True}


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("object.spec.x == 1", ""),
        ("1 + 1", "the expression must be true or false, not int"),
        ("pod.x", "ERROR: <input>:1:1: undeclared reference to 'pod'"),
    ],
)
def test_expression_with_a_problem_is_explained(where: str, problem: str) -> None:
    assert where_problem(where).startswith(problem)
    assert bool(where_problem(where)) == bool(problem)
