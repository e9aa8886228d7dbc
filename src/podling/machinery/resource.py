"""One resource of the API: its names, its type, its paths and its keys.

A resource is known by name long before its type is needed: ``Resource.type`` imports the module of
its group and version on first use, so naming every resource costs nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

from msgspec import Struct

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_WRITE = ("get", "patch", "update")
CREATE = ("create",)
PROXY = ("create", "delete", "get", "patch", "update")
CONNECT = ("create", "get")

TYPES_MAX = 1024
"""Kinds whose type is remembered."""


class Subresource(Struct, frozen=True):
    """A part of an object with a path of its own. Its body is ``kind`` of ``group`` and ``version``,
    which may differ from the parent's (``Scale`` of ``autoscaling/v1``)."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Resource:
    """One resource in one version of its group. Compared by identity: there is one per process."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    verbs: tuple[str, ...] = ALL_VERBS
    storage: Resource | None = None
    """The resource whose object is stored, if it is another one than this."""

    @cached_property
    def group_version(self) -> str:
        """The value of ``apiVersion``: ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """The name of the resource in messages: ``pods``, ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def type(self) -> type[Any]:
        """The struct of one object; its module is imported on first use."""
        return type_of(self.group, self.version, self.kind)

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @cached_property
    def stored(self) -> bool:
        """True if objects of this kind are stored; reviews, bindings and evictions are not."""
        return "get" in self.verbs and self.kind != "ComponentStatus"

    @cached_property
    def storage_resource(self) -> Resource:
        """The resource whose type and key the stored object has: usually this one."""
        return self.storage or self

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, or of one object, or of a part of it."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        return "/".join(parts + [part for part in (name, subresource) if part])

    @cached_property
    def key_prefix(self) -> str:
        """The prefix of the keys of all objects of this resource, with a slash at the end."""
        stored = self.storage_resource
        return f"/registry/{stored.group}/{stored.plural}/" if stored.group else f"/registry/{stored.plural}/"

    def key(self, namespace: str | None, name: str) -> str:
        """Return the store key of one object."""
        return f"{self.key_prefix}{namespace}/{name}" if self.namespaced else self.key_prefix + name

    def namespace_prefix(self, namespace: str | None) -> str:
        """Return the prefix of the keys of one namespace's objects; of all for None or an empty one."""
        return f"{self.key_prefix}{namespace}/" if self.namespaced and namespace else self.key_prefix


def module_of(group: str, version: str) -> str:
    """Return the name of the module that holds the types of a group and version."""
    base = {"": "core", "internal.apiserver.k8s.io": "apiserverinternal"}.get(group, group.partition(".")[0])
    return f"podling.api.{base}_{version}"


@lru_cache(TYPES_MAX)
def type_of(group: str, version: str, kind: str) -> type[Any]:
    """Return the struct of any kind of the API, served or not. Raises LookupError for an unknown one."""
    try:
        found = getattr(importlib.import_module(module_of(group, version)), kind)
        known = found.group_version_kind == (group, version, kind)
    except (ImportError, AttributeError):
        known = False
    if not known:
        where = f"{group}/{version}" if group else version
        raise LookupError(f'no kind "{kind}" is registered for version "{where}"')
    return cast("type[Any]", found)
