"""Custom kinds with a large schema and rules that cost the server much, and objects of them."""

from __future__ import annotations

import json
from typing import Any

GROUP = "abuse.example"
PROPERTIES = 400
ITEMS = 100
PARTS = 60
RULES = (
    "self.items.all(x, self.items.exists(y, y.name == x.name))",
    "self.items.all(x, self.items.all(y, x.name != y.name || x.size == y.size))",
    "self.items.map(x, x.size).sum() >= 0",
)


def large_definition(plural: str, version: int) -> dict[str, Any]:
    """Return a CustomResourceDefinition whose schema has many properties, and rules about pairs of items."""
    item = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 16, "pattern": "^[a-z0-9-]+$"},
            "size": {"type": "integer", "minimum": 0},
            "parts": {
                "type": "array",
                "maxItems": PARTS,
                "items": {"type": "string", "maxLength": 64, "pattern": "^[a-z0-9.-]+$"},
            },
        },
    }
    spec = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "maxItems": ITEMS, "items": item},
            **{f"field{number:03}": _field(number, version) for number in range(PROPERTIES)},
        },
        "x-kubernetes-validations": [{"rule": rule} for rule in RULES],
    }
    kind = plural.capitalize().removesuffix("s")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": plural.removesuffix("s"),
                "kind": kind,
                "listKind": f"{kind}List",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }


def _field(number: int, version: int) -> dict[str, Any]:
    names = {
        "type": "string",
        "maxLength": 200,
        "description": f"Property {number} in its version {version}. " + "Its purpose is its size. " * 8,
    }
    return {
        "type": "object",
        "properties": {f"p{inner}": names for inner in range(4)},
        "x-kubernetes-validations": [{"rule": "!has(self.p0) || !has(self.p1) || self.p0 != self.p1"}],
    }


def widget(name: str, variant: int) -> bytes:
    """Return an object that fills the schema's limits: about 450 kB."""
    items = [
        {
            "name": f"i{number}-{variant}",
            "size": number,
            "parts": [f"part-{number}-{part}-" + "x" * 44 for part in range(PARTS)],
        }
        for number in range(ITEMS)
    ]
    fields = {
        f"field{number:03}": {"p0": f"a{variant}", "p1": f"b{variant}", "p2": "x" * 60}
        for number in range(PROPERTIES)
    }
    return json.dumps(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Widget",
            "metadata": {"name": name},
            "spec": {"items": items, **fields},
        }
    ).encode()
