"""The entries of managed fields in a fixed order.

A server sorts them by time, in seconds, then by manager. When the server's own loop writes an object between
two writes of the scenario, the order depends on whether a second passed in between.
"""

from __future__ import annotations

import re

BEGIN = re.compile(r'"managedFields\\*": ?\[')


def with_sorted_entries(text: str) -> str:
    """Return a text with the entries of its managed fields sorted, in JSON at any level of quotation."""
    parts, at = [], 0
    while found := BEGIN.search(text, at):
        entries, end = _entries(text, found.end())
        parts += [text[at : found.end()], ",".join(sorted(entries))]
        at = end
    return "".join([*parts, text[at:]])


def _entries(text: str, at: int) -> tuple[list[str], int]:
    """Split the list that begins at a place; braces in the names of fields always come in pairs."""
    entries, begin, depth = [], at, 0
    for place in range(at, len(text)):
        match text[place]:
            case "{" | "[":
                depth += 1
            case "}":
                depth -= 1
            case "," | "]" if depth == 0:
                entries.append(text[begin:place].strip())
                begin = place + 1
                if text[place] == "]":
                    return entries, place
            case "]":
                depth -= 1
    return [text[at:]], len(text)
