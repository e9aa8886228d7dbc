"""What the fuzzed server serves, as it publishes it, and the custom resources that are defined in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.machinery.scheme import by_path
from tests.support.custom_resources import definition

GROUP = "fuzz.example.com"
DOCUMENTS = (
    "/",
    "/api",
    "/apis/apps",
    "/version",
    "/readyz",
    "/nowhere",
    "/apis/fuzz.example.com",
    "/openapi/v3",
)
DEFINED = "customresourcedefinitions"


@dataclass(frozen=True, slots=True)
class Operation:
    """``kind`` is that of a built-in resource, ``schema`` what is published of the body of any other."""

    path: str
    method: str
    kind: type[Any] | None
    schema: dict[str, Any] | None = None


def operations(document: dict[str, Any]) -> list[Operation]:
    """Every operation that the server publishes, and the documents beside them."""
    found = [Operation(path, "GET", None) for path in DOCUMENTS]
    for path, item in document["paths"].items():
        parts = path.strip("/").split("/")
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        rest = parts[2 if parts[0] == "api" else 3 :]
        plural = rest[2] if rest[0] == "namespaces" and len(rest) > 2 else rest[0]
        resource = by_path(group, version, plural)
        for method, operation in item.items():
            # The end of all definitions would be that of all custom requests.
            if method != "parameters" and (method, plural, rest[-1]) != ("delete", DEFINED, DEFINED):
                said = (each["schema"] for each in operation.get("parameters", ()) if each["in"] == "body")
                kind = resource.type if resource else None
                found.append(Operation(path, method.upper(), kind, next(said, None)))
    return found


def definitions() -> list[CustomResourceDefinition]:
    """Custom resources with all that a schema may say, in several versions, in and out of namespaces."""
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 5},
            "port": {"x-kubernetes-int-or-string": True},
            "when": {"type": "string", "format": "date-time", "nullable": True},
            "ratio": {"type": "number", "minimum": 0, "maximum": 1},
        },
    }
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "default": 1, "minimum": 0, "maximum": 80},
            "mode": {"type": "string", "enum": ["Fast", "Slow"], "default": "Fast"},
            "items": {
                "type": "array",
                "maxItems": 5,
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "texts": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[a-z]*$"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "pod": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "choice": {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}}},
        },
        "x-kubernetes-validations": [
            {"rule": "self.size < 70 || self.mode == 'Slow'", "message": "too fast"},
            {"rule": "!has(oldSelf.mode) || self.mode == oldSelf.mode", "message": "mode stays"},
        ],
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    head = {"served": True, "schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": [column]}
    both = {"subresources": {"status": {}, "scale": scale}}
    selectable = {"selectableFields": [{"jsonPath": ".spec.mode"}]}
    return [
        definition(versions=[
            {"name": "v1", "storage": True, **head, **both, **selectable},
            {"name": "v2beta1", "storage": False, "deprecated": True, **head},
        ], group=GROUP),
        definition(
            group=GROUP, scope="Cluster", names={"plural": "anythings", "kind": "Anything", "shortNames": []}
        ),
    ]  # fmt: skip
