"""Conversion of plain JSON data to CEL values by the types of a schema."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from podling.apiserver.cel.functions import long_duration, timestamp
from podling.apiserver.cel.types import Type

Read = Callable[[Any], Any]


def reader(type_: Type) -> Read | None:
    """Return the conversion of plain data to a value of this type; None if they are the same.

    The conversion may raise ``ValueError``. It is idempotent.
    """
    if type_.name in ("list", "map"):
        within = reader(type_.inner[-1])
        if within is None:
            return None
        return _items(within) if type_.name == "list" else _entries(within)
    return _READERS.get(type_.name)


def _items(within: Read) -> Read:
    return lambda value: list(map(within, value)) if isinstance(value, list) else value


def _entries(within: Read) -> Read:
    return lambda value: (
        {key: within(each) for key, each in value.items()} if isinstance(value, dict) else value
    )


_READERS: dict[str, Read] = {
    "timestamp": lambda value: timestamp(value) if isinstance(value, str) else value,
    "duration": lambda value: long_duration(value) if isinstance(value, str) else value,
    "bytes": lambda value: base64.b64decode(value) if isinstance(value, str) else value,
    "double": lambda value: float(value) if type(value) is int else value,
}
