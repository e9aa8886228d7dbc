"""The simple JSON paths that definitions use: fields, keys, positions, ``[*]`` and ``[?(@.type=="Ready")]``.

Compiled once into steps; each step turns a list of values into the values below them. Good for columns
(``.status.conditions[?(@.type=="Ready")].status``), selectable fields and the parts of ``scale``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Step = Callable[[Any], list[Any]]

_TOKEN = re.compile(
    r"""\.\.(?P<deep>[^.\[\]]+)
      | \.(?P<name>(?:\\.|[^.\[\]\\])+)
      | \[\s*'(?P<quoted>(?:\\.|[^'\\])*)'\s*\]
      | \[\s*"(?P<quoted2>(?:\\.|[^"\\])*)"\s*\]
      | \[\s*(?P<all>\*)\s*\]
      | \[\s*(?P<index>-?\d+)\s*\]
      | \[\s*(?P<slice>-?\d*:-?\d*)\s*\]
      | \[\s*\?\s*\(\s*@(?P<where>[^=!<>]*?)\s*(?P<op>==|!=)\s*(?P<value>'[^']*'|"[^"]*"|[^)\s]+)\s*\)\s*\]
      | (?P<bare>^[^.\[\]]+)""",
    re.VERBOSE,
)


class JsonPathError(ValueError):
    """A path that cannot be read."""


class JsonPath:
    """A compiled path. Raises ``JsonPathError`` for a text that is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps = _compile(text)

    def find(self, value: Any) -> list[Any]:
        """Everything the path leads to; empty when it leads nowhere."""
        found = [value]
        for step in self._steps:
            found = [below for each in found for below in step(each)]
        return found

    def first(self, value: Any) -> Any:
        """Return the first thing it leads to, or None."""
        found = self.find(value)
        return found[0] if found else None


def _compile(text: str) -> list[Step]:
    rest = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps, position = [], 0
    while position < len(rest):
        match = _TOKEN.match(rest, position)
        if match is None:
            raise JsonPathError(f"unexpected {rest[position:]!r} in path {text!r}")
        steps.append(_step(match))
        position = match.end()
    return steps


def _step(match: re.Match[str]) -> Step:
    found = match.groupdict()
    for group in ("name", "bare", "quoted", "quoted2"):
        if found[group] is not None:
            return _every if found[group] == "*" else _field(re.sub(r"\\(.)", r"\1", found[group]))
    if found["deep"] is not None:
        return _deep(found["deep"])
    if found["all"]:
        return _every
    if found["index"] is not None:
        return _at(int(found["index"]))
    if found["slice"] is not None:
        start, _, end = found["slice"].partition(":")
        return _between(int(start) if start else None, int(end) if end else None)
    return _where(_compile(found["where"]), found["op"] == "==", _literal(found["value"]))


def _field(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _every(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _at(index: int) -> Step:
    def step(value: Any) -> list[Any]:
        inside = isinstance(value, list) and -len(value) <= index < len(value)
        return [value[index]] if inside else []

    return step


def _between(start: int | None, end: int | None) -> Step:
    return lambda value: value[start:end] if isinstance(value, list) else []


def _deep(name: str) -> Step:
    def step(value: Any) -> list[Any]:
        here = [value[name]] if isinstance(value, dict) and name in value else []
        return here + [found for below in _every(value) for found in step(below)]

    return step


def _where(path: list[Step], equal: bool, wanted: Any) -> Step:
    def matches(item: Any) -> bool:
        found = [item]
        for step in path:
            found = [below for each in found for below in step(each)]
        return bool(found) and (found[0] == wanted) is equal

    return lambda value: [item for item in _every(value) if matches(item)]


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        return text
