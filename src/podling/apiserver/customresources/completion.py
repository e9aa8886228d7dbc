"""Completion: what a schema does to the content of an object before anything else looks at it.

Fields that the schema does not have are dropped (pruning), then nulls where no null may be, then missing
fields get their defaults. The same happens to what clients send and to what the store holds, so an object
follows its definition as that is now.

Upstream: ``apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting}`` and
``pkg/apiserver/customresource_handler.go``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from podling.api.apiextensions_v1 import JSONSchemaProps
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.customresources.structural import PRESERVE, Default, Schema
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import HEAD
from podling.machinery.encoding.plain import copied
from podling.machinery.encoding.shapes import Shape, fields_of
from podling.machinery.errors import storage_too_large
from podling.store.base import VALUE_BYTES_MAX


def pruned(
    value: Any, schema: Schema | None, dropped: list[str], path: str = "", *, root: bool = False
) -> Any:
    """Return ``value`` without unknown fields; ``dropped`` receives their paths.

    ``root``: the value is an API object, whose type and metadata are kept with any schema.
    """
    if isinstance(value, dict):
        return {
            name: item
            for name, item in (
                (
                    name,
                    _pruned_field(name, item, schema, dropped, f"{path}.{name}" if path else name, root=root),
                )
                for name, item in value.items()
            )
            if item is not _GONE
        }
    if isinstance(value, list):
        items = None if schema is None else schema.items
        if schema is not None and schema.preserves:
            if items is None:
                return value
            items = replace(items, plain={**items.plain, PRESERVE: True})
        return [
            pruned(item, items, dropped, f"{path}[{index}]", root=items is not None and items.embedded)
            for index, item in enumerate(value)
        ]
    return value


_GONE: Any = object()


def _pruned_field(
    name: str, item: Any, schema: Schema | None, dropped: list[str], path: str, *, root: bool
) -> Any:
    if root and name in HEAD:
        embedded = path != name and name == "metadata" and isinstance(item, dict)
        return _pruned_metadata(item, dropped, path) if embedded else item
    if schema is not None:
        part = schema.properties.get(name)
        if part is None and (schema.values is not None or schema.any_values):
            part = schema.values
        elif part is None and schema.preserves:
            return item
        elif part is None:
            dropped.append(path)
            return _GONE
        return pruned(item, part, dropped, path, root=part is not None and part.embedded)
    dropped.append(path)
    return _GONE


def _pruned_metadata(item: dict[str, Any], dropped: list[str], path: str) -> dict[str, Any]:
    """Return the metadata of an object inside of another, which no schema can widen."""
    known = fields_of(ObjectMeta)
    dropped += [f"{path}.{name}" for name in item if name not in known]
    return {name: value for name, value in item.items() if name in known}


def without_nulls(value: Any, schema: Schema | None) -> None:
    """Remove from ``value``, in place, the nulls of maps that may not be null and have no default."""
    if schema is None:
        return
    if isinstance(value, dict):
        for name in list(value):
            part = schema.part(name)
            if part is None:
                continue
            if value[name] is not None:
                without_nulls(value[name], part)
            elif not part.nullable and part.default is None:
                del value[name]
    elif isinstance(value, list):
        for item in value:
            without_nulls(item, schema.items)


class _Defaulting:
    """Puts defaults into one object. What they add is bounded: more could not be stored anyway."""

    def __init__(self) -> None:
        self._left = VALUE_BYTES_MAX

    def fill(self, value: Any, schema: Schema) -> None:
        """Default ``value`` in place. Raises the storage's error when the defaults become too large."""
        if isinstance(value, dict):
            for name, default in schema.defaults:
                if name not in value or (value[name] is None and not default.nullable):
                    value[name] = self._copied(default, len(name))
            for name, item in value.items():
                part = schema.properties.get(name)
                if part is None:
                    part = schema.values
                    value[name] = item = self._instead_of_null(item, part)
                if part is not None:
                    self.fill(item, part)
        elif isinstance(value, list) and schema.items is not None:
            for index, item in enumerate(value):
                value[index] = self._instead_of_null(item, schema.items)
                self.fill(value[index], schema.items)

    def _instead_of_null(self, value: Any, schema: Schema | None) -> Any:
        if value is None and schema is not None and schema.default is not None and not schema.nullable:
            return self._copied(schema.default, 0)
        return value

    def _copied(self, default: Default, key_size: int) -> Any:
        self._left -= key_size + default.size
        if self._left < 0:
            raise storage_too_large()
        return copied(default.value)


def defaulted(value: Any, schema: Schema) -> Any:
    """Return ``value``, which must be the caller's own, with the defaults of what is not there.

    Raises ``ApiError`` when the defaults become larger than any object may be.
    """
    _Defaulting().fill(value, schema)
    return value


@dataclass(frozen=True, eq=False)
class RootSchema:
    """The schema of whole objects: ``machinery.encoding.custom.ObjectSchema``.

    ``described``: the schema as a definition has it; None knows no fields.
    """

    described: JSONSchemaProps | None

    @cached_property
    def root(self) -> Schema:
        """The schema to walk. It is made for the first object: a definition may never have one."""
        return Schema({} if self.described is None else codec.to_plain(self.described))

    @property
    def shape(self) -> Shape:
        return self.root.shape

    def unknown_fields(self, plain: dict[str, Any]) -> list[str]:
        dropped: list[str] = []
        pruned(plain, self.root, dropped, root=True)
        return dropped

    def pruned(self, content: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = copied(pruned(content, self.root, [], root=True))
        without_nulls(kept, self.root)
        for name in HEAD:
            kept.pop(name, None)
        return kept

    def completed(self, content: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = defaulted(self.pruned(content), self.root)
        for name in HEAD:
            kept.pop(name, None)
        return kept
