"""Types of expressions: assignability, type parameters, and their text."""

from __future__ import annotations

import pytest

from podling.apiserver.cel.types import DYN, INT, STRING, Type, filled_in, fits, list_of, map_of, type_named


@pytest.mark.parametrize(
    ("formal", "actual", "fitting"),
    [
        ("int", "int", True),
        ("int", "uint", False),
        ("dyn", "map(string,int)", True),
        ("int", "dyn", True),
        ("list(int)", "list(dyn)", True),
        ("list(int)", "list(string)", False),
        ("list(int)", "map(int,int)", False),
        ("timestamp", "null", True),
        ("null", "optional(int)", True),
        ("int", "null", False),
        ("list(int)", "null", False),
    ],
)
def test_value_fits_a_type_it_may_stand_for(formal: str, actual: str, fitting: bool) -> None:
    assert fits(type_named(formal), type_named(actual), {}) is fitting


def test_objects_of_other_names_do_not_fit() -> None:
    first, second = Type("object", label="a"), Type("object", label="b")
    assert fits(first, Type("object", label="a"), {})
    assert not fits(first, second, {})


@pytest.mark.parametrize(
    ("formals", "actuals", "result"),
    [
        (["A", "A"], [INT, INT], INT),
        (["A", "A"], [DYN, INT], INT),
        (["A", "A"], [INT, STRING], None),
        (["list(A)", "A"], [list_of(STRING), STRING], STRING),
        (["list(A)", "A"], [list_of(STRING), INT], None),
        (["map(A,B)", "A"], [map_of(STRING, INT), STRING], STRING),
    ],
)
def test_type_parameter_stands_for_one_type(
    formals: list[str], actuals: list[Type], result: Type | None
) -> None:
    bound: dict[str, Type] = {}
    fitting = all(fits(type_named(name), each, bound) for name, each in zip(formals, actuals, strict=True))
    assert (bound["A"] if fitting else None) == result


def test_unbound_parameter_becomes_dynamic() -> None:
    assert str(filled_in(type_named("map(A,B)"), {"A": INT})) == "map(int, dyn)"


@pytest.mark.parametrize("text", ["int", "list(string)", "map(string, int)", "optional_type(int)"])
def test_type_is_shown_as_it_is_written(text: str) -> None:
    assert str(type_named(text)) == text
