"""Operations of the fuzzed server, as it publishes them, and its custom resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from tests.support.custom_resources import definition
from tests.support.published_bodies import Schema

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
    """One method of one path; ``resource`` is the common part of all paths to the same objects.

    ``schema``: of the object that a body holds, or changes; ``options``: names and types in the query.
    """

    path: str
    method: str
    resource: str = ""
    schema: Schema | None = None
    options: tuple[tuple[str, str], ...] = ()
    head: tuple[str, str] = ("", "")
    """``apiVersion`` and ``kind`` of that object."""

    @property
    def makes(self) -> bool:
        """Return whether the operation creates objects."""
        return self.method == "POST" and self.path.endswith(self.resource.rpartition("/")[2])


def operations(document: dict[str, Any]) -> list[Operation]:
    """Return every operation that the server publishes, after the non-resource documents."""
    found = [Operation(path, "GET") for path in DOCUMENTS]
    for path, item in document["paths"].items():
        parts = path.strip("/").split("/")
        version, rest = parts[: 2 if parts[0] == "api" else 3], parts[2 if parts[0] == "api" else 3 :]
        plural = rest[2] if rest[0] == "namespaces" and len(rest) > 2 else rest[0]
        for method, operation in item.items():
            # Deleting all definitions would end all custom requests.
            if method != "parameters" and (method, plural, rest[-1]) != ("delete", DEFINED, DEFINED):
                said = (*item.get("parameters", ()), *operation.get("parameters", ()))
                kind = operation["x-kubernetes-group-version-kind"]
                found.append(Operation(
                    path,
                    method.upper(),
                    "/".join((*version, plural)),
                    _schema(item["get" if method == "patch" and "get" in item else method]),
                    tuple((each["name"], each["type"]) for each in said if each["in"] == "query"),
                    ("/".join(filter(None, (kind["group"], kind["version"]))), kind["kind"]),
                ))  # fmt: skip
    return found


def _schema(operation: dict[str, Any]) -> Schema | None:
    """Return the schema of the body, or of the answer where there is no body."""
    bodies = (each["schema"] for each in operation.get("parameters", ()) if each["in"] == "body")
    found: Schema | None = next(bodies, operation["responses"].get("200", {}).get("schema"))
    return found


def definitions() -> list[CustomResourceDefinition]:
    """Return custom resources with every feature of schemas, in several versions, namespaced and not."""
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


def custom_objects() -> list[dict[str, Any]]:
    """Return a valid object of each version of the custom resources."""
    spec = {
        "size": 3,
        "mode": "Slow",
        "items": [{"name": "a", "port": "http", "ratio": 0.5}, {"name": "b", "port": 80}],
        "tags": ["a", "b"],
        "texts": {"a": "b"},
        "free": {"x": [1, {"y": None}]},
        "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
        "choice": {"a": True},
    }
    return [
        {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        for version, kind in (("v1", "Widget"), ("v2beta1", "Widget"), ("v1", "Anything"))
    ]
