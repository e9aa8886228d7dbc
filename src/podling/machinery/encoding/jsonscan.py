"""A slow, exact reader of JSON text that says what is wrong with it in the words of Go's decoder.

The fast parser only says that a text is malformed or that some object names a key twice. Then this
one walks the text again, without recursion, and finds the first mistake or every repeated key with
the path to it, as ``encoding/json`` and ``sigs.k8s.io/json`` word them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

END = "unexpected end of JSON input"
MAX_DEPTH = 500
MAX_REPORTED = 100
"""Go's decoder keeps at most this many strict errors."""
TOO_DEEP = "exceeded max depth"

_blank = re.compile(r"[ \t\r\n]*").match
_string = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"').match
_good_characters = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+').match
_number = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").match
_NUMBER_STEPS = (
    (re.compile(r"-"), "in numeric literal"),
    (re.compile(r"-?(?:0|[1-9][0-9]*)\."), "after decimal point in numeric literal"),
    (re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?[eE][+-]?"), "in exponent of numeric literal"),
)


class JsonError(ValueError):
    """Malformed JSON; the text is Go's."""


@dataclass(slots=True)
class _Frame:
    """An object or array that is still open, and where in it the reader is."""

    is_object: bool
    step: str | int = ""
    keys: set[str] = field(default_factory=set)


def unknown_field(path: str) -> str:
    """Return the message for a field that the type does not have."""
    return f'unknown field "{path}"'


def strict_reports(text: str, unknown: Collection[str] = ()) -> list[str]:
    """Return the messages for duplicate keys, and for fields that are ``unknown`` (their paths).

    Each comes once, in the order of the text, and no more than Go's decoder keeps; the inside of an unknown
    field is skipped. Raises JsonError for malformed text.
    """
    return list(_Scanner(text, unknown).run())


def complaint(text: str) -> str:
    """Return Go's error for a malformed text; empty if it is well-formed."""
    try:
        _Scanner(text).run()
    except JsonError as error:
        return str(error)
    return ""


class _Scanner:
    def __init__(self, text: str, unknown: Collection[str] = ()) -> None:
        self.text = text
        self.at = 0
        self.frames: list[_Frame] = []
        self.found: dict[str, None] = {}
        self.unknown = frozenset(unknown)
        self.names = frozenset(path.rpartition(".")[2] for path in unknown)
        self.passed = MAX_DEPTH
        """The depth below which everything is inside of an unknown field."""

    def run(self) -> Iterable[str]:
        self.value()
        while self.frames:
            self.after_value()
        if rest := self.peek():
            raise self.unexpected("after top-level value", rest)
        return self.found

    def peek(self) -> str:
        """Return the next character that is no blank; empty at the end."""
        match = _blank(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def unexpected(self, where: str, character: str) -> JsonError:
        if not character:
            return JsonError(END)
        quoted = {"'": r"'\''", '"': "'\"'"}.get(character) or "'" + json.dumps(character)[1:-1] + "'"
        return JsonError(f"invalid character {quoted} {where}")

    def value(self) -> None:
        """Read a scalar, or open an object or array and read its first value."""
        while True:
            character = self.peek()
            if character == "{":
                self.open(True)
                if self.peek() == "}":
                    self.close()
                    return
                self.key("looking for beginning of object key string")
            elif character == "[":
                self.open(False)
                if self.peek() == "]":
                    self.close()
                    return
            else:
                self.scalar(character)
                return

    def open(self, is_object: bool) -> None:
        if len(self.frames) >= MAX_DEPTH:
            raise JsonError(TOO_DEEP)
        self.frames.append(_Frame(is_object, "" if is_object else 0))
        self.at += 1

    def close(self) -> None:
        self.frames.pop()
        self.at += 1

    def after_value(self) -> None:
        frame = self.frames[-1]
        character = self.peek()
        if character == ("}" if frame.is_object else "]"):
            self.close()
        elif character != ",":
            where = "after object key:value pair" if frame.is_object else "after array element"
            raise self.unexpected(where, character)
        else:
            self.at += 1
            if frame.is_object:
                self.key("looking for beginning of object key string")
            elif isinstance(frame.step, int):
                frame.step += 1
            self.value()

    def key(self, where: str) -> None:
        if (character := self.peek()) != '"':
            raise self.unexpected(where, character)
        name: str = json.loads(self.string())
        frame = self.frames[-1]
        frame.step = name
        self.note(name, again=name in frame.keys)
        frame.keys.add(name)
        if (character := self.peek()) != ":":
            raise self.unexpected("after object key", character)
        self.at += 1

    def note(self, name: str, *, again: bool) -> None:
        if len(self.frames) > self.passed or len(self.found) >= MAX_REPORTED:
            return
        self.passed = MAX_DEPTH
        if not (again or name in self.names or "." in name):
            return
        path = self.path()
        if path in self.unknown:
            self.passed = len(self.frames)
            self.found[unknown_field(path)] = None
        elif again:
            self.found[f'duplicate field "{path}"'] = None

    def path(self) -> str:
        steps = (f"[{each.step}]" if isinstance(each.step, int) else f".{each.step}" for each in self.frames)
        return "".join(steps).removeprefix(".")

    def string(self) -> str:
        match = _string(self.text, self.at)
        if match is None:
            good = _good_characters(self.text, self.at)
            stop = good.end() if good else self.at
            character = self.text[stop : stop + 1]
            if character != "\\":
                raise self.unexpected("in string literal", character)
            escaped = self.text[stop + 1 : stop + 2]
            if escaped != "u":
                raise self.unexpected("in string escape code", escaped)
            bad = re.compile(r"[0-9a-fA-F]*").match(self.text, stop + 2)
            stop = bad.end() if bad else stop
            raise self.unexpected(r"in \u hexadecimal character escape", self.text[stop : stop + 1])
        self.at = match.end()
        return match.group()

    def scalar(self, character: str) -> None:
        if character == '"':
            self.string()
        elif character and character in "-0123456789":
            self.number()
        elif character and character in "tfn":
            self.literal({"t": "true", "f": "false", "n": "null"}[character])
        else:
            raise self.unexpected("looking for beginning of value", character)

    def number(self) -> None:
        match = _number(self.text, self.at)
        stop = match.end() if match else self.at
        for pattern, where in _NUMBER_STEPS:
            begun = pattern.match(self.text, self.at)
            if begun and begun.end() > stop:
                raise self.unexpected(where, self.text[begun.end() : begun.end() + 1])
        self.at = stop

    def literal(self, word: str) -> None:
        for position, letter in enumerate(word):
            character = self.text[self.at + position : self.at + position + 1]
            if character != letter:
                raise self.unexpected(f"in literal {word} (expecting '{letter}')", character)
        self.at += len(word)
