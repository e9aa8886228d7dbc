"""CEL expressions in objects: that they can be parsed, and are there.

What an expression refers to is not checked: which names exist depends on where it is evaluated.
"""

from __future__ import annotations

import re

from podling.apiserver.kinds.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import Path

_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip


def expression_errors(path: Path, text: str) -> Errors:
    """``text`` is not blank (the caller says what a missing one means)."""
    from podling.apiserver.cel.programs import syntax_problem  # loads the library

    problem = syntax_problem(text)
    return [fields.invalid(path, text, f"compilation failed: {problem}")] if problem else []


def is_identifier(name: str) -> bool:
    return bool(_IDENTIFIER(name)) and name not in _RESERVED
