"""YAML to plain data, the way the API server reads it: YAML 1.1 scalars, JSON's types, bounded.

Built on the parser's events rather than on its constructor, for three reasons: nesting must not
recurse, aliases must not multiply (a text of a few lines can name a value of gigabytes), and errors about
repeated keys must name their lines. One document is read; the rest is ignored, as ``sigs.k8s.io/yaml`` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from podling.machinery.encoding.body_limits import VALUES_MAX, too_many
from podling.machinery.encoding.jsonscan import MAX_DEPTH
from podling.machinery.encoding.plain import copied

MAX_NODES_FROM_ALIASES = 100_000
"""The number of values that aliases may add; real manifests stay far below."""

_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_integer = re.compile(r"[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)").fullmatch
_float = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?").fullmatch
_UNSUPPORTED = frozenset({".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"})
_NOT_A_NUMBER = frozenset({".nan", ".NaN", ".NAN"})
_TAG = "tag:yaml.org,2002:"
_MERGE = "<<"


class YamlError(ValueError):
    """Malformed or unacceptable YAML."""


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is still being read."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    size: int = 1
    """The number of values in it, those of aliases and itself included."""
    key: str | None = None
    merging: bool = False
    """``key`` is the merge key: ``<<`` without quotes."""
    merges: list[Any] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)


def load(data: bytes, values_max: int = VALUES_MAX) -> tuple[Any, list[str]]:
    """The first document, and one text per repeated key. Raises YamlError, or 413 for too many values."""
    reader = _Reader(values_max)
    try:
        for event in yaml.parse(data, Loader=_loader()):
            if isinstance(event, DocumentEndEvent):
                break
            reader.take(event)
    except yaml.YAMLError as error:
        raise YamlError(_complaint(error)) from None
    except UnicodeDecodeError as error:
        raise YamlError(f"yaml: {error.reason}") from None
    return reader.result, reader.duplicates


@cache
def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _complaint(error: yaml.YAMLError) -> str:
    # Go names the line where the construct began if that is not the first line, counted from zero
    # unless a scanner found the mistake.
    marks = [getattr(error, name, None) for name in ("context_mark", "problem_mark")]
    lines = [mark.line for mark in marks if mark and mark.line]
    number = lines[0] + isinstance(error, yaml.scanner.ScannerError) if lines else 0
    line = f"line {number}: " if number else ""
    return f"yaml: {line}{getattr(error, 'problem', None) or error}"


class _Reader:
    def __init__(self, values_max: int) -> None:
        self.values_max = values_max
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.expanded = 0
        self.values = 0
        self.result: Any = None
        self.duplicates: list[str] = []

    def take(self, event: Event) -> None:
        if isinstance(event, ScalarEvent):
            self.scalar(event)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            if len(self.stack) >= MAX_DEPTH:
                raise YamlError("yaml: exceeded max depth")
            self.stack.append(_Open({} if isinstance(event, MappingStartEvent) else [], event.anchor))
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            closed = self.stack.pop()
            for merged in closed.merges:
                self.merge(closed.value, merged, event)
            self.remember(closed.anchor, closed.value, closed.size)
            self.place(closed.value, event, closed.size)
        elif isinstance(event, AliasEvent):
            self.alias(event)

    def scalar(self, event: ScalarEvent) -> None:
        parent = self.stack[-1] if self.stack else None
        plain = not event.style and event.implicit[0]
        if parent and isinstance(parent.value, dict) and parent.key is None:
            self.key(parent, event, plain)
            return
        value = _resolve(event.value, event.tag, plain)
        self.remember(event.anchor, value)
        self.place(value, event)

    def key(self, parent: _Open, event: ScalarEvent, plain: bool) -> None:
        resolved = _resolve(event.value, event.tag, plain)
        self.remember(event.anchor, resolved)
        parent.key = key = _key_text(resolved)
        parent.merging = plain and event.value == _MERGE
        if parent.merging:
            return
        if key in parent.keys:
            self.duplicates.append(f'line {_line(event)}: key "{key}" already set in map')
        parent.keys.add(key)

    def alias(self, event: AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
        value, size = self.anchors[event.anchor]
        self.expand(size)
        parent = self.stack[-1] if self.stack else None
        if parent and isinstance(parent.value, dict) and parent.key is None:
            parent.key = _key_text(value)
        else:
            self.place(copied(value), event, size)  # what is changed in one place must not show in another

    def expand(self, values: int) -> None:
        """Count values that the text does not spell out. Raises YamlError when there are too many."""
        self.expanded += values
        if self.expanded > MAX_NODES_FROM_ALIASES:
            raise YamlError("yaml: document contains excessive aliasing")

    def merge(self, into: Any, merged: Any, event: Event) -> None:
        """The ``<<`` key: fill in what the mapping does not say itself; of a list, the first one wins."""
        for source in merged if isinstance(merged, list) else [merged]:
            if not isinstance(source, dict):
                line = _line(event)
                raise YamlError(f"yaml: line {line}: map merge requires map or sequence of maps as the value")
            self.expand(len(source))
            for key, value in source.items():
                into.setdefault(key, value)

    def remember(self, anchor: str | None, value: Any, size: int = 1) -> None:
        if anchor:
            self.anchors[anchor] = (value, size)

    def place(self, value: Any, event: Event, size: int = 1) -> None:
        self.values += 1
        if self.values > self.values_max:
            raise too_many(self.values_max)
        if not self.stack:
            self.result = value
            return
        parent = self.stack[-1]
        parent.size += size
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.key is None:
            raise YamlError(f"yaml: line {_line(event)}: mapping keys must be scalars")
        elif parent.merging:
            parent.merges.append(value)
            parent.key, parent.merging = None, False
        else:
            parent.value[parent.key] = value
            parent.key = None


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else f"{key}"


def _resolve(text: str, tag: str | None, plain: bool) -> Any:
    """Return the JSON value of a scalar: YAML 1.1, whole floats as integers, dates left as strings."""
    if tag and tag.startswith(_TAG) and tag != _TAG + "str":
        plain = tag != _TAG + "binary"
    if not plain or tag in ("!", _TAG + "str"):
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text[0] not in "+-.0123456789":
        return text
    return _number(text)


def _number(text: str) -> Any:
    if _integer(text):
        return _whole(text.replace("_", ""))
    if _float(text.replace("_", "")):
        number = float(text.replace("_", ""))
        if number in (float("inf"), float("-inf")):
            raise YamlError(f"json: unsupported value: {text}")
        return int(number) if number.is_integer() and abs(number) < 1e21 else number
    if text in _UNSUPPORTED or text in _NOT_A_NUMBER:
        raise YamlError("json: unsupported value: " + text.lstrip(".+"))
    return text


def _whole(text: str) -> Any:
    digits = text.lstrip("+-")
    sign = -1 if text.startswith("-") else 1
    if digits[:2] in ("0b", "0x", "0o"):
        base = {"b": 2, "x": 16, "o": 8}[digits[1]]
        return sign * int(digits[2:], base) if digits[2:] else text
    # A leading zero means octal; what is no octal number is read as a decimal float.
    if len(digits) > 1 and digits.startswith("0"):
        return sign * (int(digits, 8) if not set(digits) & {"8", "9"} else int(digits))
    if len(digits) > 400:
        return text
    return sign * int(digits)
