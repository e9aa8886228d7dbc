"""Quantities: one text for each amount; only parts of a billionth are rounded."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery import quantity
from podling.machinery.quantity import Format, Quantity, canonical, parse

CANONICAL = {
    "0": "0", "0Ki": "0", "-0": "0", "1": "1", "+1": "1", "0.5": "500m", ".5": "500m", "5.": "5",
    "1000m": "1", "1500m": "1500m", "1.5": "1500m", "100000": "100k", "1500": "1500", "1000000": "1M",
    "1024Ki": "1Mi", "1.5Gi": "1536Mi", "1Ei": "1Ei", "1023Ki": "1023Ki", "1024": "1024", "0.5Ki": "512",
    "1.1Ki": "1126400m", "0.1Mi": "104857600m", "-1024Ki": "-1Mi", "-0.5": "-500m",
    "1e3": "1e3", "1E3": "1e3", "12e6": "12e6", "1e-3": "1e-3", "1.5e3": "1500", "1E": "1E",
    "0.0000000001": "1n", "1e-100": "1e-9", "8Ei": "9223372036854775807",
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), CANONICAL.items())
def test_quantity_has_canonical_text(text: str, wanted: str) -> None:
    assert canonical(text) == wanted


@pytest.mark.parametrize("text", ["", "k", ".", "+", "abc", "1.1.M", "1+1.0M", " 1", "1 ", "1_0", "1٣"])
def test_not_a_quantity(text: str) -> None:
    with pytest.raises(ValueError, match=r"^quantities must match the regular expression '\^\(\[\+-\]"):
        parse(text)


@pytest.mark.parametrize("text", ["1i", "0.1mi", "1e", "-3.01i", "1KiM"])
def test_an_unknown_suffix(text: str) -> None:
    with pytest.raises(ValueError, match=r"^unable to parse quantity's suffix$"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "units", "thousandths"),
    [("0.5", 1, 500), ("1500m", 2, 1500), ("1u", 1, 1), ("-1500m", -2, -1500), ("2Ki", 2048, 2048000)],
)
def test_whole_values_are_rounded_away_from_zero(text: str, units: int, thousandths: int) -> None:
    assert quantity.value(text) == units
    assert quantity.milli_value(text) == thousandths


def test_amounts_of_different_formats_compare() -> None:
    assert parse("1Ki") == parse("1024") == parse("1.024k")
    assert hash(parse("1Ki")) == hash(parse("1024"))
    assert parse("999m") < parse("1") <= parse("1000m") < parse("1Ki")
    assert not parse("0")
    assert parse("1n")


def test_a_sum_keeps_the_format_of_its_first_part_unless_that_is_zero() -> None:
    assert str(parse("1Gi") + parse("1024Mi")) == "2Gi"
    assert str(quantity.ZERO + parse("512Mi")) == "512Mi"
    assert str(parse("1") - parse("100m")) == "900m"
    assert str(-parse("1Mi") * 3) == "-3Mi"
    assert str(sum([parse("100m"), parse("1")], quantity.ZERO)) == "1100m"


def test_absurd_exponents_cost_nothing() -> None:
    assert parse("1e999999999999").value == 2**63 - 1
    assert parse("1e-999999999999").nano == 1
    assert parse("9" * 5000).value == 2**63 - 1


nanos = st.integers(min_value=-(10**24), max_value=10**24)
formats = st.sampled_from(Format)


@given(nanos, formats)
def test_writing_and_reading_gives_the_same_amount(nano: int, shape: Format) -> None:
    amount = Quantity(nano, shape)
    assert parse(str(amount)) == amount


@given(nanos, st.sampled_from([Format.DECIMAL_SI, Format.DECIMAL_EXPONENT]))
def test_the_canonical_text_is_a_fixed_point(nano: int, shape: Format) -> None:
    text = str(Quantity(nano, shape))
    assert canonical(text) == text


def test_a_binary_amount_without_a_binary_suffix_is_read_as_a_decimal_one() -> None:
    # As in Go: the text no longer shows that 125000 was meant to be binary.
    assert str(Quantity(125_000 * quantity.NANO, Format.BINARY_SI)) == "125000"
    assert canonical("125000") == "125k"


@given(
    st.integers(min_value=0, max_value=10**6),
    st.integers(min_value=0, max_value=10**4),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "Gi"]),
)
def test_parsing_agrees_with_arithmetic(whole: int, fraction: int, suffix: str) -> None:
    scale = {
        "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
        "k": Fraction(1000), "M": Fraction(10**6), "G": Fraction(10**9),
        "Ki": Fraction(1024), "Mi": Fraction(1024**2), "Gi": Fraction(1024**3),
    }[suffix]  # fmt: skip
    exact = Fraction(f"{whole}.{fraction:04d}") * scale * 10**9
    nano = parse(f"{whole}.{fraction:04d}{suffix}").nano
    assert 0 <= nano - exact < 1


@given(nanos, nanos)
def test_arithmetic_is_that_of_numbers(left: int, right: int) -> None:
    a, b = Quantity(left), Quantity(right)
    assert (a + b).nano == left + right
    assert (a - b).nano == left - right
    assert (a < b) == (left < right)
    assert (a >= b) == (left >= right)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1e30", "1e30"), ("1e31", "10e30"), ("1e-9", "1e-9"), ("10000000000000000000", "10E"),
        ("16Ei", "9223372036854775807"), ("99999999999999999999Ki", "9223372036854775807"),
        ("0." + "0" * 5000 + "1", "1n"), ("1." + "0" * 5000 + "1", "1000000001n"), ("0." + "9" * 5000, "1"),
        ("0." + "0" * 5000 + "1Gi", "1n"), ("-1e30", "-1e30"),
    ],
)  # fmt: skip
def test_large_and_fine_amounts(text: str, wanted: str) -> None:
    assert canonical(text) == wanted


@given(
    st.text("0123456789", min_size=0, max_size=400),
    st.text("0123456789", min_size=1, max_size=400),
    st.sampled_from(["", "n", "m", "E", "Ki", "Ei", "e30", "e-30", "E400", "e2147483648", "e-999999999999"]),
    st.sampled_from(["", "-", "+"]),
)
def test_numbers_taken_from_quantities_fit_in_int64(
    whole: str, fraction: str, suffix: str, sign: str
) -> None:
    amount = parse(f"{sign}{whole}.{fraction}{suffix}")
    for number in (amount.value, amount.milli_value):
        assert -(2**63) < number < 2**63
    assert abs(amount.nano) < 10 ** (quantity.DIGITS_MAX + 1)
    assert parse(str(amount)) == amount
    assert quantity.canonical_milli(str(amount))


def test_a_quantity_of_a_million_digits_is_read_at_once() -> None:
    """Building a number of so many digits would take minutes."""
    for text in (
        "9" * 1_000_000,
        "0." + "9" * 1_000_000,
        "9" * 1_000_000 + "Ei",
        "." + "0" * 1_000_000 + "1Ei",
    ):
        assert parse(text).value <= 2**63 - 1
