"""Import cycles, imports of a module, and modules with logic."""

from __future__ import annotations

import pytest

from tools.style.structure import cycles, has_logic, imports_of


@pytest.mark.parametrize(
    ("imports", "groups"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"a"}}, []),
        ({"a": {"b"}, "b": {"a"}}, [["a", "b"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}, [["b", "c"]]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}}, [["a", "b"], ["c", "d"]]),
    ],
)
def test_cycles_are_groups_of_modules(imports: dict[str, set[str]], groups: list[list[str]]) -> None:
    assert sorted(cycles(imports)) == groups


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import p.a", {"p.a"}),
        ("from p import a, b", {"p.a", "p.b"}),
        ("from p.a import name", {"p.a"}),
        ("def f():\n    from p import b", {"p.b"}),
        ("if TYPE_CHECKING:\n    from p import b", set()),
        ("import os", set()),
    ],
)
def test_imports_name_modules_of_the_project(source: str, found: set[str]) -> None:
    assert imports_of(source, frozenset({"p", "p.a", "p.b"})) == found


def test_modules_with_few_branches_hold_declarations() -> None:
    assert not has_logic("X = 1\ndef f(a):\n    return a if a else 2")
    assert has_logic("def f(a):\n    if a:\n        return [x for x in a]\n    return 1 or 2")
