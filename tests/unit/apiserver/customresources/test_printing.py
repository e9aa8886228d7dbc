"""Cells and columns of custom objects in tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinitionVersion
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.customresources import printing
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject


def version(*columns: dict[str, Any]) -> CustomResourceDefinitionVersion:
    plain = {"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": list(columns)}
    return codec.convert(plain, CustomResourceDefinitionVersion)[0]


@pytest.mark.parametrize(
    ("type_", "value", "shown"),
    [
        ("string", "x", "x"),
        ("string", 7, "7"),
        ("string", {"a": [1]}, '{"a":[1]}'),
        ("integer", 7, 7),
        ("integer", "7", None),
        ("number", 1.5, 1.5),
        ("boolean", True, True),
        ("boolean", "yes", None),
        ("date", "not a date", "<invalid>"),
    ],
)
def test_cell_shows_the_value_of_its_type(type_: str, value: Any, shown: Any) -> None:
    cells = printing.cells_of(version({"name": "C", "type": type_, "jsonPath": ".spec.c"}))
    obj = CustomObject(metadata=ObjectMeta(name="o"), content={"spec": {"c": value}})
    assert printing.row(obj, cells, clock.now()) == ["o", shown]


async def test_without_columns_there_is_the_age() -> None:
    now = clock.now()
    obj = CustomObject(metadata=ObjectMeta(name="o", creation_timestamp=now - timedelta(minutes=5)))
    assert [each.name for each in printing.columns_of(version())] == ["Name", "Age"]
    assert printing.row(obj, printing.cells_of(version()), now) == ["o", "5m"]
