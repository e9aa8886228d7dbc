"""OpenAPI documents of the API, made from the types: v3 per group and version, v2 for everything.

kubectl reads them to explain fields, to see which query parameters the server knows
(``fieldValidation``, ``dryRun``) and how lists of kinds it was not built with merge. The structure
comes from the struct types, the texts from ``api/descriptions.json``; each fact stands once. Documents are
built at the first request and kept: the API never changes while it runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from podling.api import meta_v1
from podling.machinery import scheme, served
from podling.machinery.encoding import shapes
from podling.machinery.encoding.shapes import Kind, Shape, fields_of
from podling.machinery.openapi import openapi_enums, openapi_paths

RELEASE = "v1.36.0"
TITLE = "Kubernetes"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
TIME = f"{META}.Time"
MICRO_TIME = f"{META}.MicroTime"
V3_REFERENCE = "#/components/schemas/"
V2_REFERENCE = "#/definitions/"

_MADE_BY = (__name__, openapi_enums.__name__, openapi_paths.__name__, served.__name__, shapes.__name__)
"""The modules whose code decides what a document says, beside the types."""

_V3_SCALARS: dict[str, dict[str, Any]] = {
    QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    TIME: {"type": "string", "format": "date-time"},
    MICRO_TIME: {"type": "string", "format": "date-time"},
}
_V2_SCALARS: dict[str, dict[str, Any]] = {
    **_V3_SCALARS,
    QUANTITY: {"type": "string"},
    INT_OR_STRING: {"type": "string", "format": "int-or-string"},
}


@cache
def _descriptions() -> Mapping[str, Mapping[str, str]]:
    from importlib import resources

    text = (resources.files("podling.api") / "descriptions.json").read_bytes()
    found: Mapping[str, Mapping[str, str]] = msgspec.json.decode(text)
    return found


@cache
def _definition_names() -> Mapping[tuple[str, str], str]:
    """(module, struct) to the full name of a definition; the first by alphabet wins."""
    names: dict[tuple[str, str], str] = {}
    for definition in _descriptions():
        *_, group, version, name = definition.split(".")
        if definition.startswith("io.k8s.apimachinery"):
            group, version = "meta", "v1"
        names.setdefault((f"podling.api.{group}_{version}", name), definition)
    return names


def definition_name(struct: type[Any]) -> str:
    """``io.k8s.api.core.v1.Pod``."""
    return _definition_names()[struct.__module__, struct.__name__]


def description(struct: type[Any], field: str) -> str:
    """Return the description of a field; empty for none."""
    return _descriptions()[definition_name(struct)].get(field, "")


class Schemas:
    """The definitions of one document: a request for a type returns a reference, and adds its parts."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.prefix = V3_REFERENCE if version == 3 else V2_REFERENCE
        self.definitions: dict[str, dict[str, Any]] = {}

    def reference(self, struct: type[Any]) -> dict[str, Any]:
        """``{"$ref": ...}`` to a struct, which becomes part of the document."""
        name = definition_name(struct)
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] = self._struct(name, struct)
        return {"$ref": self.prefix + name}

    def _struct(self, name: str, struct: type[Any]) -> dict[str, Any]:
        texts = _descriptions()[name]
        schema: dict[str, Any] = {}
        if texts.get(""):
            schema["description"] = texts[""]
        schema["type"] = "object"
        values = openapi_enums.enums().get(name, {})
        if properties := {
            field: self._property(shape, texts.get(field, ""), struct, values.get(field, ()))
            for field, shape in fields_of(struct).items()
        }:
            schema["properties"] = properties
        if required := getattr(struct, "required_fields", ()):
            schema["required"] = list(required)
        if getattr(struct, "atomic_struct", False):
            schema["x-kubernetes-map-type"] = "atomic"
        if kind := getattr(struct, "group_version_kind", None):
            schema["x-kubernetes-group-version-kind"] = [openapi_paths.kind_mark(*kind)]
        return schema

    def _property(
        self, shape: Shape, description: str, owner: type[Any], values: Sequence[str] = ()
    ) -> dict[str, Any]:
        schema = self._value(shape, owner)
        if "$ref" in schema and self.version == 3:
            # In OpenAPI 3.0 nothing may stand beside a reference, so it is wrapped.
            schema = {"allOf": [schema]}
        if values:
            description += openapi_enums.enum_text(values)
            schema = {**schema, "enum": list(values)}
        if description:
            schema = {"description": description, **schema}
        schema.update(_merge_marks(shape))
        return schema

    def _value(self, shape: Shape, owner: type[Any]) -> dict[str, Any]:
        match shape.kind:
            case Kind.STRUCT if shape.struct:
                return self.reference(shape.struct)
            case Kind.LIST if shape.element:
                return {"type": "array", "items": self._inner(shape.element, owner)}
            case Kind.MAP if shape.element and shape.element.kind is not Kind.ANY:
                return {"type": "object", "additionalProperties": self._inner(shape.element, owner)}
            case Kind.MAP:
                return {"type": "object"}
            case Kind.ANY:
                # Raw extensions are objects; the JSON inside of a schema may be anything.
                return {} if owner.__module__.endswith(".apiextensions_v1") else {"type": "object"}
            case _:
                return self._scalar(shape)

    def _inner(self, shape: Shape, owner: type[Any]) -> dict[str, Any]:
        schema = self._value(shape, owner)
        return {"allOf": [schema], "default": {}} if "$ref" in schema and self.version == 3 else schema

    def _scalar(self, shape: Shape) -> dict[str, Any]:
        match shape.kind:
            case Kind.QUANTITY:
                return self._named(QUANTITY)
            case Kind.INT_OR_STRING:
                return self._named(INT_OR_STRING)
            case Kind.TIME:
                return self._named(MICRO_TIME if shape.micro else TIME)
            case Kind.INTEGER:
                return {"type": "integer", "format": "int32" if shape.int32 else "int64"}
            case Kind.NUMBER:
                return {"type": "number", "format": "double"}
            case Kind.BOOLEAN:
                return {"type": "boolean"}
            case Kind.BYTES:
                return {"type": "string", "format": "byte"}
            case _:
                return {"type": "string"}

    def _named(self, name: str) -> dict[str, Any]:
        self.definitions.setdefault(name, dict((_V3_SCALARS if self.version == 3 else _V2_SCALARS)[name]))
        return {"$ref": self.prefix + name}


