"""CEL's functions on texts: the extension ``strings`` (version 2) and Kubernetes' ``regex``.

Source: ``google/cel-go/ext/strings.go`` and ``k8s.io/apiserver/pkg/cel/library/regex.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from podling.apiserver.cel.formatting import formatted
from podling.apiserver.cel.functions import Function, add
from podling.apiserver.cel.patterns import pattern

if TYPE_CHECKING:
    import re2

_ESCAPES = str.maketrans({
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    "\\": r"\\", '"': r"\"",
})  # fmt: skip


def _out_of_range(at: int) -> IndexError:
    return IndexError(f"index out of range: {at}")


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if end is not None and start > last:
        raise IndexError(f"invalid substring range. start: {start}, end: {last}")
    for at in (start, last):
        if not 0 <= at <= len(text):
            raise _out_of_range(at)
    return text[start:last]


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index(text: str, what: str, start: int = 0) -> int:
    if not what:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(what, start)


def _last_index(text: str, what: str, start: int | None = None) -> int:
    if not what:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(what)
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else text.rfind(what, 0, start + len(what))


def _ascii(change: Callable[[str], str]) -> Function:
    return lambda text: "".join(change(each) if each.isascii() else each for each in text)


def _split(text: str, by: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if by:
        return text.split(by, limit - 1 if limit > 0 else -1)
    if 0 < limit < len(text):
        return [*text[: limit - 1], text[limit - 1 :]]
    return list(text)


def _matches(text: str, expression: str) -> bool:
    return pattern(expression).search(text) is not None


def _illegal(find: Function) -> Function:
    def run(text: str, expression: str, *more: int) -> object:
        try:
            compiled = pattern(expression)
        except ValueError as error:
            raise ValueError(f"Illegal regex: {error}") from None
        return find(text, compiled, *more)

    return run


def _find(text: str, compiled: re2._Regexp) -> str:
    found = compiled.search(text)
    return found.group(0) if found else ""


def _find_all(text: str, compiled: re2._Regexp, limit: int = -1) -> list[str]:
    """As Go finds them: nothing at all right behind a match is no match."""
    found: list[str] = []
    ended = -1
    for match in compiled.finditer(text):
        if match.start() != match.end() or match.start() != ended:
            found.append(match.group(0))
        ended = match.end()
    return found if limit < 0 else found[:limit]


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _add_texts() -> None:
    for name, run in (
        ("contains", lambda a, b: b in a),
        ("startsWith", str.startswith),
        ("endsWith", str.endswith),
    ):
        add(name, "string", "string", "bool", run)
    add("matches", "string", "string", "bool", _matches)
    add("matches", "", "string string", "bool", _matches)
    add("find", "string", "string", "string", _illegal(_find))
    add("findAll", "string", "string", "list(string)", _illegal(_find_all))
    add("findAll", "string", "string int", "list(string)", _illegal(_find_all))
    add("charAt", "string", "int", "string", _char_at)
    for name, search in (("indexOf", _index), ("lastIndexOf", _last_index)):
        add(name, "string", "string", "int", search)
        add(name, "string", "string int", "int", search)
    add("lowerAscii", "string", "", "string", _ascii(str.lower))
    add("upperAscii", "string", "", "string", _ascii(str.upper))
    add("replace", "string", "string string", "string", str.replace)
    add("replace", "string", "string string int", "string", str.replace)
    add("split", "string", "string", "list(string)", _split)
    add("split", "string", "string int", "list(string)", _split)
    add("substring", "string", "int", "string", _substring)
    add("substring", "string", "int int", "string", _substring)
    add("trim", "string", "", "string", str.strip)
    add("join", "list(string)", "", "string", "".join)
    add("join", "list(string)", "string", "string", lambda items, by: by.join(items))
    add("format", "string", "list(dyn)", "string", formatted)
    add("strings.quote", "", "string", "string", _quoted)


_add_texts()
