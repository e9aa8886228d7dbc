"""Collects unrecognised ``format`` values of a definition; they are not enforced. Pure.

Upstream: ``apiextensions-apiserver/pkg/apiserver/validation/formats.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.customresources.structural import Schema
from podling.machinery import formats
from podling.machinery.encoding import codec


def unknown_formats(definition: CustomResourceDefinition) -> list[str]:
    """In the order of the versions; what all of them have alike once."""
    schemas = [each.schema.open_apiv3_schema for each in definition.spec.versions if each.schema is not None]
    alike = schemas[:1] if all(each == schemas[0] for each in schemas) else schemas
    plain = [codec.to_plain(each) for each in alike if each is not None]
    return [found for each in plain for found in _unknown(Schema(each))]


def _unknown(schema: Schema) -> Iterator[str]:
    named = schema.plain.get("format")
    if named and schema.type == "string" and not formats.is_known(named):
        yield named
    for each in (schema.items, schema.values, *schema.properties.values()):
        if each is not None:
            yield from _unknown(each)
