"""Tests of the validation of CEL expressions."""

from __future__ import annotations

import pytest

from podling.apiserver.kinds.common.expressions import (
    expression_errors,
    is_identifier,
    typed_expression_errors,
)
from podling.machinery.fields import Path
from tests.support.causes import causes


def test_expression_that_cannot_be_parsed_is_refused() -> None:
    ((field, _, message),) = causes(expression_errors(Path("e"), "1 +"))
    assert field == "e"
    assert message.startswith('Invalid value: "1 +": compilation failed: ')
    assert expression_errors(Path("e"), "1 + 1") == []


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ((), ""),
        (("int",), ""),
        (("bool",), "must evaluate to bool"),
        (("bool", "dyn"), "must evaluate to bool"),
        (("bool", "string"), "must evaluate to one of [bool string]"),
    ],
)
def test_result_type_of_expression_is_checked(results: tuple[str, ...], expected: str) -> None:
    found = [message for _, _, message in causes(typed_expression_errors(Path("e"), "1 + 1", {}, results))]
    assert found == ([f'Invalid value: "1 + 1": {expected}'] if expected else [])


@pytest.mark.parametrize(
    ("name", "valid"), [("_a1", True), ("a-b", False), ("1a", False), ("", False), ("package", False)]
)
def test_identifier_is_no_reserved_word(name: str, valid: bool) -> None:
    assert is_identifier(name) is valid
