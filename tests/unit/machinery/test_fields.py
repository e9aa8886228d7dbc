"""Paths of fields and errors about fields."""

from __future__ import annotations

import pytest

from podling.api import core_v1
from podling.machinery import fields
from podling.machinery.fields import Path


def test_a_path_is_made_once_however_often_it_is_named() -> None:
    """Validation names each field of each object, and nearly always in vain."""
    spec = Path("spec")
    assert spec.child("containers").index(0) is spec.child("containers").index(0)
    assert spec.child("template", "spec") is spec.child("template").child("spec")
    assert (str(spec), str(Path().child("spec")), str(spec.child(""))) == ("spec", "spec", "spec")


def test_the_paths_that_are_remembered_are_bounded() -> None:
    """Positions and keys come from users, so a path keeps a limited number of them."""
    ports = Path("ports")
    texts = [str(ports.index(position)) for position in range(2 * fields.MAX_KEPT_STEPS)]
    assert texts == [f"ports[{position}]" for position in range(2 * fields.MAX_KEPT_STEPS)]
    last = 2 * fields.MAX_KEPT_STEPS - 1
    assert ports.index(0) is ports.index(0)
    assert ports.index(last) is not ports.index(last)
    assert ports.index(last) == ports.index(last)


FIELD_ERRORS = [
    (fields.required(Path("a"), "why"), "a: Required value: why"),
    (fields.invalid(Path("a"), "x", "why"), 'a: Invalid value: "x": why'),
    (fields.invalid(Path("a"), None, "why"), "a: Invalid value: null: why"),
    (fields.invalid(Path("a"), True, "why"), "a: Invalid value: true: why"),
    (
        fields.invalid(Path("a"), core_v1.ContainerPort(container_port=1), "why"),
        'a: Invalid value: {"containerPort":1}: why',
    ),
    (fields.duplicate(Path("a").key("k"), "x"), 'a[k]: Duplicate value: "x"'),
    (fields.forbidden(Path("a"), "why"), "a: Forbidden: why"),
    (fields.not_found(Path("a"), "x"), 'a: Not found: "x"'),
    (
        fields.not_supported(Path("a"), "x", ["y", "z"]),
        'a: Unsupported value: "x": supported values: "y", "z"',
    ),
    (fields.too_long(Path("a"), 3), "a: Too long: may not be more than 3 bytes"),
    (fields.too_many(Path("a"), 5, 1), "a: Too many: 5: must have at most 1 item"),
    (fields.too_many(Path("a"), 5, 3), "a: Too many: 5: must have at most 3 items"),
]


@pytest.mark.parametrize(("error", "text"), FIELD_ERRORS)
def test_field_error_has_text(error: fields.FieldError, text: str) -> None:
    assert str(error) == text


def test_a_path_of_nothing_is_nil() -> None:
    assert str(Path()) == "<nil>"
    assert Path("a").child("b", "c") == Path("a.b.c")
