"""Compilation of expressions: type errors, depth, and size."""

from __future__ import annotations

import pytest

from podling.apiserver.cel.programs import NotCompiled, Program
from tests.support.cel_expressions import NAMES, evaluated


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cel.bind(x, n, x == x)", "undeclared reference to 'cel' (in container '')"),
        ("'abc'.reverse() == 'cba'", "found no matching overload for 'reverse' applied to 'string.()'"),
        ("isIP(cidr('::1/128'))", "found no matching overload for 'isIP' applied to '(net.CIDR)'"),
        (
            "quantity('1').sign() == 1",
            "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
        ),
        ("[[1]].sum() == 1", "found no matching overload for 'sum' applied to 'list(list(int)).()'"),
        ("['a'].sum() == 'a'", "found no matching overload for 'sum' applied to 'list(string).()'"),
        (
            "semver('1.0.0') == 1",
            "found no matching overload for '_==_' applied to '(kubernetes.Semver, int)'",
        ),
        ("url('/a') == 1", "found no matching overload for '_==_' applied to '(kubernetes.URL, int)'"),
        (
            "optional.of(n) == n",
            "found no matching overload for '_==_' applied to '(optional_type(int), int)'",
        ),
        (
            "{'a': 1} == ['a']",
            "found no matching overload for '_==_' applied to '(map(string, int), list(string))'",
        ),
        ("timestamp(0) == n", "found no matching overload for '_==_' applied to '(timestamp, int)'"),
        ("[1].all(i, v, v + 1)", "found no matching overload for '_&&_' applied to '(bool, int)'"),
        (
            "n.all(i, v, true)",
            "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
    ],
)
def test_compilation_error_has_a_message(text: str, why: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        Program(text, NAMES)
    assert str(refused.value).splitlines()[0].split(": ", 2)[2] == why


@pytest.mark.parametrize(
    "text",
    [
        " && ".join(["true"] * 9000),
        " == ".join(["true"] * 250),
        "(" * 249 + "true" + ")" * 249,
        "[1].all(x, " * 200 + "true" + ")" * 200,
        "[1]" + ".map(x, x)" * 200 + " == [1]",
    ],
    ids=["logic", "relations", "parentheses", "macros", "calls"],
)
def test_deeply_nested_expressions_compile(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" == ".join(["n"] * 252), "max recursion depth exceeded"),
        ("[1]" + ".map(x, x)" * 251, "max recursion depth exceeded"),
        ("(" * 251 + "true" + ")" * 251, "expression recursion limit exceeded: 250"),
        ("n" * 100_001, "expression code point size exceeds limit: size: 100001, limit 100000"),
    ],
    ids=["relations", "calls", "parentheses", "size"],
)
def test_error_of_an_oversized_expression_has_no_position(text: str, why: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        Program(text, NAMES)
    assert str(refused.value) == f"ERROR: <input>:-1:0: {why}"


def test_malformed_pattern_is_a_compilation_error() -> None:
    with pytest.raises(NotCompiled) as refused:
        Program("s.find(')') == ''", NAMES)
    assert refused.value.said == "program instantiation failed: error parsing regexp: unexpected ): `)`"
