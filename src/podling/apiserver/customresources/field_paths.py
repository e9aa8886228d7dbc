"""The ``fieldPath`` of a rule: ``.spec.replicas``, ``['foo.bar'].x``. Pure.

Upstream: ``ValidFieldPath`` in ``apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from podling.apiserver.customresources.structural import Schema
from podling.machinery.fields import Path

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'?|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SIMPLE = dict(zip("abfnrtv'\\", "\a\b\f\n\r\t\v'\\", strict=True))


def resolved(text: str, schema: Schema) -> Path:
    """The path that ``text`` means below values of ``schema``. Raises ``ValueError`` if there can be none."""
    return resolved_schema(text, schema)[0]


def resolved_schema(text: str, schema: Schema, *, brackets: bool = True) -> tuple[Path, Schema]:
    """Return the path, and the schema at it. Raises ``ValueError`` if there can be none.

    ``brackets``: whether names may stand in brackets.
    """
    path, tokens = Path(), iter(_TOKEN.findall(text))
    for token in tokens:
        if token not in (".", "["):
            raise ValueError(f"expected [ or . but got: {token}")
        if token == "[" and not brackets:
            raise ValueError("array notation is not allowed")
        name = _next(tokens)
        if token == "[":
            name = _unquoted(name)
        if schema.properties:
            found, path = schema.properties.get(name), path.child(name)
        else:
            found, path = schema.values, path.key(name)
        if found is None:
            raise ValueError("does not refer to a valid field")
        schema = found
        if token == "[" and (end := _next(tokens)) != "]":
            raise ValueError(f"expected ] but got {end}")
    return path, schema


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise ValueError("unexpected end of JSON path")
    return token


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise ValueError(f"expected single quoted string but got {token}")

    def plain(match: re.Match[str]) -> str:
        if match.group(1) not in _SIMPLE:
            raise ValueError(f"invalid string literal: invalid escape char {match.group()}")
        return _SIMPLE[match.group(1)]

    return _ESCAPE.sub(plain, token[1:-1])
