"""Resource quantities (``500m``, ``1.5Gi``, ``1e3``), exact, as ``apimachinery/pkg/api/resource`` has them.

A quantity is a rational number and the family of suffixes it was written in. Each has one
canonical text: no fraction, the largest suffix that leaves a whole number, the same
family. Nothing is ever rounded but what is finer than one billionth, which is rounded away from
zero, as Kubernetes does. Amounts with a binary suffix are capped at the largest int64 when they are read,
all others when they are taken as a number: sums of exact amounts must not overflow.
"""

from __future__ import annotations

import re
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from podling.machinery.text_cache import cached_by_text

NANO_DIGITS = 9
NANO = 10**9
_MAX = 2**63 - 1
DIGITS_MAX = 60
"""Decimal amounts of so many digits, counted in billionths, are exact; larger ones are the largest int64."""

PATTERN = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
FORMAT_ERROR = f"quantities must match the regular expression '{PATTERN}'"
SUFFIX_ERROR = "unable to parse quantity's suffix"

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}

_parts = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)", re.DOTALL).fullmatch
_exponent = re.compile(r"[eE]([-+]?[0-9]+)").fullmatch
_suffix = re.compile(r"[eEinumkKMGTP]*[-+]?[0-9]*").fullmatch


class Format(Enum):
    """The family of suffixes a quantity keeps when it is written again."""

    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"


class Quantity(Struct, frozen=True):
    """An exact amount: a whole number of billionths. Compares by amount in any format."""

    nano: int
    format: Format = Format.DECIMAL_SI

    @property
    def value(self) -> int:
        """The amount in units as an int64, rounded away from zero (never less than was requested)."""
        return _bounded(_round_away(self.nano, NANO))

    @property
    def milli_value(self) -> int:
        """The amount in thousandths as an int64, rounded away from zero: CPU in millicores."""
        return _bounded(_round_away(self.nano, NANO // 1000))

    def __add__(self, other: Quantity) -> Quantity:
        # Zero has no opinion on the format: a sum that starts at 0 reads like what is added.
        shape = other.format if self.nano == 0 else self.format
        return Quantity(self.nano + other.nano, shape)

    def __sub__(self, other: Quantity) -> Quantity:
        shape = other.format if self.nano == 0 else self.format
        return Quantity(self.nano - other.nano, shape)

    def __neg__(self) -> Quantity:
        return replace(self, nano=-self.nano)

    def __mul__(self, factor: int) -> Quantity:
        return replace(self, nano=self.nano * factor)

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano

    def __bool__(self) -> bool:
        return self.nano != 0

    def __str__(self) -> str:
        return _canonical_text(self)


ZERO = Quantity(0)


def _round_away(amount: int, unit: int) -> int:
    whole = -(-abs(amount) // unit)
    return whole if amount >= 0 else -whole


def _bounded(amount: int) -> int:
    return amount if -_MAX <= amount <= _MAX else max(-_MAX, min(amount, _MAX))


def of(units: int, format: Format = Format.DECIMAL_SI) -> Quantity:
    """Return a whole number of units."""
    return Quantity(units * NANO, format)


@cached_by_text(4096)
def parse(text: str) -> Quantity:
    """Return the amount that ``text`` says. Raises ValueError with Kubernetes' words."""
    parts = _parts(text)
    if parts is None:
        raise ValueError(FORMAT_ERROR)
    sign, whole, fraction, suffix = parts.groups(default="")
    if not whole + fraction or not _suffix(suffix):
        raise ValueError(FORMAT_ERROR)
    base, power, shape = _interpret(suffix)
    nano = _scaled(whole, fraction, base, power)
    return Quantity(-nano if sign == "-" else nano, shape)


def _interpret(suffix: str) -> tuple[int, int, Format]:
    if suffix in _BINARY:
        return 1024, _BINARY[suffix], Format.BINARY_SI
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], Format.DECIMAL_SI
    if exponent := _exponent(suffix):
        return 10, int(exponent.group(1)[:10]), Format.DECIMAL_EXPONENT
    raise ValueError(SUFFIX_ERROR)


def _scaled(whole: str, fraction: str, base: int, power: int) -> int:
    """``whole.fraction * base**power`` in billionths, bounded before a number of many digits is built."""
    if base == 10:
        digits, shift = (whole + fraction).lstrip("0"), power - len(fraction) + NANO_DIGITS
        if not digits:
            return 0
        if len(digits) + shift > DIGITS_MAX:
            return _MAX * NANO
        if shift >= 0:
            return int(digits + "0" * shift)
        return int(digits[:shift] or "0") + bool(digits[shift:].strip("0"))
    if len(whole.lstrip("0")) > DIGITS_MAX:
        return _MAX * NANO
    kept, rest = fraction[:DIGITS_MAX], fraction[DIGITS_MAX:]
    amount = 10 * int(whole + kept or "0") + bool(rest.strip("0"))
    exact = _round_away(amount * NANO * 1024**power, 10 ** (len(kept) + 1))
    return min(exact, _MAX * NANO)


def _canonical_text(quantity: Quantity) -> str:
    nano, shape = quantity.nano, quantity.format
    if nano == 0:
        return "0"
    if shape is Format.BINARY_SI:
        # Small or fractional amounts read better, and stay exact, in decimal.
        if nano % NANO == 0 and abs(nano) >= 1024 * NANO:
            return _with_binary_suffix(nano // NANO)
        shape = Format.DECIMAL_SI
    power, largest = -9, DIGITS_MAX if shape is Format.DECIMAL_EXPONENT else 18
    while nano % 1000 == 0 and power < largest:
        nano //= 1000
        power += 3
    if shape is Format.DECIMAL_EXPONENT:
        return f"{nano}e{power}" if power else str(nano)
    return f"{nano}{_DECIMAL_SUFFIX[power]}"


def _with_binary_suffix(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < 6:
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIX[power]}" if power else str(units)


@cached_by_text(4096)
def canonical(text: str) -> str:
    """Return the one way to write the same amount in the same family. Raises ValueError."""
    return str(parse(text))


@cached_by_text(4096)
def canonical_milli(text: str) -> str:
    """``canonical``, with what is finer than a thousandth rounded away from zero. Raises ValueError."""
    exact, milli = parse(text), NANO // 1000
    return str(replace(exact, nano=_round_away(exact.nano, milli) * milli))


def value(text: str) -> int:
    """Return the amount in whole units, rounded away from zero: bytes. Raises ValueError."""
    return parse(text).value


def milli_value(text: str) -> int:
    """Return the amount in thousandths, rounded away from zero: millicores. Raises ValueError."""
    return parse(text).milli_value