def _merge_marks(shape: Shape) -> dict[str, Any]:
    marks: dict[str, Any] = {}
    if shape.map_keys:
        marks["x-kubernetes-list-map-keys"] = list(shape.map_keys)
        marks["x-kubernetes-list-type"] = "map"
    elif shape.is_set:
        marks["x-kubernetes-list-type"] = "set"
    elif shape.atomic and shape.kind is Kind.MAP:
        marks["x-kubernetes-map-type"] = "atomic"
    if shape.merge_key:
        marks["x-kubernetes-patch-merge-key"] = shape.merge_key
    strategy = ["merge"] if shape.merge_key is not None else []
    strategy += ["retainKeys"] if shape.retain_keys else []
    if strategy:
        marks["x-kubernetes-patch-strategy"] = ",".join(strategy)
    return marks


def _add_types(schemas: Schemas, served: Iterable[scheme.Resource]) -> None:
    for struct in (meta_v1.DeleteOptions, meta_v1.Status, meta_v1.WatchEvent):
        schemas.reference(struct)
    schemas.definitions.setdefault(f"{META}.Patch", {"type": "object"})
    for resource in served:
        schemas.reference(resource.type)
        if list_type := openapi_paths.list_type_of(resource):
            schemas.reference(list_type)
        for part in resource.subresources.values():
            if body := openapi_paths.body_type_of(part):
                schemas.reference(body)


@cache
def v3_document(group: str, version: str) -> bytes | None:
    """Return the OpenAPI v3 document of one group and version; None if it is not served."""
    served = [each for each in scheme.RESOURCES if (each.group, each.version) == (group, version)]
    return v3_document_of(served) if served else None


def v3_document_of(served: Iterable[scheme.Resource]) -> bytes:
    """Return the OpenAPI v3 document of these resources, which are of one group and version."""
    schemas = Schemas(3)
    _add_types(schemas, served)
    document = {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": RELEASE},
        "paths": openapi_paths.paths_of(served, schemas.reference, 3),
        "components": {
            "schemas": dict(sorted(schemas.definitions.items())),
            "securitySchemes": {"BearerToken": openapi_paths.BEARER_TOKEN},
        },
    }
    return msgspec.json.encode(document)


@cache
def v3_index() -> Mapping[str, str]:
    """Return the document of each group and version: ``apis/apps/v1`` to its URL, which names the content."""
    found = {}
    for group, versions in scheme.group_versions().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            found[path] = f"/openapi/v3/{path}?hash={_content_hash(group, version)}"
    return found


@cache
def _content_hash(group: str, version: str) -> str:
    """Names a document's content without building it: everything that it is made from."""
    from importlib import resources

    digest = hashlib.sha256(f"{group}/{version}/{RELEASE}".encode())
    for module in (scheme.module_of(group, version), meta_v1.__name__, *_MADE_BY):
        package, _, stem = module.rpartition(".")
        digest.update((resources.files(package) / f"{stem}.py").read_bytes())
    digest.update((resources.files("podling.api") / "descriptions.json").read_bytes())
    return digest.hexdigest().upper()


@cache
def v2_document(gated: tuple[scheme.Resource, ...] = ()) -> bytes:
    """Return the OpenAPI v2 (Swagger) document of everything; ``gated`` is served because of a gate."""
    served = (*scheme.RESOURCES, *gated)
    schemas = Schemas(2)
    _add_types(schemas, served)
    document = {
        "swagger": "2.0",
        "info": {"title": TITLE, "version": RELEASE},
        "paths": openapi_paths.paths_of(served, schemas.reference, 2),
        "definitions": dict(sorted(schemas.definitions.items())),
        "securityDefinitions": {"BearerToken": openapi_paths.BEARER_TOKEN},
        "security": [{"BearerToken": []}],
    }
    return msgspec.json.encode(document)
