"""Custom resources in the OpenAPI documents: what ``kubectl explain`` shows and clients check against. Pure.

Version 3 has a document for each group and version, version 2 is one document for everything;
``openapi_schemas`` has the schemas in the words of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from podling.api import autoscaling_v1, core_v1, meta_v1
from podling.apiserver.customresources.completion import RootSchema
from podling.apiserver.customresources.openapi_schemas import v2_schema, v3_schema
from podling.apiserver.customresources.structural import PRESERVE
from podling.machinery.encoding.custom import HEAD, CustomResource, is_custom
from podling.machinery.openapi import openapi, openapi_paths

CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"


class _Schemas(openapi.Schemas):
    """Definitions of one document that may hold custom kinds."""

    def reference(self, struct: type[Any]) -> dict[str, Any]:
        resource = _resource_of(struct)
        if resource is None:
            return super().reference(struct)
        listed = struct is resource.list_type
        name = _definition_name(resource, resource.list_kind if listed else resource.kind)
        if name not in self.definitions:
            self.definitions[name] = {}
            made = self._list(resource) if listed else self._object(resource)
            self.definitions[name] = made
        return {"$ref": self.prefix + name}

    def _object(self, resource: CustomResource) -> dict[str, Any]:
        schema = resource.schema
        root: Mapping[str, Any] = schema.root.plain if isinstance(schema, RootSchema) else {}
        marks = {"x-kubernetes-group-version-kind": [_mark(resource, resource.kind)], **_selectable(resource)}
        if not root or (self.version == 2 and root.get(PRESERVE)):
            return {"type": "object", **marks}  # with fields, clients would refuse all others
        head = self._head(meta_v1.ObjectMeta, core_v1.PodTemplate)
        made = (v2_schema if self.version == 2 else v3_schema)(root, head["metadata"])
        fields = {name: each for name, each in made.get("properties", {}).items() if name not in HEAD}
        return {**made, "properties": {**head, **fields}, **marks}

    def _list(self, resource: CustomResource) -> dict[str, Any]:
        named = f"List of {resource.plural}. More info: {CONVENTIONS}"
        items = {"description": named, "type": "array", "items": self.reference(resource.type)}
        text = f"{resource.list_kind} is a list of {resource.kind}"
        return {
            "description": text,
            "type": "object",
            "required": ["items"],
            "properties": {**self._head(meta_v1.ListMeta, core_v1.PodList), "items": items},
            "x-kubernetes-group-version-kind": [_mark(resource, resource.list_kind)],
            **_selectable(resource),
        }

    def _head(self, metadata: type[Any], built_in: type[Any]) -> dict[str, Any]:
        """Return the properties that every object has, in the words that are said of a built-in kind."""
        texts = {name: openapi.description(built_in, name) for name in HEAD}
        found: dict[str, Any] = {
            name: {"description": texts[name], "type": "string"} for name in HEAD if name != "metadata"
        }
        reference = self.reference(metadata)
        whole = {"allOf": [reference]} if self.version == 3 else reference
        found["metadata"] = {"description": texts["metadata"], **whole}
        return found


def _resource_of(struct: type[Any]) -> CustomResource | None:
    if is_custom(struct):
        return cast("CustomResource", struct.custom_resource)
    found = getattr(struct, "list_of", None)
    return found if isinstance(found, CustomResource) else None


def _selectable(resource: CustomResource) -> dict[str, Any]:
    """Return the mark that names the fields which selectors may name."""
    paths = [{"fieldPath": each.removeprefix(".")} for each in resource.selectable_fields]
    return {"x-kubernetes-selectable-fields": paths} if paths else {}


def _mark(resource: CustomResource, kind: str) -> dict[str, str]:
    return openapi_paths.kind_mark(resource.group, resource.version, kind)


def _definition_name(resource: CustomResource, kind: str) -> str:
    """``com.example.v1.Widget``: the group's labels in reverse."""
    return ".".join([*reversed(resource.group.split(".")), resource.version, kind])


def _add(schemas: _Schemas, served: Iterable[CustomResource]) -> None:
    for struct in (meta_v1.DeleteOptions, meta_v1.Status, meta_v1.WatchEvent):
        schemas.reference(struct)
    schemas.definitions.setdefault(f"{openapi.META}.Patch", {"type": "object"})
    for resource in served:
        schemas.reference(resource.type)
        schemas.reference(resource.list_type)
        if "scale" in resource.subresources:
            schemas.reference(autoscaling_v1.Scale)


def v3_document(served: tuple[CustomResource, ...]) -> bytes:
    """Return the document of one group and version."""
    schemas = _Schemas(3)
    _add(schemas, served)
    return msgspec.json.encode({
        "openapi": "3.0.0",
        "info": {"title": openapi.TITLE, "version": openapi.RELEASE},
        "paths": openapi_paths.paths_of(served, schemas.reference, 3),
        "components": {
            "schemas": dict(sorted(schemas.definitions.items())),
            "securitySchemes": {"BearerToken": openapi_paths.BEARER_TOKEN},
        },
    })  # fmt: skip


def with_custom(built_in: bytes, served: tuple[CustomResource, ...]) -> bytes:
    """Return the version 2 document with custom resources added."""
    document: dict[str, Any] = msgspec.json.decode(built_in)
    schemas = _Schemas(2)
    _add(schemas, served)
    paths = openapi_paths.paths_of(served, schemas.reference, 2)
    document["paths"] = dict(sorted({**document["paths"], **paths}.items()))
    document["definitions"] = dict(sorted({**schemas.definitions, **document["definitions"]}.items()))
    return msgspec.json.encode(document)
