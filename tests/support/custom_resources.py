"""Definitions of custom resources to test with, and custom objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition, JSONSchemaProps
from podling.apiserver.customresources.completion import RootSchema
from podling.machinery.encoding import codec

Schema = dict[str, Any]
Define = Callable[..., Awaitable[type[Any]]]


def definition(
    schema: Schema | None = None, *, versions: list[Schema] | None = None, **spec: Any
) -> CustomResourceDefinition:
    """``widgets.example.com`` in one version, ``v1``, unless specified otherwise."""
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]} | spec.pop("names", {})
    one = {"name": "v1", "served": True, "storage": True, **spec.pop("version", {})}
    given = versions or [one]
    root = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for each in given:
        each.setdefault("schema", {"openAPIV3Schema": root})
    plain = {
        "metadata": {"name": f"{names['plural']}.{spec.get('group', 'example.com')}"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": given, **spec},
    }
    return codec.convert(plain, CustomResourceDefinition, "Strict")[0]


def root_schema(schema: Schema) -> RootSchema:
    """Return a schema of whole objects."""
    return RootSchema(codec.convert(schema, JSONSchemaProps)[0])


def widget(kind: type[Any], name: str = "w", **content: Any) -> Any:
    """Return an object of a custom kind in the namespace ``default``, as a client would send it."""
    group, version, named = kind.group_version_kind
    head = {"apiVersion": f"{group}/{version}", "kind": named}
    return codec.convert({**head, "metadata": {"name": name, "namespace": "default"}, **content}, kind)[0]
