"""The page on limits names constants with the values that the code has."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

from tests.support.pages import DOCS

ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([\w/]+)\.py` `([\w.]+)` \|", re.MULTILINE)
UNITS = {"": 1.0, "s": 1.0, "KiB": 1024.0, "MiB": 1024.0 * 1024}


def rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall((DOCS / "limits.md").read_text())


def number_of(text: str) -> float:
    """Return the value of a cell such as ``16 MiB`` or ``4,096``."""
    number, _, unit = text.strip().partition(" ")
    return float(number.replace(",", "")) * UNITS[unit]


def constant_of(module: str, name: str) -> Any:
    """Return a constant, or the default of a structure's field."""
    value: Any = importlib.import_module(f"podling.{module.replace('/', '.')}")
    for part in name.split("."):
        value = getattr(value() if isinstance(value, type) else value, part)
    return value


def test_page_has_a_row_for_each_kind_of_limit() -> None:
    folders = {module.partition("/")[0] for _, _, module, _ in rows()}
    assert {"apiserver", "kubelet", "machinery", "store", "streaming"} <= folders
    assert len(rows()) > 40


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[2]}:{row[3]}")
def test_number_on_the_page_is_that_of_the_code(row: tuple[str, str, str, str]) -> None:
    _, shown, module, name = row
    assert number_of(shown) == float(constant_of(module, name))
