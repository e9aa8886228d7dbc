"""``fieldsV1`` of managed fields, which objects hold as JSON: few look into it, and it can be half an object.

Plain data has it as plain data. Typed objects have its compact JSON with sorted keys, so that equal trees are
equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode
FIELDS = "fieldsV1"


def raw_json(plain: Any) -> msgspec.Raw:
    """Return plain data as compact JSON."""
    return msgspec.Raw(_encode(plain))


def with_raw_fields(plain: Any) -> Any:
    """Return the plain data of an object with its managed fields as the types hold them."""
    metadata = plain.get("metadata") if isinstance(plain, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(entries := metadata.get("managedFields"), list):
        return plain
    return {**plain, "metadata": {**metadata, "managedFields": raw_entries(entries)}}


def raw_entries(entries: list[Any]) -> list[Any]:
    """Return the plain data of managed fields as the types hold it."""
    return [
        {**each, FIELDS: raw_json(each[FIELDS])}
        if isinstance(each, dict) and isinstance(each.get(FIELDS), dict)
        else each
        for each in entries
    ]
