"""Records the history of a cluster through any client: every revision of its objects that a watch shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Node
from podling.client.base import ApiObject, Client
from podling.client.informer_factory import InformerFactory
from podling.machinery.encoding.codec import to_plain
from podling.machinery.scheme import RESOURCES, resource_of
from podling.sim.changes import Change
from podling.sim.event_log import END, EventLog, Sink
from podling.sim.importing.from_objects import ORDER

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
GROUPS = ("", "apps", "batch", "policy", "autoscaling", "scheduling.k8s.io")
NODE = "Node"


class Moment(Struct, frozen=True):
    """A revision of an object, ``at`` seconds after the begin. The objects of the begin are at 0."""

    at: float
    type: str
    plain: dict[str, Any]


class Recorder:
    """Records one cluster.

    Args:
        sink: receives the event log, as that of a simulated run.
        begun: called once the objects of the begin are known; from then on no change is missed.
    """

    def __init__(
        self, client: Client, sink: Sink | None = None, begun: Callable[[], object] | None = None
    ) -> None:
        self._client = client
        self._informers = InformerFactory(client)
        self._sink, self._begun = sink, begun
        self.begin: datetime | None = None
        self._log: EventLog | None = None
        self._last: dict[tuple[str, str, str], Any] = {}
        self.moments: list[Moment] = []

    @property
    def seconds(self) -> float:
        """The seconds since the begin; 0 before it."""
        return 0.0 if self.begin is None else round((clock.now() - self.begin).total_seconds(), 3)

    async def record(self, end: asyncio.Event, seconds: float | None = None) -> Sequence[Moment]:
        """Record until ``end`` is set or so many seconds have passed, and return the history.

        Raises ``ApiError`` or ``Unreachable`` if the cluster cannot be read at the begin.
        """
        await self._client.list(Node)
        self._log = EventLog(clock.now(), self._sink)
        for kind in kinds():
            informer = self._informers.informer(kind)
            informer.add_handler(
                partial(self._note, ADDED),
                lambda _, new: self._note(MODIFIED, new),
                partial(self._note, DELETED),
            )
        running = asyncio.create_task(self._informers.run())
        try:
            await self._informers.synced()
            self.begin = clock.now()
            if self._begun is not None:
                self._begun()
            await clock.wait_for(end, seconds)
        finally:
            self._log.write(clock.now(), END)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return self.moments

    def _note(self, happened: str, obj: ApiObject) -> None:
        resource = resource_of(type(obj))
        metadata = obj.metadata
        key = (resource.kind, metadata.namespace or "", metadata.name or "")
        plain = to_plain(obj) | {"apiVersion": resource.group_version, "kind": resource.kind}
        self.moments.append(Moment(self.seconds, happened, plain))
        old = self._last.pop(key, None)
        if happened != DELETED:
            self._last[key] = obj
        new = None if happened == DELETED else obj
        if self._log is not None:
            revision = int(metadata.resource_version or 0)
            change = Change(clock.now(), revision, resource, key[1], key[2], old, new, obj)
            self._log.change(change)


def kinds() -> list[type[Any]]:
    """Return the kinds that a scenario takes over, and nodes."""
    wanted = {*ORDER, NODE}
    stored = {each.storage_resource for each in RESOURCES if each.stored and each.group in GROUPS}
    return [each.type for each in RESOURCES if each in stored and each.kind in wanted]
