"""Expressions of an admission policy, and its variables."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.cel.policies import PolicyExpressions
from podling.apiserver.cel.programs import Failure, NotCompiled
from podling.apiserver.cel.types import DYN


def evaluated(
    variables: list[tuple[str, str]], text: str, budget: list[int] | None = None, **values: Any
) -> Any:
    policy = PolicyExpressions(variables, params=None)
    cost = [1000] if budget is None else budget
    given = {"object": {"n": 2}, **values}
    return policy.program(text).evaluate({**given, "variables": policy.lazily(given, cost)}, cost)


def test_variable_sees_those_before_it() -> None:
    variables = [("a", "object.n + 1"), ("b", "variables.a * 10")]
    assert evaluated(variables, "variables.b + variables.a == 33") is True


def test_variable_does_not_see_those_after_it() -> None:
    policy = PolicyExpressions([("a", "variables.b"), ("b", "1")], params=None)
    assert isinstance(policy.variables["a"], NotCompiled)
    assert "undefined field 'b'" in str(policy.variables["a"])


def test_unused_variable_is_not_evaluated() -> None:
    variables = [("broken", "object.missing"), ("fine", "object.n")]
    assert evaluated(variables, "variables.fine == 2") is True
    with pytest.raises(
        Failure, match=r'^composited variable "broken" fails to evaluate: no such key: missing$'
    ):
        evaluated(variables, "variables.broken == 2")


def test_uncompiled_variable_fails_where_it_is_used() -> None:
    with pytest.raises(Failure, match=r'^composited variable "bad" fails to compile: ERROR: '):
        evaluated([("bad", "object.n +")], "variables.bad == 2")


def test_variable_is_paid_for_once() -> None:
    variables = [("sum", "[1, 2, 3].map(x, x + object.n).sum()")]
    once, twice = [1000], [1000]
    evaluated(variables, "variables.sum > 0", once)
    evaluated(variables, "variables.sum > 0 && variables.sum > 0", twice)
    first, second = 1000 - once[0], 1000 - twice[0]
    assert 0 < first <= second < 2 * first


def test_condition_has_no_variables() -> None:
    policy = PolicyExpressions([("a", "1")], params=DYN)
    assert str(policy.condition("params.x == object.n").type) == "bool"
    with pytest.raises(NotCompiled, match="undeclared reference to 'variables'"):
        policy.condition("variables.a == 1")
    assert policy.program("variables.a == 1") is policy.program("variables.a == 1"), "compiled once"
