"""Reading the files that scenarios are made from; every problem has its line and column. Pure."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import yaml
from msgspec import Struct

_BYTE = re.compile(r" \(byte (\d+)\)$")


class Unreadable(Exception):
    """A file that cannot be read. The text is ``file:line:column: problem``."""

    def __init__(self, name: str, line: int, column: int, problem: str) -> None:
        super().__init__(f"{name}:{line}:{column}: {problem}")


class Imported(Struct, frozen=True):
    """A scenario as plain data, and what of the source it does not show, in sentences."""

    scenario: dict[str, Any]
    notes: tuple[str, ...] = ()


class Row(Struct, frozen=True):
    """A row of a table, whose cells know where they are.

    Args:
        starts: the column of the file at which each cell begins, counted from one.
    """

    name: str
    line: int
    cells: Sequence[str]
    starts: Sequence[int]

    def number(self, column: int, default: float | None = None) -> float:
        """Return a cell as a number; ``default`` for an empty one, if there is one. Raises ``Unreadable``."""
        text = self.text(column)
        if not text and default is not None:
            return default
        try:
            return float(text)
        except ValueError:
            raise self.problem(column, f"{text!r} is no number") from None

    def text(self, column: int) -> str:
        return self.cells[column] if column < len(self.cells) else ""

    def problem(self, column: int, text: str) -> Unreadable:
        """Return a problem of a cell, for raising."""
        start = self.starts[column] if column < len(self.starts) else 1
        return Unreadable(self.name, self.line, start, text)


def rows(text: str, name: str, columns: int) -> Iterator[Row]:
    """Yield the rows of a CSV file without a head. Raises ``Unreadable``.

    Args:
        columns: the number of columns that its format has; further ones are left alone.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        cells = next(csv.reader(io.StringIO(line)))
        starts = [1]
        for cell in cells:
            starts.append(starts[-1] + len(cell) + 1)
        if len(cells) < columns:
            raise Unreadable(name, number, 1, f"{len(cells)} columns; the format has {columns}")
        yield Row(name, number, cells, starts)


def json_lines(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file with one a line, and the numbers of their lines. Raises ``Unreadable``."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            problem, column = _split(str(error))
            raise Unreadable(name, number, column, problem) from None
        if not isinstance(found, dict):
            raise Unreadable(name, number, 1, "a line must be a JSON object")
        yield number, found


def documents(text: str, name: str) -> list[dict[str, Any]]:
    """Return the objects of a YAML or JSON file; those of a List one by one. Raises ``Unreadable``."""
    try:
        found = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise Unreadable(name, line, column, error.problem or str(error)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(name, 1, 1, " ".join(str(error).split())) from None
    objects: list[dict[str, Any]] = []
    for number, document in enumerate(found):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise Unreadable(name, *_place(text, (number,)), "a document must be an object of Kubernetes")
        if str(document.get("kind", "")).endswith("List"):
            for place, item in enumerate(document.get("items") or ()):
                objects.append(_object(item, text, name, (number, "items", place)))
        else:
            objects.append(_object(document, text, name, (number,)))
    return objects


def _object(found: Any, text: str, name: str, path: tuple[str | int, ...]) -> dict[str, Any]:
    if not isinstance(found, dict) or not found.get("kind") or not found.get("apiVersion"):
        raise Unreadable(name, *_place(text, path), "an object needs apiVersion and kind")
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise Unreadable(name, *_place(text, path), f"this {found['kind']} has no metadata.name")
    return found


def _place(text: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """Return line and column of a place in a file's documents."""
    number, *inner = path
    node = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))[int(number)]
    for step in inner:
        if isinstance(node, yaml.MappingNode):
            node = next(value for key, value in node.value if key.value == step)
        else:
            node = node.value[step]
    return node.start_mark.line + 1, node.start_mark.column + 1


def _split(text: str) -> tuple[str, int]:
    found = _BYTE.search(text)
    return (text[: found.start()], int(found[1]) + 1) if found else (text, 1)
