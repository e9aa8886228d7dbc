"""Values that expressions of mutating policies create: parts of an object, and JSON patch operations.

    Object{spec: Object.spec{replicas: 3}}
    [JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]

The fields of objects are checked when they are used; that each part is named after its place is checked
with ``misplaced``. Names and meaning: ``k8s.io/apiserver/pkg/cel/mutation``. Loaded by ``environments``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from podling.apiserver.cel.formatting import to_string
from podling.apiserver.cel.functions import add
from podling.apiserver.cel.types import DYN, STRING, Field, Type
from podling.apiserver.cel.values import Made

OBJECT, JSON_PATCH = "Object", "JSONPatch"
JSON_PATCH_TYPE = Type(
    JSON_PATCH,
    fields={
        "op": Field("op", STRING),
        "path": Field("path", STRING),
        "from": Field("from", STRING),
        "value": Field("value", DYN),
    },
)
CONSTRUCTORS = {f"{OBJECT}{{}}": Type(OBJECT), f"{JSON_PATCH}{{}}": JSON_PATCH_TYPE}
"""The functions of an environment that create these, under names that no expression can have."""


def misplaced(value: Any, place: str = OBJECT) -> Iterator[str]:
    """Return the parts of a created object whose type names do not match their fields."""
    if isinstance(value, Made):
        if value.type != place:
            text = f'unexpected type name "{value.type}", expected "{place}"'
            yield f"{text}, which matches field name path from root Object type"
        for name, item in value.items():
            yield from misplaced(item, f"{place}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from misplaced(item, place)
    elif isinstance(value, dict):
        for item in value.values():
            yield from misplaced(item, place)


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | timedelta | Decimal):
        return to_string(value)
    return value


add(
    "jsonpatch.escapeKey",
    "",
    "string",
    "string",
    lambda key: key.replace("~", "~0").replace("/", "~1"),
)
