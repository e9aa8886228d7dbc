"""The custom resources that one server serves: the definitions in its store, compiled.

Changes of definitions need no notification: each use first reads the store's new events (as authorisation
does with roles), so a resource is served with the very write that establishes it and removed with its
definition. A definition that is not established is known but not served.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.http.resource_paths import Parsed, find_path
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.registry.objects import object_of
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource, is_established
from podling.machinery.scheme import RESOURCES, Resource, resource_of
from podling.machinery.text_cache import LENGTH_MAX
from podling.store.base import EventType, Store, Watch

if TYPE_CHECKING:
    from podling.apiserver.customresources.rules import CustomRules
    from podling.apiserver.customresources.served_definition import Served

PATHS_MAX = 4096
"""Paths remembered before the cache starts afresh."""


class Catalogue:
    """Every definition in ``store``, and its resources.

    Args:
        built_in: the rules of everything else.
        replaced: called with every resource that is served no more, or differently.
        gated: built-in resources that are served because a feature gate is on.
    """

    def __init__(
        self,
        store: Store,
        built_in: Callable[[Resource], KindRules[Any]],
        replaced: Callable[[Resource], object] = lambda resource: None,
        gated: Sequence[Resource] = (),
    ) -> None:
        self._store = store
        self._replaced = replaced
        self._built_in = built_in
        self._prefix = resource_of(CustomResourceDefinition).key_prefix
        self._watch: Watch | None = None
        self._served: dict[str, Served] = {}
        self._gated = tuple(gated)
        self._by_path: dict[tuple[str, str, str], Resource] = {_path(each): each for each in gated}
        self._rules: dict[tuple[str, str, str], CustomRules] = {}
        self._paths: dict[str, Parsed | None] = {}
        self._resources: tuple[Resource, ...] = self._gated

    async def load(self) -> None:
        """Read every definition and follow them from here on."""
        page = await self._store.list(self._prefix)
        self.close()
        self._served.clear()
        for entry in page.entries:
            self._served[entry.key] = _compiled(object_of(entry, CustomResourceDefinition))
        self._watch = self._store.watch(self._prefix, after=page.revision)
        self._index()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def definitions(self) -> tuple[CustomResourceDefinition, ...]:
        self._catch_up()
        return tuple(each.definition for each in self._served.values())

    def resources(self) -> tuple[Resource, ...]:
        """Return every resource that is served beside those of ``machinery.served.RESOURCES``.

        Those are custom resources, and built-in ones with a feature gate. The tuple is the same until
        something changes.
        """
        self._catch_up()
        return self._resources

    def by_path(self, group: str, version: str, plural: str) -> Resource | None:
        self._catch_up()
        return self._by_path.get((group, version, plural))

    def parse_path(self, path: str) -> Parsed | None:
        """Return the resource that ``path`` names."""
        self._catch_up()
        if not self._by_path:
            return None
        if len(path) > LENGTH_MAX:
            return find_path(path, self.by_path)
        if path not in self._paths:
            if len(self._paths) >= PATHS_MAX:
                self._paths.clear()
            self._paths[path] = find_path(path, self.by_path)
        return self._paths[path]

    def rules_for(self, resource: Resource) -> KindRules[Any]:
        """Return the rules of any resource, custom or not. Raises 404 for one whose definition is gone."""
        if not isinstance(resource, CustomResource):
            return self._built_in(resource)
        self._catch_up()
        found = self._rules.get((resource.group, resource.version, resource.plural))
        if found is None:
            raise errors.no_such_resource()
        return found

    def definition_of(self, resource: CustomResource) -> CustomResourceDefinition | None:
        """Return the definition that ``resource`` comes from, as it is now."""
        return self.definition(f"{resource.plural}.{resource.group}")

    def definition(self, name: str) -> CustomResourceDefinition | None:
        """Return the definition ``name``: ``widgets.example.com``."""
        self._catch_up()
        found = self._served.get(self._prefix + name)
        return found.definition if found is not None else None

    def _is_new(self, resource: Resource) -> bool:
        """Return whether no built-in resource has these names: a definition cannot replace one."""
        path = _path(resource)
        return path not in _BUILT_IN and path not in map(_path, self._gated)

    def _catch_up(self) -> None:
        events = self._watch.ready() if self._watch is not None else ()
        if not events:
            return
        old: list[CustomResource] = []
        for event in events:
            before = self._served.pop(event.entry.key, None)
            definition = object_of(event.entry, CustomResourceDefinition)
            gone = event.type is EventType.DELETE
            if not gone:
                self._served[event.entry.key] = _compiled(definition, before)
            if before is not None and (gone or _differs(before.definition, definition)):
                old.extend(before.resources)
        self._index()
        for resource in old:
            self._replaced(resource)

    def _index(self) -> None:
        self._paths.clear()
        custom = (resource for each in self._served.values() for resource in each.resources)
        self._resources = (*self._gated, *(each for each in custom if self._is_new(each)))
        self._by_path = {_path(each): each for each in self._resources}
        self._rules = {
            (each.definition.spec.group, version, each.definition.spec.names.plural): rules
            for each in self._served.values()
            for version, rules in each.rules.items()
        }


def _differs(old: CustomResourceDefinition, new: CustomResourceDefinition) -> bool:
    """Return whether what was served by ``old`` is another thing now."""
    names = old.status.accepted_names, new.status.accepted_names
    return old.spec != new.spec or names[0] != names[1] or is_established(old) != is_established(new)


def _path(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural


_BUILT_IN = frozenset(_path(each) for each in RESOURCES)


def _compiled(definition: CustomResourceDefinition, before: Served | None = None) -> Served:
    """Return what ``serve`` makes of a definition. Many clusters have none, and need no compiler."""
    from podling.apiserver.customresources.served_definition import serve

    return serve(definition, before)
