"""ConfigMaps: keys are valid file names, the size is at most one MiB, and immutability is optional.

Upstream: ``ValidateConfigMap`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import ConfigMap
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

MAX_SIZE = 1024 * 1024
"""The maximum total size of all values in bytes, for ConfigMaps and Secrets."""

_FROZEN = "field is immutable when `immutable` is set"


def decoded_size(base64_text: str) -> int:
    """Return the number of bytes that a padded base64 text encodes."""
    padding = len(base64_text) - len(base64_text.rstrip("="))
    return len(base64_text) // 4 * 3 - padding


def key_errors(path: Path, data: Mapping[str, str]) -> Errors:
    errors: Errors = []
    for key in data:
        errors += fields.invalid_each(path.key(key), key, names.config_map_key_errors(key))
    return errors


def immutable_data_errors(new: Any, old: Any, attributes: Mapping[str, str]) -> Errors:
    """Return errors for changes of an immutable object's data, or of its immutability.

    ``attributes`` maps the Python name of each data field to its JSON name.
    """
    if not old.immutable:
        return []
    errors = [] if new.immutable else [fields.forbidden(Path("immutable"), _FROZEN)]
    return errors + [
        fields.forbidden(Path(name), _FROZEN)
        for attribute, name in attributes.items()
        if getattr(new, attribute) != getattr(old, attribute)
    ]


class ConfigMapRules(KindRules[ConfigMap]):
    columns = (
        NAME,
        Column("Data", description="How many keys there are"),
        AGE,
    )

    def validate(self, obj: ConfigMap, context: Context) -> Errors:
        errors = key_errors(Path("data"), obj.data)
        errors += [
            fields.invalid(Path("data").key(key), key, "duplicate of key present in binaryData")
            for key in obj.data
            if key in obj.binary_data
        ]
        errors += key_errors(Path("binaryData"), obj.binary_data)
        size = sum(len(value.encode()) for value in obj.data.values())
        size += sum(map(decoded_size, obj.binary_data.values()))
        return errors + (
            [checks.error_of_whole_object(fields.too_long(Path(), MAX_SIZE))] if size > MAX_SIZE else []
        )

    def validate_update(self, new: ConfigMap, old: ConfigMap, context: Context) -> Errors:
        frozen = immutable_data_errors(new, old, {"data": "data", "binary_data": "binaryData"})
        return frozen + self.validate(new, context)

    def row(self, obj: ConfigMap, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, len(obj.data) + len(obj.binary_data), age(obj, now)
