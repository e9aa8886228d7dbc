"""The output of ``kubectl describe`` as values that tests compare: sections, and events."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Plain = dict[str, Any]

_FIELD = re.compile(r"(?P<key>[^:]+):(?:\s+(?P<value>.*))?$")
_PLAIN_WORDS = (
    (re.compile(r"\b(oci|sim)://[0-9a-f]{64}"), "<container>"),
    (re.compile(r"\bsha256:[0-9a-f]{64}"), "<image>"),
    (re.compile(r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"\bkube-api-access-\w{5}\b"), "kube-api-access"),
)


def in_plain_words(text: str) -> str:
    """Return the text with names in place of what differs from run to run."""
    for pattern, word in _PLAIN_WORDS:
        text = pattern.sub(word, text)
    return text


def sections(text: str) -> Plain:
    """Return all sections before the events.

    A field with a value of its own and fields below it has the value under ``""``; lines without a name are
    a list.
    """
    before, _, _ = in_plain_words(text).partition("\nEvents:")
    rows = [(len(line) - len(line.lstrip()), line.strip()) for line in before.splitlines() if line.strip()]
    return _node(rows)


def _node(rows: list[tuple[int, str]]) -> Plain:
    found: Plain = {}
    position = 0
    while position < len(rows):
        indent, line = rows[position]
        end = next((at for at in range(position + 1, len(rows)) if rows[at][0] <= indent), len(rows))
        field = _FIELD.match(line)
        key, own = (field["key"], (field["value"] or "").strip()) if field else ("", line)
        found[key] = _value(own, rows[position + 1 : end])
        position = end
    return found


def _value(own: str, below: list[tuple[int, str]]) -> Any:
    if not below:
        return own
    if not any(_FIELD.match(line) for _, line in below):
        return [line for line in (own, *(line for _, line in below)) if line]
    return {**({"": own} if own else {}), **_node(below)}


def events(text: str) -> list[tuple[str, str, str, str]]:
    """Return type, reason, component and message of each event, in the order of the table."""
    _, _, table = text.partition("\nEvents:")
    rows = (re.split(r"\s{2,}", line.strip(), maxsplit=4) for line in table.splitlines()[3:])
    return [(kind, reason, source, message) for kind, reason, _, source, message in rows]


def reasons(of: Iterable[tuple[str, str, str, str]], component: str) -> list[str]:
    """Return the reasons of one component's events."""
    return [reason for _, reason, source, _ in of if source == component]
