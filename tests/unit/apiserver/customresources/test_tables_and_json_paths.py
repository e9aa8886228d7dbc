"""Columns are filled by JSON paths; what a path does not find stays empty."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinitionVersion
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.customresources import printing
from podling.apiserver.customresources.json_paths import JsonPath, JsonPathError
from podling.apiserver.customresources.versions import priority
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject

DATA: dict[str, Any] = {
    "spec": {"a": 1, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "dotted.key": "d"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.a", [1]),
        ("{.spec.a}", [1]),
        (".spec.nothing", []),
        (".spec.list[0].n", ["x"]),
        (".spec.list[-1].n", ["y"]),
        (".spec.list[7].n", []),
        (".spec.list[*].v", [1, 2]),
        (".spec.list[0:1].v", [1]),
        (".spec['dotted.key']", ["d"]),
        (r".spec.dotted\.key", ["d"]),
        ("..n", ["x", "y"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type!='Ready')].status", ["False"]),
        (".spec.list[?(@.v==2)].n", ["y"]),
    ],
)
def test_where_paths_lead(path: str, found: list[Any]) -> None:
    assert JsonPath(path).find(DATA) == found


@pytest.mark.parametrize("path", [".a[", ".a[?(]", ".a]"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(JsonPathError):
        JsonPath(path)


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
def test_cells(type_: str, value: Any, shown: Any) -> None:
    cells = printing.cells_of(version({"name": "C", "type": type_, "jsonPath": ".spec.c"}))
    obj = CustomObject(metadata=ObjectMeta(name="o"), content={"spec": {"c": value}})
    assert printing.row(obj, cells, clock.now()) == ["o", shown]


async def test_without_columns_there_is_the_age() -> None:
    now = clock.now()
    obj = CustomObject(metadata=ObjectMeta(name="o", creation_timestamp=now - timedelta(minutes=5)))
    assert [each.name for each in printing.columns_of(version())] == ["Name", "Age"]
    assert printing.row(obj, printing.cells_of(version()), now) == ["o", "5m"]


def test_stable_versions_come_first() -> None:
    names = ["foo10", "v1alpha1", "v2", "v10", "v11alpha2", "v3beta1", "v12alpha1", "v1", "foo1", "v11beta2"]
    expected = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "v1alpha1",
        "foo1",
        "foo10",
    ]
    assert sorted(names, key=priority) == expected
