"""Plain words: text of docstrings, comments, test names and pages, and the words that do not belong there."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

RELATIVE = re.compile(r"(What|Who|Whom|Whose|Whether|Where|Which|How|That|Whoever|Whatever|Wherever)\b")
"""The beginning of a relative clause, where a verb (functions) or a noun (classes, modules) belongs."""

BANNED = {
    r"whoever|whomever|someone|somebody|anyone|anybody": "name the component: the client, the caller",
    r"nobody|everybody": "name the component: no client, every watcher",
    r"whatever|whichever": "name it, or write 'any'",
    r"told|tells?|telling": "reports, states, notifies, logs, distinguishes",
    r"asked|asks?|asking": "requests, calls, reads, queries",
    r"speaks?|spoke|spoken|speaking": "uses (a protocol), is connected to",
    r"rooms?": "package, capacity, free space",
    r"doors?": "entry point, protocol, interface",
    r"furniture|patience|dearest|goes its way|ailing|unsound|kin": "say it without the metaphor",
    r"namesakes?": "a new object of the same name",
    r"dies?|died|born|dying": "ends, exits, starts, is deleted",
    r"believes?|believed|believing": "trusts, assumes, accepts",
    r"hears?|heard|hearing": "receives, is notified",
    r"troubles?|troubled": "error, failure, load",
}
"""Each pattern of whole words, and what to write in its place."""

_WORDS = {
    re.compile(rf"(?<![\w`-])({pattern})(?![\w`-])", re.IGNORECASE): say for pattern, say in BANNED.items()
}
_QUOTED = re.compile(r"``[^`]*``|`[^`]*`|\"[^\"\n]*\"")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Finding:
    """A place whose words should change: a line counted from one, the text found, and the advice."""

    line: int
    text: str
    advice: str


@lru_cache(maxsize=1)
def _parsed(source: str) -> ast.Module:
    """Return the tree of a module, which several checks in succession look at."""
    return ast.parse(source)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of every docstring, those below attributes included."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    yield child.lineno, text
                case ast.stmt() | ast.ExceptHandler() | ast.match_case():
                    pending.append(child)


@lru_cache(maxsize=1)
def comments(source: str) -> tuple[tuple[int, str], ...]:
    """Return line and text of every comment, without its mark."""
    if "#" not in source:
        return ()
    return tuple(
        (token.start[0], token.string.lstrip("#! "))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    )


def relative_clauses(source: str) -> list[Finding]:
    """Return the docstrings and comments of a module that begin with a relative clause.

    A comment line continues the one above it when that is a comment, too; only its first line counts.
    """
    found = [
        Finding(line, text.strip().split("\n")[0], "begin with a verb (functions) or a noun")
        for line, text in docstrings(_parsed(source))
        if RELATIVE.match(text.strip())
    ]
    before = -1
    for line, text in comments(source):
        if RELATIVE.match(text) and line != before + 1:
            found.append(Finding(line, text, "begin with a verb or a noun"))
        before = line
    return found


def banned_words(text: str, line: int = 1) -> list[Finding]:
    """Return the banned words in prose. Quotations and code in backticks are left out."""
    plain = _QUOTED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return [
        Finding(line + plain.count("\n", 0, match.start()), match[0], advice)
        for pattern, advice in _WORDS.items()
        for match in pattern.finditer(plain)
    ]


def banned_in_module(source: str) -> list[Finding]:
    """Return the banned words in the docstrings and comments of a module."""
    texts = [*docstrings(_parsed(source)), *comments(source)]
    return [finding for line, text in texts for finding in banned_words(text, line)]


def banned_in_page(text: str) -> list[Finding]:
    """Return the banned words of a page. Its fenced code is left out."""
    return banned_words(_FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text))


def unclear_test_names(source: str) -> list[Finding]:
    """Return the tests whose names do not state subject and behaviour.

    A name has at least three words after ``test``, begins with no relative pronoun, and has no banned word.
    """
    found = []
    for node in ast.walk(_parsed(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
            continue
        words = node.name.removeprefix("test_").replace("_", " ")
        if len(words.split()) < 3:
            found.append(Finding(node.lineno, node.name, "state subject and behaviour"))
        elif RELATIVE.match(words.capitalize()) or banned_words(words):
            found.append(Finding(node.lineno, node.name, "state subject and behaviour in plain words"))
    return found
