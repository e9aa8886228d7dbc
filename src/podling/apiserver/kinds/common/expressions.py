"""Validation of CEL expressions in objects: they can be parsed and compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import Path

if TYPE_CHECKING:
    from podling.apiserver.cel.types import Type

_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip


def expression_errors(path: Path, text: str) -> Errors:
    """Return the parse errors of ``text``, which is not blank: the caller reports a missing expression."""
    from podling.apiserver.cel.programs import syntax_problem  # deferred: imports the CEL library

    problem = syntax_problem(text)
    return [fields.invalid(path, text, f"compilation failed: {problem}")] if problem else []


def typed_expression_errors(
    path: Path, text: str, names: Mapping[str, Type], results: Sequence[str] = ()
) -> Errors:
    """Return the compile errors of ``text``, whose result must be one of the types ``results``."""
    from podling.apiserver.cel.programs import NotCompiled, Program

    try:
        made = str(Program(text, names).type).replace("null", "null_type")
    except NotCompiled as problem:
        return [fields.invalid(path, text, problem.said)]
    if not results or made in results:
        return []
    strict = [each for each in results if "dyn" not in each]
    shown = strict[0] if len(strict) == 1 else f"one of [{' '.join(strict)}]"
    return [fields.invalid(path, text, f"must evaluate to {shown}")]


def is_identifier(name: str) -> bool:
    return bool(_IDENTIFIER(name)) and name not in _RESERVED
