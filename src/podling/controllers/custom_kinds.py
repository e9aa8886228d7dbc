"""Custom kinds, for controllers that follow every kind.

It receives each definition and reports when a resource appears and disappears. A resource is
followed in the version that its objects are stored in; when that changes it is another one.
"""

from __future__ import annotations

from collections.abc import Callable

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.meta_v1 import OwnerReference
from podling.controllers.owner_references import is_kind_of
from podling.machinery.encoding.custom import is_established, stored_resource
from podling.machinery.scheme import Resource, split_group_version


class CustomKinds:
    """The established definitions, as resources.

    Args:
        follow: called with each resource that appears.
        forget: called with each that is there no more.
    """

    def __init__(self, follow: Callable[[Resource], None], forget: Callable[[Resource], None]) -> None:
        self._follow, self._forget = follow, forget
        self._resources: dict[str, Resource] = {}
        self._served: dict[str, frozenset[str]] = {}  # versions, by the definition's name

    def put(self, definition: CustomResourceDefinition) -> None:
        """Take in a definition as it is now."""
        name = definition.metadata.name or ""
        held = self._resources.get(name)
        if not is_established(definition):
            self.remove(definition)
            return
        resource = stored_resource(definition)
        if held is None or (held.version, held.kind) != (resource.version, resource.kind):
            self.remove(definition)
            self._resources[name] = resource
            self._follow(resource)
        self._served[name] = frozenset(each.name for each in definition.spec.versions if each.served)

    def remove(self, definition: CustomResourceDefinition) -> None:
        """Forget a definition that is gone."""
        self._served.pop(definition.metadata.name or "", None)
        resource = self._resources.pop(definition.metadata.name or "", None)
        if resource is not None:
            self._forget(resource)

    def by_name(self, name: str) -> Resource | None:
        """Return the resource of the definition ``name``: ``widgets.example.com``."""
        return self._resources.get(name)

    def named(self, ref: OwnerReference) -> Resource | None:
        """Return the resource that a reference names, in a version that is served."""
        _, version = split_group_version(ref.api_version)
        for name, resource in self._resources.items():
            if is_kind_of(ref, resource) and version in self._served.get(name, ()):
                return resource
        return None
