"""Recording of events about objects, for people to read.

Recording never delays or fails the work it reports: ``event`` only puts the event into a bounded queue and
returns. One task writes the events in order, after the correlator combined repeats; events that cannot be
combined with one another are written at once. A failed write is repeated 12 times, 10 s apart (client-go),
and a full queue drops the newest event; both are logged.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from podling import clock, ids
from podling.api.core_v1 import Event, EventSource, ObjectReference
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject, Client, Unreachable
from podling.client.event_correlator import Correlator, Create, Drop, Happening, Update, group_of
from podling.machinery.errors import ApiError, is_already_exists, is_not_found

logger = logging.getLogger(__name__)

QUEUE_LENGTH_MAX = 1000
GATHER_SECONDS = 0.05
"""The age at which an event is written: the work that it reports comes first. All components wait equally
long, so that their events are stored in the order in which they happened."""
AT_ONCE = 100
"""Events written at once, which then share a commit of the store."""
TRIES_MAX = 12
RETRY_SECONDS = 10.0
_NAME_TRIES_MAX = 3
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Regarding = ApiObject | ObjectReference
"""The object of an event, or a reference to one that this process does not hold."""


def reference_to(obj: Regarding, field_path: str = "") -> ObjectReference:
    """Return the reference by which an event names its object."""
    if isinstance(obj, ObjectReference):
        return obj
    metadata = obj.metadata
    return ObjectReference(
        api_version=obj.api_version,
        kind=obj.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        field_path=field_path,
    )


class EventRecorder:
    """Records events in the name of ``component`` (on ``host``, for node components).

    ``run`` must be running for anything to be written; ``close`` writes what is left and ends it.
    """

    def __init__(self, client: Client, component: str, host: str = "") -> None:
        self._client = client
        self._component = component
        self._host = host
        self._queue: deque[tuple[float, Happening]] = deque()
        """Events, and when they are due."""
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._writing = asyncio.Lock()
        self._correlator = Correlator()
        self.dropped = 0
        self._dropped_in_a_row = 0

    def event(
        self,
        obj: Regarding,
        type: str,
        reason: str,
        message: str,
        *,
        field_path: str = "",
        action: str = "",
        related: Regarding | None = None,
    ) -> None:
        """Record an event about ``obj``. Never waits, never raises.

        Args:
            type: ``Normal`` or ``Warning``.
            reason: one CamelCase word, for machines; ``message`` is for people.
            field_path: the part of the object, as ``spec.containers{app}``.
            action: what was done or tried, one CamelCase word; few components say it.
            related: another object that had part in it.
        """
        other = None if related is None else reference_to(related)
        about = reference_to(obj, field_path)
        self._take(Happening(about, type, reason, message, clock.now(), action, other))

    def annotated_event(
        self, obj: Regarding, annotations: Mapping[str, str], type: str, reason: str, message: str
    ) -> None:
        """Record an event that has annotations of its own."""
        about = reference_to(obj)
        self._take(Happening(about, type, reason, message, clock.now(), annotations=annotations))

    def _take(self, happening: Happening) -> None:
        if self._closing.is_set() or len(self._queue) >= QUEUE_LENGTH_MAX:
            about = happening.about
            self._drop(f"{about.kind} {about.name}: {happening.reason}: {happening.message}")
            return
        if self._dropped_in_a_row and len(self._queue) < QUEUE_LENGTH_MAX // 2:
            logger.warning("%d events were dropped", self._dropped_in_a_row)
            self._dropped_in_a_row = 0
        self._queue.append((clock.monotonic() + GATHER_SECONDS, happening))
        self._wake.set()

    def _drop(self, text: str) -> None:
        """Count a dropped event; only the first of many is logged, so that a flood does not fill the log."""
        self.dropped += 1
        self._dropped_in_a_row += 1
        if self._dropped_in_a_row == 1:
            logger.warning("event dropped: %s", text)

    async def run(self) -> None:
        """Write events as they come, until ``close`` or cancelled."""
        while not self._closing.is_set():
            self._wake.clear()
            if self._queue:
                await clock.wait_for(self._closing, self._queue[0][0] - clock.monotonic())
                await self._drain()
            else:
                await self._wake.wait()

    async def close(self) -> None:
        """Take no more events, and return when those taken are written, each tried once more at most."""
        self._closing.set()
        self._wake.set()
        await self._drain()

    async def _drain(self) -> None:
        """Write what is due, in order. The lock keeps the order when ``close`` meets ``run``."""
        async with self._writing:
            while batch := self._next_batch():
                await asyncio.gather(*map(self._write, batch))

    def _next_batch(self) -> list[Happening]:
        """Take the next events that are due, as long as no two of them may be combined: a repeat needs the
        name that its first occurrence was written under. At the end all are due."""
        batch: dict[tuple[str, ...], Happening] = {}
        now = math.inf if self._closing.is_set() else clock.monotonic()
        while self._queue and len(batch) < AT_ONCE:
            due, happening = self._queue[0]
            if due > now or group_of(happening) in batch:
                break
            batch[group_of(happening)] = happening
            self._queue.popleft()
        return list(batch.values())

    async def _write(self, happening: Happening) -> None:
        decision = self._correlator.decide(happening)
        if isinstance(decision, Drop):
            return
        for attempt in range(TRIES_MAX):
            if attempt:
                # The first wait is spread, so that all components do not come back at once.
                spread = ids.uniform(0, 1) if attempt == 1 else 1.0
                await clock.wait_for(self._closing, RETRY_SECONDS * spread)
            try:
                await self._send(happening, decision, retried=attempt > 0)
                return
            except Unreachable as error:
                logger.info("writing an event failed: %s", error)
                if attempt and self._closing.is_set():
                    break
            except ApiError as error:
                self._refused(happening, error)
                return
            except Exception:
                # One event that cannot be written must not keep the others from being written.
                logger.exception("writing an event failed")
                break
        self.dropped += 1
        logger.error("event lost: %s: %s", happening.reason, happening.message)

    def _refused(self, happening: Happening, error: ApiError) -> None:
        """A refusal is final. In a namespace that is going away it is also expected."""
        causes = error.status.details.causes if error.status.details else ()
        expected = any(cause.reason == "NamespaceTerminating" for cause in causes)
        level = logging.DEBUG if expected or is_already_exists(error) else logging.WARNING
        logger.log(level, "event refused: %s: %s: %s", happening.reason, happening.message, error)

    async def _send(self, happening: Happening, decision: Create | Update, *, retried: bool) -> None:
        if isinstance(decision, Update):
            try:
                await self._patch(happening, decision)
                return
            except ApiError as error:
                if not is_not_found(error):
                    raise
            decision = decision.instead
        await self._create(happening, decision, retried=retried)

    async def _patch(self, happening: Happening, update: Update) -> None:
        change = {
            "count": update.instead.count,
            "lastTimestamp": update.instead.last.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "message": update.message,
        }
        await self._client.patch(Event, update.name, change, _namespace(happening.about))

    async def _create(self, happening: Happening, create: Create, *, retried: bool) -> None:
        """Create the event. If its name is taken, try another: two components may report in one instant.

        After a broken connection a taken name means that the first attempt did arrive.
        """
        for attempt in range(_NAME_TRIES_MAX):
            event = self._build(happening, create)
            try:
                await self._client.create(event, namespace=_namespace(happening.about))
                break
            except ApiError as error:
                if not is_already_exists(error) or (not retried and attempt == _NAME_TRIES_MAX - 1):
                    raise
                if retried:
                    break
        self._correlator.created(create, event.metadata.name or "")

    def _build(self, happening: Happening, create: Create) -> Event:
        about = happening.about
        return Event(
            metadata=ObjectMeta(
                name=event_name(about.name or "", happening.at),
                namespace=_namespace(about),
                annotations=dict(happening.annotations),
            ),
            involved_object=about,
            reason=happening.reason,
            message=create.message,
            source=EventSource(component=self._component, host=self._host),
            reporting_component=self._component,
            reporting_instance=self._host,
            first_timestamp=clock.seconds_precision(create.first),
            last_timestamp=clock.seconds_precision(create.last),
            count=create.count,
            type=happening.type,
            action=happening.action,
            related=happening.related,
        )


def event_name(object_name: str, at: datetime) -> str:
    """``<object>.<nanoseconds in hexadecimal>``; a UID where that would not be a valid name.

    Our clock shows microseconds; the digits below are drawn, so that names seldom meet.
    """
    from podling.machinery.names import dns_subdomain_errors

    nanoseconds = (at - _UNIX_EPOCH) // timedelta(microseconds=1) * 1000 + int(ids.uniform(0, 999))
    name = f"{object_name}.{nanoseconds:x}"
    return ids.uid() if dns_subdomain_errors(name) else name


def _namespace(about: ObjectReference) -> str:
    return about.namespace or "default"
