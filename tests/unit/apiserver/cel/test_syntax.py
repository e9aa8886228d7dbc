"""Syntax errors: their position and the tokens that were expected."""

from __future__ import annotations

import pytest

from podling.apiserver.cel.programs import syntax_problem

EXPRESSION = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("object.x in [1, 2,", ["19: Syntax error: missing ']' at '<EOF>'"]),
        ("(1 == 1", ["8: Syntax error: missing ')' at '<EOF>'"]),
        ("f(a[1", ["6: Syntax error: missing ']' at '<EOF>'"]),
        ("{1: 2,", ["7: Syntax error: missing '}' at '<EOF>'"]),
        ("f(1,", [f"5: Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}"]),
        ("a ? b", ["6: Syntax error: mismatched input '<EOF>' expecting ':'"]),
        ("a.true", ["3: Syntax error: mismatched input 'true' expecting IDENTIFIER"]),
        ("not here", ["5: Syntax error: extraneous input 'here' expecting <EOF>"]),
        ("not here either", ["5: Syntax error: mismatched input 'here' expecting <EOF>"]),
        (
            "a = 'b'",
            [
                "3: Syntax error: token recognition error at: '= '",
                "5: Syntax error: extraneous input ''b'' expecting <EOF>",
            ],
        ),
        (
            "*@a | b",
            [
                f"1: Syntax error: extraneous input '*' expecting {EXPRESSION}",
                "2: Syntax error: token recognition error at: '@'",
                "5: Syntax error: token recognition error at: '| '",
                "7: Syntax error: extraneous input 'b' expecting <EOF>",
            ],
        ),
        (
            "1 + $",
            [
                "5: Syntax error: token recognition error at: '$'",
                f"6: Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}",
            ],
        ),
        (
            "'abc",
            [
                "1: Syntax error: token recognition error at: ''abc'",
                f"5: Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}",
            ],
        ),
    ],
)
def test_syntax_error_has_position_and_expectation(text: str, problems: list[str]) -> None:
    found = syntax_problem(text)
    assert found is not None
    said = [line for line in found.splitlines() if line.startswith("ERROR")]
    assert said == [f"ERROR: <input>:1:{each}" for each in problems]
