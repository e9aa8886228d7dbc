"""CEL itself: compiling an expression and giving it values. The only module that knows the library.

Loaded with the first rule. Beside the standard functions there are those that Kubernetes adds: on
strings, lists, regular expressions, URLs, IP addresses and quantities.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import celpy
from celpy import celtypes
from celpy.adapter import json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError, base_functions

from podling.apiserver.customresources.cel_functions import FUNCTIONS, SETS, Optional
from podling.apiserver.customresources.structural import Schema

_ENVIRONMENT = celpy.Environment()
_IDENTIFIER = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*$").match
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip

_MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})
_KNOWN_FUNCTIONS = frozenset({*base_functions, *FUNCTIONS, *_MACROS, "dyn", "has"})
_KNOWN_VARIABLES = frozenset({
    "bool", "bytes", "double", "google", "int", "list", "map", "null_type", "oldSelf", "self", "sets",
    "string", "type", "uint",
})  # fmt: skip


class Failure(Exception):
    """An expression that cannot be compiled or evaluated; the text says why."""


class Program:
    """A compiled expression. Raises ``Failure`` for one that is none, or that names what does not exist."""

    def __init__(self, text: str) -> None:
        try:
            tree = _ENVIRONMENT.compile(text)
        except CELParseError as error:
            raise Failure(f"Syntax error: {str(error).strip().splitlines()[0]}") from None
        unknown = sorted(_functions(tree) - _KNOWN_FUNCTIONS) or sorted(_variables(tree) - _KNOWN_VARIABLES)
        if unknown:
            raise Failure(f"undeclared reference to '{unknown[0]}' (in container '')")
        self._runner = _ENVIRONMENT.program(tree, functions=FUNCTIONS)

    def evaluate(self, names: dict[str, Any]) -> Any:
        """The value of the expression. Raises ``Failure``."""
        try:
            result = self._runner.evaluate(names)
        except CELEvalError as error:
            raise Failure(_reason(error)) from None
        if isinstance(result, CELEvalError):
            raise Failure(_reason(result))
        return result


def syntax_problem(text: str) -> str | None:
    """Where an expression cannot be parsed, as Kubernetes shows it; None if it can."""
    try:
        _ENVIRONMENT.compile(text)
    except CELParseError as error:
        line, column = error.line or 1, error.column or 1
        lines = text.splitlines() or [""]
        shown = lines[min(line, len(lines)) - 1]
        return f"ERROR: <input>:{line}:{column}: Syntax error\n | {shown}\n | {'.' * (column - 1)}^"
    return None


def _calls(tree: Any) -> list[tuple[str, Any]]:
    """Every call in a syntax tree: the name of what is called, and its arguments."""
    found: list[tuple[str, Any]] = []
    for each in tree.iter_subtrees():
        at = {"ident_arg": 0, "dot_ident_arg": 0, "member_dot_arg": 1}.get(each.data)
        if at is not None:
            arguments = each.children[at + 1] if len(each.children) > at + 1 else None
            found.append((str(each.children[at]), arguments))
    return found


def _functions(tree: Any) -> set[str]:
    return {name for name, _ in _calls(tree)}


def _variables(tree: Any) -> set[str]:
    """The names that an expression takes from outside: not those that its own macros bind."""
    bound: set[str] = set()
    for name, arguments in _calls(tree):
        if name in _MACROS and arguments is not None:
            bound.update(str(each.children[0]) for each in arguments.children[0].find_data("ident"))
    return {str(each.children[0]) for each in tree.find_data("ident")} - bound


def _reason(error: CELEvalError) -> str:
    """The library's text, without the list of every name that it knows."""
    return str(error.args[0]).partition(" (in activation")[0]


@lru_cache(maxsize=4096)
def compiled(text: str) -> Program:
    """The program of an expression, compiled once. Raises ``Failure``."""
    return Program(text)


def activation(value: Any, old: Any, schema: Schema, *, optional: bool) -> dict[str, Any]:
    """The names that a rule sees."""
    names: dict[str, Any] = {"self": converted(value, schema), "sets": SETS}
    before = None if old is None else converted(old, schema)
    if optional:
        names["oldSelf"] = Optional(before)
    elif before is not None:
        names["oldSelf"] = before
    return names


def converted(value: Any, schema: Schema | None) -> Any:
    """Plain data as CEL has it; field names that CEL could not spell are escaped."""
    if isinstance(value, dict):
        named = schema is not None and bool(schema.properties)
        made = celtypes.MapType()
        for name, item in value.items():
            part = schema.part(name) if schema is not None else None
            key = escaped(name) if named else name
            if key is not None:
                made[celtypes.StringType(key)] = converted(item, part)
        return made
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        return celtypes.ListType([converted(item, items) for item in value])
    return _scalar(value, schema)


def _scalar(value: Any, schema: Schema | None) -> Any:
    if schema is not None and isinstance(value, str):
        named = schema.plain.get("format")
        if named in ("date-time", "datetime"):
            return celtypes.TimestampType(value)
        if named == "date":
            return celtypes.TimestampType(f"{value}T00:00:00Z")
        if named == "duration":
            return celtypes.DurationType(value)
    if schema is not None and schema.type == "number" and isinstance(value, int):
        return celtypes.DoubleType(value)
    return json_to_cel(value)


def escaped(name: str) -> str | None:
    """A field's name as rules spell it; None for one that they cannot."""
    if name in _RESERVED:
        return f"__{name}__"
    made = name.replace("__", "__underscores__").replace(".", "__dot__")
    made = made.replace("-", "__dash__").replace("/", "__slash__")
    return made if _IDENTIFIER(made) else None
