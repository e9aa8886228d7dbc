"""Literals that no function can read are compilation errors."""

from __future__ import annotations

import pytest

from podling.apiserver.cel.literals import literal_problem, pattern_problem
from podling.apiserver.cel.programs import NotCompiled, Program
from tests.support.cel_expressions import NAMES


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("duration('abc') == duration('1s')", "invalid duration argument"),
        ("timestamp('2026') == timestamp(0)", "invalid timestamp argument"),
        ("s.matches('[')", "invalid matches argument"),
    ],
)
def test_unreadable_literal_is_a_compilation_error(text: str, why: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        Program(text, NAMES)
    assert str(refused.value).splitlines()[0].split(": ", 2)[2] == why


@pytest.mark.parametrize(
    ("function", "value", "problem"),
    [
        ("duration", "1h", ""),
        ("duration", "1 hour", "invalid duration argument"),
        ("duration", 7, ""),
        ("timestamp", "2026-01-01T00:00:00Z", ""),
        ("timestamp", 253402300799, ""),
        ("timestamp", 253402300800, "invalid timestamp argument"),
        ("matches", "a|b", ""),
        ("matches", "(?=a)", "invalid matches argument"),
        ("find", "(", ""),
    ],
)
def test_literal_is_read_by_the_function_that_takes_it(function: str, value: object, problem: str) -> None:
    assert literal_problem(function, value) == problem


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("[0-9]+", ""),
        (7, ""),
        ("a)", "error parsing regexp: unexpected ): `a)`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
    ],
)
def test_error_of_a_pattern_has_its_text(value: object, problem: str) -> None:
    assert pattern_problem(value) == problem
