"""Differences between two objects, for messages about forbidden changes."""

from __future__ import annotations

import json
from typing import Any

from podling.machinery.encoding import codec


def describe(old: Any, new: Any) -> str:
    """Return lines ``- path: old`` and ``+ path: new`` for each differing field, as deep as possible."""
    lines: list[str] = []
    _walk("", codec.to_plain(old), codec.to_plain(new), lines)
    return "\n".join(lines)


def _walk(path: str, old: Any, new: Any, lines: list[str]) -> None:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            _walk(f"{path}.{key}" if path else key, old.get(key), new.get(key), lines)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple) and len(old) == len(new):
        for position, (before, after) in enumerate(zip(old, new, strict=True)):
            _walk(f"{path}[{position}]", before, after, lines)
    else:
        lines += [f"- {path}: {_text(old)}"] if old is not None else []
        lines += [f"+ {path}: {_text(new)}"] if new is not None else []


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
