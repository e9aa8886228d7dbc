"""The paths of the OpenAPI documents: one operation per verb of each resource and subresource.

Every operation carries its kind and its action (``x-kubernetes-group-version-kind``,
``x-kubernetes-action``) and the query parameters it takes. Clients find there whether a server knows
``fieldValidation`` and ``dryRun``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from podling.api import meta_v1
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource, Subresource, type_of

BEARER_TOKEN = {
    "type": "apiKey",
    "name": "authorization",
    "in": "header",
    "description": "Bearer Token authentication",
}

Reference = Callable[[type[Any]], dict[str, Any]]

_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_MEDIA_TYPES = ("application/json", "application/yaml")
_ACTIONS = {
    "get": ("get", "get", "read"),
    "list": ("get", "list", "list"),
    "create": ("post", "post", "create"),
    "update": ("put", "put", "replace"),
    "patch": ("patch", "patch", "patch"),
    "delete": ("delete", "delete", "delete"),
    "deletecollection": ("delete", "deletecollection", "delete"),
}
"""Verb to HTTP method, ``x-kubernetes-action`` and the first word of the operation's id."""

_TEXTS = {
    "dryRun": "All: process every stage of the request, but store nothing.",
    "fieldManager": "The name of the actor that makes these changes.",
    "fieldValidation": "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
    "force": "Take fields over from other managers (server-side apply only).",
    "limit": "How many items to return at most.",
    "continue": "Where to go on: what the previous answer's metadata said.",
    "labelSelector": "Select by labels.",
    "fieldSelector": "Select by fields.",
    "resourceVersion": "As of which revision.",
    "resourceVersionMatch": "How resourceVersion is meant: Exact or NotOlderThan.",
    "sendInitialEvents": "Begin a watch with the objects that exist.",
    "allowWatchBookmarks": "Send bookmarks in between.",
    "timeoutSeconds": "End the list or watch after so many seconds.",
    "watch": "Send changes as they happen instead of a list.",
    "gracePeriodSeconds": "Seconds between the request to delete and the end.",
    "propagationPolicy": "What becomes of dependents: Orphan, Background or Foreground.",
    "orphanDependents": "Deprecated: use propagationPolicy.",
    "pretty": "Whether to indent the answer.",
}
_INTEGERS = {"limit", "timeoutSeconds", "gracePeriodSeconds"}
_BOOLEANS = {"force", "sendInitialEvents", "allowWatchBookmarks", "watch", "orphanDependents"}
_LISTING = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_WRITING = ("dryRun", "fieldManager", "fieldValidation")
_DELETING = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_PARAMETERS = {
    "list": _LISTING,
    "create": _WRITING,
    "update": _WRITING,
    "patch": (*_WRITING, "force"),
    "delete": _DELETING,
    "deletecollection": (*_DELETING, *_LISTING[1:-1]),
}


def kind_mark(group: str, version: str, kind: str) -> dict[str, str]:
    """Return the value of ``x-kubernetes-group-version-kind``."""
    return {"group": group, "kind": kind, "version": version}


def list_type_of(resource: Resource) -> type[Any] | None:
    """Return the struct of a list of the resource, if it can be listed."""
    if isinstance(resource, CustomResource):
        found: type[Any] = resource.list_type
        return found
    return type_of(resource.group, resource.version, resource.list_kind) if "list" in resource.verbs else None


def body_type_of(part: Subresource) -> type[Any] | None:
    """Return the struct of a subresource's body; None for streams, which have options instead."""
    return None if part.kind.endswith("Options") else type_of(part.group, part.version, part.kind)


def _body_of(resource: Resource, part: Subresource) -> type[Any] | None:
    """Return the struct of a part's body; that of the object itself where a part exchanges it."""
    return resource.type if part.kind == resource.kind else body_type_of(part)


def paths_of(served: Iterable[Resource], reference: Reference, version: int) -> dict[str, Any]:
    """Return all paths of some resources, for OpenAPI ``version`` 2 or 3."""
    writer = _Writer(reference, version)
    for resource in served:
        writer.resource(resource)
    return dict(sorted(writer.paths.items()))


