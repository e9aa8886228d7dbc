"""Expressions for resources. The cases are those of OpenKruise's ``calculator_test.go``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery import quantity
from podling.machinery.quantity import Quantity
from podling_kruise.sidecarset.expressions import DEPTH_MAX, ExpressionError, evaluate


def value(text: str, **variables: str) -> str:
    """Return the value of an expression as a text."""
    found = evaluate(text, {name: quantity.parse(given) for name, given in variables.items()})
    return str(found) if isinstance(found, Quantity) else f"{found:g}"


NUMBERS = [
    ("42", "42"),
    ("2 + 3", "5"),
    ("10 - 4", "6"),
    ("3 * 4", "12"),
    ("15 / 3", "5"),
    ("(2 + 3) * 4", "20"),
    ("2 + 3 * 4", "14"),
    ("10 - 4 - 3", "3"),
    ("50%", "0.5"),
    ("100% * 2", "2"),
    ("max(10, 20)", "20"),
    ("MIN(10, 20)", "10"),
    ("1e2", "100"),
    ("1E2", "100"),
    (".5 + 1.", "1.5"),
    ("min(max(max(max(0.5,0.5*0.5),0.5-1.0),0.5-1.0),3.0)", "0.5"),
    ("20 - 10", "10"),
    ("10 - 10", "0"),
    ("40m + 20m", "60m"),
    ("100Mi - 50Mi", "50Mi"),
    ("2 * 40m", "80m"),
    ("100m / 2", "50m"),
    ("100m", "100m"),
    ("max(40m, 20)", "20"),
    ("min(40m, 20m)", "20m"),
    ("min(max(max(max(500m,0.5*0.5),0.5-1.0),0.5-1.0),3.0)", "500m"),
]


@pytest.mark.parametrize(("text", "wanted"), NUMBERS)
def test_expression_has_a_value(text: str, wanted: str) -> None:
    assert value(text) == wanted


@pytest.mark.parametrize(
    ("text", "cpu", "wanted"),
    [
        ("cpu", "100m", "100m"),
        ("cpu * 2", "50m", "100m"),
        ("max(cpu, 200m)", "100m", "200m"),
        ("min(max(max(max(0.5,0.5*cpu),cpu-1.0),cpu-1.0),3.0)", "0.5", "500m"),
        ("max(0.25, cpu)", "100m", "250m"),
        ("max(cpu, 0.75)", "500m", "750m"),
        ("min(0.8, cpu)", "1.0", "800m"),
        ("min(cpu, 1.5)", "2.0", "1500m"),
        ("max(min(2*cpu,-cpu+3.0),2*cpu-3.0)", "1.5", "1500m"),
        ("max(min(2*cpu,3.0-cpu),2*cpu-3.0)", "1.5", "1500m"),
        ("max(cpu * 50%, 50m)", "200m", "100m"),
    ],
)
def test_variable_has_a_quantity(text: str, cpu: str, wanted: str) -> None:
    assert value(text, cpu=cpu) == wanted


@pytest.mark.parametrize(
    ("text", "memory", "wanted"),
    [
        ("memory + 100Mi", "200Mi", "300Mi"),
        ("0.5 * memory + max(0, memory-2Gi)", "8Gi", "10Gi"),
        ("max(memory*50%, 100Mi)", "512Mi", "256Mi"),
    ],
)
def test_quantity_keeps_its_suffixes(text: str, memory: str, wanted: str) -> None:
    assert value(text, memory=memory) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "parse error"),
        ("   ", "parse error"),
        ("5..5", "parse error"),
        ("5%%", "parse error"),
        ("2 + @", "parse error"),
        ("(2 + 3", "parse error"),
        ("2 3", "parse error"),
        ("10x", "unknown unit x"),
        ("10 / 0", "division by zero"),
        ("unknown(1, 2)", "unknown function: unknown"),
        ("max(1)", "max function requires exactly 2 arguments, got 1"),
        ("min(1, 2, 3)", "min function requires exactly 2 arguments, got 3"),
        ("40m * 2m", "multiplication of two quantities"),
        ("2 / 40m", "division by quantity"),
        ("disk", "undefined variable: disk"),
        ("-10", "calculation result is negative: -10"),
        ("-100m", "calculation result is negative: -100m"),
        ("10 - 20", "calculation result is negative"),
        ("50m - 100m", "calculation result is negative"),
        ("1e400 * 1m", "out of range"),
        ("(" * (DEPTH_MAX + 1) + "1" + ")" * (DEPTH_MAX + 1), "parse error"),
    ],
)
def test_expression_without_a_value_says_why(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        value(text)


@given(st.text(alphabet="0123456789.eE+-*/()%, mMikcpuax@", max_size=60))
def test_any_text_has_a_value_or_an_error(text: str) -> None:
    try:
        found = evaluate(text, {"cpu": quantity.parse("250m")})
    except ExpressionError:
        return
    assert isinstance(found, Quantity) or found >= 0
