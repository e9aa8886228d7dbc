"""Tables of custom objects: the name, then the columns of the definition. Pure.

Upstream: ``pkg/registry/customresource/tableconvertor``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from podling.api.apiextensions_v1 import CustomResourceColumnDefinition, CustomResourceDefinitionVersion
from podling.apiserver.customresources.json_paths import JsonPath, JsonPathError
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.tables import AGE, NAME, Column, translate_timestamp_since

Cell = Callable[[dict[str, Any], datetime], Any]

_AGE_COLUMN = CustomResourceColumnDefinition(
    name="Age", type="date", json_path=".metadata.creationTimestamp", description=AGE.description
)


def _asked(version: CustomResourceDefinitionVersion) -> Sequence[CustomResourceColumnDefinition]:
    """Return the columns of a version, if all of them are valid."""
    columns = version.additional_printer_columns or (_AGE_COLUMN,)
    try:
        for each in columns:
            JsonPath(each.json_path)
    except JsonPathError:
        return (_AGE_COLUMN,)
    return columns


def columns_of(version: CustomResourceDefinitionVersion) -> tuple[Column, ...]:
    """Return the columns of a version; name and age when it has none."""
    asked = (
        Column(
            each.name,
            type=each.type,
            format=each.format or "",
            description=each.description
            or f"Custom resource definition column (in JSONPath format): {each.json_path}",
            priority=each.priority or 0,
        )
        for each in _asked(version)
    )
    return (NAME, *asked)


def cells_of(version: CustomResourceDefinitionVersion) -> list[Cell]:
    """Return the function of each column's cells, but the name's."""
    return [_cell(JsonPath(each.json_path), each.type) for each in _asked(version)]


def row(obj: CustomObject, cells: Sequence[Cell], now: datetime) -> list[Any]:
    plain = {**obj.plain(), "metadata": codec.to_plain(obj.metadata)}
    return [obj.metadata.name or "", *(cell(plain, now) for cell in cells)]


def _cell(path: JsonPath, type_: str) -> Cell:
    def cell(plain: dict[str, Any], now: datetime) -> Any:
        found = path.find(plain)
        return _shown(found[0], type_, now) if found else None

    def joined(plain: dict[str, Any], now: datetime) -> Any:
        found = path.find(plain)
        return " ".join(_text(each) for each in found) if found else None

    return joined if type_ == "string" else cell


def _shown(value: Any, type_: str, now: datetime) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "integer":
            return int(value) if number else None
        case "number":
            return value if number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _age(value, now)
        case _:
            return _text(value)


def _age(value: Any, now: datetime) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return translate_timestamp_since(msgspec.convert(value, datetime), now)
    except msgspec.ValidationError:
        return "<invalid>"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
