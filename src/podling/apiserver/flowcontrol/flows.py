"""The flow schema and priority level of each request, whose UIDs the response names."""

from __future__ import annotations

from podling.api.flowcontrol_v1 import FlowSchema, PriorityLevelConfiguration
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.flowcontrol.matching import first_match, in_order
from podling.apiserver.registry.objects import object_of
from podling.client.requests import Target, User
from podling.machinery.scheme import resource_of
from podling.store.base import Entry, EventType, Store, Watch

REMEMBERED = 16_384
"""Answers remembered before the cache starts afresh."""

Flow = tuple[str, str]
"""The UIDs of a flow schema and of its priority level."""

_SCHEMAS, _LEVELS = resource_of(FlowSchema).key_prefix, resource_of(PriorityLevelConfiguration).key_prefix
_PREFIX = _SCHEMAS[: _SCHEMAS.rindex("/", 0, -1) + 1]
"""The fields that both kinds share."""

_NOT_YET: Flow = ("", "")


class Flows:
    """Follows what the store holds, from ``follow`` until ``close``; before, no request belongs anywhere."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watch: Watch | None = None
        self._schemas: dict[str, FlowSchema] = {}
        self._levels: dict[str, str] = {}
        """The priority levels' UIDs by key."""
        self._ordered: list[FlowSchema] = []
        self._found: dict[tuple[object, ...], Flow | None] = {}

    @property
    def following(self) -> bool:
        return self._watch is not None

    async def follow(self) -> None:
        page = await self._store.list(_PREFIX)
        self.close()
        self._schemas.clear()
        self._levels.clear()
        for entry in page.entries:
            self._take(entry)
        self._watch = self._store.watch(_PREFIX, after=page.revision)
        self._forget()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def of_target(self, user: User, verb: str, target: Target) -> Flow | None:
        """Return the flow schema of a request for a resource, if any; the object's name does not matter."""
        self.catch_up()
        namespace = target.name if target.resource.kind == "Namespace" else target.namespace
        key = (user, verb, target.resource, target.subresource, namespace)
        found = self._found.get(key, _NOT_YET)
        if found is not _NOT_YET:
            return found
        resource = target.resource
        asked = Attributes(verb, resource.group, resource.plural, target.subresource, namespace)
        return self._look(key, user, asked)

    def of(self, user: User, asked: Attributes) -> Flow | None:
        """Return the flow schema of any request."""
        self.catch_up()
        key = (user, asked)
        found = self._found.get(key, _NOT_YET)
        return self._look(key, user, asked) if found is _NOT_YET else found

    def _look(self, key: tuple[object, ...], user: User, asked: Attributes) -> Flow | None:
        if len(self._found) >= REMEMBERED:
            self._found.clear()
        found = self._match(user, asked)
        if asked.can_be_kept(user):
            self._found[key] = found
        return found

    def _match(self, user: User, asked: Attributes) -> Flow | None:
        schema = first_match(self._ordered, user, asked)
        if schema is None:
            return None
        level = self._levels.get(_LEVELS + schema.spec.priority_level_configuration.name, "")
        return schema.metadata.uid or "", level

    def catch_up(self) -> None:
        if self._watch is None or not self._watch.behind:
            return
        for change in self._watch.ready():
            if change.type is EventType.DELETE:
                self._schemas.pop(change.entry.key, None)
                self._levels.pop(change.entry.key, None)
            else:
                self._take(change.entry)
        self._forget()

    def _take(self, entry: Entry) -> None:
        if entry.key.startswith(_SCHEMAS):
            self._schemas[entry.key] = object_of(entry, FlowSchema)
        elif entry.key.startswith(_LEVELS):
            level: PriorityLevelConfiguration = object_of(entry, PriorityLevelConfiguration)
            self._levels[entry.key] = level.metadata.uid or ""

    def _forget(self) -> None:
        """Drop cached results, which may have changed."""
        self._ordered = in_order(self._schemas.values())
        self._found.clear()