class _Writer:
    def __init__(self, reference: Reference, version: int) -> None:
        self.reference, self.version = reference, version
        self.paths: dict[str, dict[str, Any]] = {}

    def resource(self, resource: Resource) -> None:
        collection = resource.path("{namespace}")
        single = resource.path("{namespace}", "{name}")
        name = ("Namespaced" if resource.namespaced else "") + resource.kind
        mark = kind_mark(resource.group, resource.version, resource.kind)
        for verb in resource.verbs:
            if verb == "watch":
                continue
            path = collection if verb in ("list", "create", "deletecollection") else single
            body = list_type_of(resource) if verb == "list" else resource.type
            noun = f"Collection{name}" if verb == "deletecollection" else name
            self.operation(path, verb, (resource, noun, mark, body))
        if resource.namespaced and "list" in resource.verbs:
            noun = f"{resource.kind}ForAllNamespaces"
            self.operation(resource.path(), "list", (resource, noun, mark, list_type_of(resource)))
        for part in resource.subresources.values():
            self.subresource(resource, part, name)

    def subresource(self, resource: Resource, part: Subresource, name: str) -> None:
        path = resource.path("{namespace}", "{name}", part.name)
        mark = kind_mark(part.group, part.version, part.kind)
        noun = name + "".join(word.capitalize() for word in part.name.split("_"))
        for verb in part.verbs:
            self.operation(path, verb, (resource, noun, mark, _body_of(resource, part)))

    def operation(
        self, path: str, verb: str, about: tuple[Resource, str, dict[str, str], type[Any] | None]
    ) -> None:
        resource, noun, mark, body = about
        method, action, word = _ACTIONS[verb]
        group = "".join(part.capitalize() for part in resource.group.removesuffix(".k8s.io").split("."))
        tag = f"{group or 'Core'}{resource.version.capitalize()}"
        operation: dict[str, Any] = {
            "tags": [tag[0].lower() + tag[1:]],
            "operationId": f"{word}{tag}{noun}",
            "parameters": [self.parameter(each) for each in _PARAMETERS.get(verb, ())],
            "responses": self.responses(verb, body),
            "x-kubernetes-action": action if body else "connect",
            "x-kubernetes-group-version-kind": mark,
        }
        self.body(operation, verb, body, resource)
        entry = self.paths.setdefault(path, {"parameters": self.path_parameters(path)})
        entry[method] = operation

    def path_parameters(self, path: str) -> list[dict[str, Any]]:
        texts = {
            "name": "name of the object",
            "namespace": "object name and auth scope, such as for teams and projects",
        }
        found = [self.parameter(name, "path", text) for name, text in texts.items() if f"{{{name}}}" in path]
        return [*found, self.parameter("pretty")]

    def parameter(self, name: str, where: str = "query", text: str = "") -> dict[str, Any]:
        kind = "integer" if name in _INTEGERS else "boolean" if name in _BOOLEANS else "string"
        parameter: dict[str, Any] = {"name": name, "in": where, "description": text or _TEXTS[name]}
        schema: dict[str, Any] = {"type": kind, "uniqueItems": True}
        parameter |= {"schema": schema} if self.version == 3 else schema
        return parameter | {"required": True} if where == "path" else parameter

    def responses(self, verb: str, body: type[Any] | None) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        if verb in ("delete", "deletecollection"):
            schema = self.reference(meta_v1.Status)
        elif body:
            schema = self.reference(body)
        answer: dict[str, Any] = {"description": "OK"}
        if self.version == 3:
            answer["content"] = {media_type: {"schema": schema} for media_type in _MEDIA_TYPES}
        else:
            answer["schema"] = schema
        created = (
            {"201": {**answer, "description": "Created"}} if verb in ("create", "update", "patch") else {}
        )
        return {"200": answer, **created, "401": {"description": "Unauthorized"}}

    def body(self, operation: dict[str, Any], verb: str, body: type[Any] | None, resource: Resource) -> None:
        """Add the request's body to an operation that has one."""
        media_types: tuple[str, ...] = ("*/*",)
        if verb in ("create", "update") and body:
            schema = self.reference(body)
        elif verb == "patch" and body:
            schema = self.reference(body)
            schema = {
                "$ref": f"{schema['$ref'].rpartition('/')[0]}/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
            }
            # kubectl reads here whether an object takes a strategic merge patch.
            media_types = _PATCHES[:-1] if isinstance(resource, CustomResource) else _PATCHES
        elif verb in ("delete", "deletecollection"):
            schema = self.reference(meta_v1.DeleteOptions)
        else:
            return
        required = verb in ("create", "update", "patch")
        if self.version == 3:
            content = {media_type: {"schema": schema} for media_type in media_types}
            operation["requestBody"] = {"content": content} | ({"required": True} if required else {})
        else:
            body_parameter = {"name": "body", "in": "body", "schema": schema}
            operation["parameters"].append(body_parameter | ({"required": True} if required else {}))
            operation["consumes"] = list(media_types)
            operation["produces"] = list(_MEDIA_TYPES)
