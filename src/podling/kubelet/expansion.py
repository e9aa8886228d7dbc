"""``$(NAME)`` in environment values, commands and arguments. Pure.

A known name is replaced by its value, an unknown one is left as written, and ``$$`` stands for one ``$``, so
``$$(NAME)`` is a literal ``$(NAME)`` (``third_party/forked/golang/expansion``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SYNTAX = re.compile(r"\$(?:\$|\(([^)]*)\))", re.DOTALL)


def expand(text: str, *maps: Mapping[str, str]) -> str:
    """Return ``text`` with every known name replaced; the first map that has a name wins."""
    if "$" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "$"
        for values in maps:
            if name in values:
                return values[name]
        return match[0]

    return _SYNTAX.sub(value, text)


def unresolved(text: str, *maps: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names in ``text`` that no map has, in order."""
    names = [match[1] for match in _SYNTAX.finditer(text) if match[1] is not None]
    return tuple(name for name in names if not any(name in values for values in maps))
