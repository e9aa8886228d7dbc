"""Classification of requests: the flow schema that each one matches, and its priority level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling import clock
from podling.api.flowcontrol_v1 import FlowSchema, PriorityLevelConfiguration
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.flowcontrol.levels import Level, Levels, OnFullTurn
from podling.apiserver.flowcontrol.matching import first_match, in_order
from podling.apiserver.flowcontrol.shuffle_sharding import hash_of_flow
from podling.apiserver.http.exchange import FLOW_SCHEMA, PRIORITY_LEVEL
from podling.apiserver.kinds.flowcontrol.defaults import CATCH_ALL, EXEMPT, mandatory_schemas
from podling.apiserver.registry.objects import object_of
from podling.client.requests import Target, User
from podling.machinery.scheme import resource_of
from podling.store.base import Entry, EventType, Store, Watch

SERVER_SEATS = 245
"""The seats of a server: one for each share of the default levels (see the package's docstring)."""
REMEMBERED = 16_384
"""Answers remembered before the cache starts afresh."""

_SCHEMAS, _LEVELS = resource_of(FlowSchema).key_prefix, resource_of(PriorityLevelConfiguration).key_prefix
_PREFIX = _SCHEMAS[: _SCHEMAS.rindex("/", 0, -1) + 1]
"""The prefix that the keys of both kinds share."""


class Flow:
    """The requests of one flow schema and, where the schema says so, of one user or namespace."""

    __slots__ = (
        "brief_place",
        "counts",
        "distinguisher",
        "hash",
        "level",
        "lines",
        "queue_set",
        "schema",
        "uids",
    )

    def __init__(self, schema: FlowSchema, level: Level, distinguisher: str, new_place: NewPlace) -> None:
        self.schema = schema.metadata.name or ""
        self.level, self.queue_set = level, level.queue_set
        self.uids = schema.metadata.uid or "", level.uid
        """The UIDs of the flow schema and of the priority level, which responses name."""
        self.lines = f"{FLOW_SCHEMA}: {self.uids[0]}\r\n{PRIORITY_LEVEL}: {self.uids[1]}\r\n"
        """The headers of responses that name them."""
        self.counts = level.counts_of(self.schema)
        self.brief_place = new_place(self)
        """The place that all brief requests of the flow share."""
        self.distinguisher = distinguisher
        self.hash = hash_of_flow(self.schema, distinguisher) if level.queuing.queues > 1 else 0


NewPlace = Callable[[Flow], Any]


class Flows:
    """Follows what the store holds, from ``follow`` until ``close``; before, no request belongs anywhere."""

    def __init__(self, store: Store, server_seats: int = SERVER_SEATS) -> None:
        self._store = store
        self.on_full_turn: OnFullTurn = lambda queue_set: None
        self.new_place: NewPlace = lambda flow: None
        """Makes the place of brief requests, for each new flow."""
        self.version = 0
        """Rises whenever requests may belong elsewhere than before."""
        self._server_seats = server_seats
        self.watch: Watch | None = None
        """The changes of the configuration; None before ``follow``."""
        self._schemas: dict[str, FlowSchema] = {}
        self._configurations: dict[str, PriorityLevelConfiguration] = {}
        self._ordered: list[FlowSchema] = []
        self._found: dict[tuple[object, ...], Flow] = {}
        self._levels: Levels | None = None

    @property
    def following(self) -> bool:
        return self.watch is not None

    @property
    def levels(self) -> Levels:
        """The priority levels, as of the last change that was taken in."""
        if self._levels is None:
            self._levels = Levels(
                self._server_seats, clock.machine_monotonic(), lambda queue_set: self.on_full_turn(queue_set)
            )
        return self._levels

    async def follow(self) -> None:
        page = await self._store.list(_PREFIX)
        self.close()
        self._schemas.clear()
        self._configurations.clear()
        for entry in page.entries:
            self._take(entry)
        self.watch = self._store.watch(_PREFIX, after=page.revision)
        self._configure()

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()
            self.watch = None

    def of_target(self, user: User, verb: str, target: Target) -> Flow:
        """Return the flow of a request for a resource; the object's name does not matter."""
        resource = target.resource
        namespace = target.name if resource.kind == "Namespace" else target.namespace
        key = (user, verb, resource, target.subresource, namespace)
        found = self._found.get(key)
        if found is not None:
            return found
        asked = Attributes(verb, resource.group, resource.plural, target.subresource, namespace)
        return self._look(key, user, asked)

    def of(self, user: User, asked: Attributes) -> Flow:
        """Return the flow of any request."""
        key = (user, asked)
        return self._found.get(key) or self._look(key, user, asked)

    def catch_up(self) -> None:
        """Take in what has changed in the store."""
        if self.watch is None or not self.watch.behind:
            return
        for change in self.watch.ready():
            if change.type is EventType.DELETE:
                self._schemas.pop(change.entry.key, None)
                self._configurations.pop(change.entry.key, None)
            else:
                self._take(change.entry)
        self._configure()

    def _look(self, key: tuple[object, ...], user: User, asked: Attributes) -> Flow:
        if len(self._found) >= REMEMBERED:
            self._found.clear()
        schema = first_match(self._ordered, user, asked) or self._ordered[-1]
        level = self.levels.by_name[schema.spec.priority_level_configuration.name]
        found = Flow(schema, level, _distinguisher(schema, level, user, asked), self.new_place)
        if asked.can_be_kept(user):
            self._found[key] = found
        return found

    def _take(self, entry: Entry) -> None:
        if entry.key.startswith(_SCHEMAS):
            self._schemas[entry.key] = object_of(entry, FlowSchema)
        elif entry.key.startswith(_LEVELS):
            self._configurations[entry.key] = object_of(entry, PriorityLevelConfiguration)

    def _configure(self) -> None:
        """Use what the store holds from now on, and drop remembered answers, which may have changed.

        Schemas whose level is missing are ignored; the mandatory ones exist also without objects.
        """
        self._found.clear()
        self.version += 1
        self.levels.configure(self._configurations.values(), clock.machine_monotonic())
        levels = {name for name, level in self.levels.by_name.items() if not level.is_quiescing}
        found = in_order(
            each for each in self._schemas.values() if each.spec.priority_level_configuration.name in levels
        )
        names = {each.metadata.name for each in found}
        missing = {
            each.metadata.name: each for each in mandatory_schemas() if each.metadata.name not in names
        }
        first, last = missing.get(EXEMPT), missing.get(CATCH_ALL)
        self._ordered = [*([first] if first else ()), *found, *([last] if last else ())]


def _distinguisher(schema: FlowSchema, level: Level, user: User, asked: Attributes) -> str:
    """Return the distinguisher of a request's flow; empty where all of a schema's requests are one flow."""
    method = schema.spec.distinguisher_method
    if method is None or level.queuing.queues <= 1:
        return ""
    return user.name if method.type == "ByUser" else asked.namespace
