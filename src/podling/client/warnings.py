"""Warnings of the API server, from the ``Warning`` headers of its responses.

Upstream: ``k8s.io/apimachinery/pkg/util/net`` (``ParseWarningHeaders``), ``client-go/rest/warnings.go``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

WarningHandler = Callable[[str], object]
"""Called with the text of each warning."""

CODE = "299"
"""The only code that Kubernetes uses: a persistent warning of any kind."""

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_warning = re.compile(rf'(\d{{3}})\s+(\S+)\s+{_QUOTED}(?:\s+"[^"]*")?\s*(?:,\s*|$)').match
_escape = re.compile(r"\\(.)")


def parse_warnings(values: Iterable[str]) -> list[str]:
    """Return the texts of the warnings in header values; what is malformed ends its value."""
    found = []
    for value in values:
        position = 0
        while (match := _warning(value.strip(), position)) is not None:
            code, _, text = match.groups()
            if code == CODE and text:
                found.append(_escape.sub(r"\1", text))
            position = match.end()
    return found
