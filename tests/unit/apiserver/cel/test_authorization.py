"""Checks of rights in expressions: the resource or path of each, and its decision."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.cel.authorization import AUTHORIZER_TYPE, Check, Decided, Question
from podling.apiserver.cel.environments import environment
from podling.apiserver.cel.programs import Failure, Program

ALLOWED = Decided(allowed=True)


def run(text: str, answer: Decided = ALLOWED) -> tuple[Any, list[Question]]:
    """Return the value of an expression, and the checks that it made."""
    questions: list[Question] = []

    def decide(question: Question) -> Decided:
        questions.append(question)
        return answer

    program = Program(text, {"authorizer": AUTHORIZER_TYPE})
    return program.evaluate({"authorizer": Check(decide)}), questions


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("authorizer.path('/metrics').check('get')", Question(path="/metrics", verb="get")),
        (
            "authorizer.group('apps').resource('deployments').namespace('x').name('d').check('create')",
            Question(group="apps", resource="deployments", namespace="x", name="d", verb="create"),
        ),
        (
            "authorizer.group('').resource('pods').subresource('log').check('get')",
            Question(resource="pods", subresource="log", verb="get"),
        ),
        (
            "authorizer.serviceAccount('default', 'robot').group('').resource('pods').check('list')",
            Question(account=("default", "robot"), resource="pods", verb="list"),
        ),
        (
            "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('list')",
            Question(resource="pods", field_selector="a=b", label_selector="c", verb="list"),
        ),
    ],
)
def test_check_carries_resource_or_path(text: str, question: Question) -> None:
    assert run(f"{text}.allowed()") == (True, [question])


@pytest.mark.parametrize(
    ("call", "answer", "value"),
    [
        ("allowed()", Decided(allowed=False), False),
        ("reason()", Decided(allowed=False, reason="no role"), "no role"),
        ("errored()", Decided(allowed=False, error="gone"), True),
        ("errored()", Decided(allowed=False), False),
        ("error()", Decided(allowed=False, error="gone"), "gone"),
    ],
)
def test_decision_has_its_parts(call: str, answer: Decided, value: Any) -> None:
    assert run(f"authorizer.path('/x').check('get').{call}", answer)[0] == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("authorizer.path(' ')", "path must not be empty"),
        ("authorizer.group('').resource('')", "resource must not be empty"),
        ("authorizer.serviceAccount('default', 'Robot')", "Invalid service account name"),
        ("authorizer.serviceAccount('a.b', 'robot')", "Invalid service account namespace"),
    ],
)
def test_invalid_check_fails_before_it_is_decided(text: str, why: str) -> None:
    with pytest.raises(Failure, match=why):
        run(text)


def test_request_resource_is_a_check_of_its_own() -> None:
    questions: list[Question] = []

    def decide(question: Question) -> Decided:
        questions.append(question)
        return Decided(allowed=True)

    program = Program("authorizer.requestResource.check('own').allowed()", environment())
    made = Check(decide, Question(resource="pods", name="p"))
    assert program.evaluate({"authorizer.requestResource": made}) is True
    assert questions == [Question(resource="pods", name="p", verb="own")]
