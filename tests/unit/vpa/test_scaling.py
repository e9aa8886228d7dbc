"""Limits in proportion to requests: upstream's table, and what holds for any amounts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.quantity import Quantity, of, parse
from podling_vpa.scaling import INT64_MAX, MILLI, boundary_request, proportional_limit, scale

CASES = [
    ("scale proportionally", "2", "1", "10", "", "20", False),
    ("scale proportionally with default", "", "1", "10", "2", "20", False),
    ("no original limit", "", "1", "10", "", "", True),
    ("no original request", "2", "", "10", "", "10", False),
    ("no recommendation", "", "1", "0", "2", "", True),
    ("limit equal to request", "1", "1", "10", "", "10", False),
]


def quantity(text: str) -> Quantity | None:
    return parse(text) if text else None


@pytest.mark.parametrize("resource", ["cpu", "memory"])
@pytest.mark.parametrize(
    ("limit", "request_", "recommended", "default", "expected", "is_noted"),
    [each[1:] for each in CASES],
    ids=[each[0] for each in CASES],
)
def test_limit_keeps_its_proportion(
    resource: str, limit: str, request_: str, recommended: str, default: str, expected: str, is_noted: bool
) -> None:
    given_ = (quantity(limit), quantity(request_), quantity(recommended), quantity(default))
    found, note = proportional_limit(resource, *given_)
    assert found == quantity(expected)
    assert bool(note) is is_noted


@pytest.mark.parametrize(
    ("resource", "limit", "request_", "expected"),
    [("cpu", "2", "1.50", "1333m"), ("memory", "200", "150", "1")],
)
def test_limit_is_rounded_down(resource: str, limit: str, request_: str, expected: str) -> None:
    found, note = proportional_limit(resource, parse(limit), parse(request_), parse("1"), None)
    assert (found, note) == (parse(expected), "")


@pytest.mark.parametrize(("resource", "unit"), [("cpu", MILLI), ("memory", 10**9)])
def test_limit_is_cut_to_the_largest_integer(resource: str, unit: int) -> None:
    found, note = proportional_limit(resource, parse("10G"), parse("1m"), parse("10G"), None)
    assert found == Quantity(INT64_MAX * unit)
    assert note == f"{resource}: failed to keep limit to request ratio; capping limit to int64"


def test_base_of_zero_changes_nothing() -> None:
    assert scale("cpu", parse("1"), parse("0"), parse("20"), up=True) == (parse("1"), False)


def test_boundary_is_the_request_of_a_limit() -> None:
    assert boundary_request("cpu", parse("1"), parse("2"), parse("3"), None) == parse("1500m")
    assert boundary_request("cpu", None, parse("2"), parse("3"), None) == parse("3")
    assert boundary_request("cpu", parse("1"), None, parse("3"), None) == parse("0")


AMOUNTS = st.integers(1, 10**6).map(lambda milli: Quantity(milli * MILLI))


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_limit_never_falls_below_the_request(request_: Quantity, more: Quantity, wanted: Quantity) -> None:
    found, _ = proportional_limit("cpu", request_ + more, request_, wanted, None)
    assert found is not None
    assert found >= wanted


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 10**9))
def test_scaled_memory_is_exact_but_for_rounding(scaled: int, base: int, result: int) -> None:
    found, is_cut = scale("memory", of(scaled), of(base), of(result))
    assert not is_cut
    assert found.value == scaled * result // base
