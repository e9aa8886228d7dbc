"""CEL's functions on quantities and versions in Kubernetes.

Source: ``k8s.io/apiserver/pkg/cel/library`` (``quantity.go``, ``semverlib.go``) and ``blang/semver``.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from podling.apiserver.cel.addresses import works
from podling.apiserver.cel.functions import INT_MAX, add
from podling.apiserver.cel.values import is_of_kind
from podling.machinery import quantity
from podling.machinery.quantity import NANO, Quantity

QUANTITY, SEMVER = "kubernetes.Quantity", "kubernetes.Semver"
_NUMBER = re.compile("[0-9]*").fullmatch
_WORD = re.compile("[0-9A-Za-z-]*").fullmatch
_LARGEST = 2**64 - 1


def _compared(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _is_integer(amount: Quantity) -> bool:
    return amount.nano % NANO == 0 and abs(amount.nano) < INT_MAX * NANO


def _integer(amount: Quantity) -> int:
    if not _is_integer(amount):
        raise ValueError("cannot convert value to integer")
    return amount.nano // NANO


def _add_quantities() -> None:
    is_of_kind(Quantity, QUANTITY)
    add("quantity", "", "string", QUANTITY, quantity.parse)
    add("isQuantity", "", "string", "bool", works(quantity.parse))
    add("sign", "", QUANTITY, "int", lambda amount: _compared(amount.nano, 0))
    add("isInteger", QUANTITY, "", "bool", _is_integer)
    add("asInteger", QUANTITY, "", "int", _integer)
    add("asApproximateFloat", QUANTITY, "", "double", lambda amount: amount.nano / NANO)
    add("add", QUANTITY, QUANTITY, QUANTITY, lambda left, right: left + right)
    add("add", QUANTITY, "int", QUANTITY, lambda left, right: left + quantity.of(right))
    add("sub", QUANTITY, QUANTITY, QUANTITY, lambda left, right: left - right)
    add("sub", QUANTITY, "int", QUANTITY, lambda left, right: left - quantity.of(right))


class Version(Struct, frozen=True, order=True):
    """A semantic version; what it was built from is not part of it."""

    major: int
    minor: int
    patch: int
    rank: tuple[Any, ...] = ((2,),)
    """The sort key of pre-releases; releases come after all of them."""


def _version(text: str, normalize: bool = False) -> Version:
    """Return a semantic version. Raises ``ValueError``."""
    text = _normalized(text) if normalize else text
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, before = rest.partition("-")
    major, minor, fix = _part("major", parts[0]), _part("minor", parts[1]), _part("patch", patch)
    ranks = tuple(map(_rank, before.split("."))) if dash else ((2,),)
    for each in build.split(".") if plus else ():
        if not each:
            raise ValueError("Build meta data is empty")
        if not _WORD(each):
            raise ValueError(f'Invalid character(s) found in build meta data "{each}"')
    return Version(major, minor, fix, ranks)


def _part(name: str, text: str) -> int:
    if not _NUMBER(text):
        raise ValueError(f'Invalid character(s) found in {name} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f'{name.capitalize()} number must not contain leading zeroes "{text}"')
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if int(text) > _LARGEST:
        raise ValueError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _rank(text: str) -> tuple[Any, ...]:
    """Return the sort key of a pre-release's identifier: numbers by their size, before words."""
    if not text:
        raise ValueError("Prerelease is empty")
    if _NUMBER(text):
        if len(text) > 1 and text[0] == "0":
            raise ValueError(f'Numeric PreRelease version must not contain leading zeroes "{text}"')
        return (0, int(text))
    if not _WORD(text):
        raise ValueError(f'Invalid character(s) found in prerelease "{text}"')
    return (1, text)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for at, part in enumerate(parts):
        if len(part) > 1:
            bare = part.lstrip("0")
            parts[at] = bare if bare[:1].isdigit() else f"0{bare}"
    if len(parts) < 3:
        if set(parts[-1]) & set("+-"):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _is_version(text: str, normalize: bool = False) -> bool:
    return bool(works(lambda each: _version(each, normalize))(text))


def _add_versions() -> None:
    is_of_kind(Version, SEMVER)
    for more in ("", " bool"):
        add("semver", "", f"string{more}", SEMVER, _version)
        add("isSemver", "", f"string{more}", "bool", _is_version)
    for name in ("major", "minor", "patch"):
        add(name, SEMVER, "", "int", lambda version, name=name: getattr(version, name))


def _add_comparisons() -> None:
    for kind in (QUANTITY, SEMVER):
        add("compareTo", kind, kind, "int", _compared)
        add("isGreaterThan", kind, kind, "bool", lambda left, right: left > right)
        add("isLessThan", kind, kind, "bool", lambda left, right: left < right)


for _group in (_add_quantities, _add_versions, _add_comparisons):
    _group()
