"""When the pods or the Service changed that lead to a change of EndpointSlices and Endpoints. Pure.

The time stands in an annotation, from which each node's service proxy computes how long a change took to
reach its kernel. Upstream: ``TriggerTimeTracker`` in ``k8s.io/endpointslice/util``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct, structs

from podling.api.core_v1 import Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.machinery.conditions import find

ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time"


class _Seen(Struct, frozen=True):
    """The times of a Service and of its pods at the last look."""

    service: datetime | None
    pods: dict[str, datetime]


class TriggerTimes:
    """Compares the times of each Service and its pods with those of the last look."""

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}

    def take(self, key: Key, service: Service, pods: Iterable[Pod]) -> datetime | None:
        """Return the earliest time of a change since the last look; None if no time says anything.

        That of a new Service is its creation, also when its pods changed before.
        """
        before = self._seen.get(key)
        created = service.metadata.creation_timestamp
        times = {pod.metadata.name or "": moment for pod in pods if (moment := _ready_since(pod)) is not None}
        self._seen[key] = _Seen(created, times)
        if before is None:
            return created
        changed = [moment for name, moment in times.items() if _is_later(moment, before.pods.get(name))]
        if created is not None and _is_later(created, before.service):
            changed.append(created)
        return min(changed, default=None)

    def forget(self, key: Key) -> None:
        """Forget a Service that is gone."""
        self._seen.pop(key, None)


def triggered(metadata: ObjectMeta, trigger: datetime | None) -> ObjectMeta:
    """Return metadata with the time in an annotation, of an object that is about to be written."""
    kept = {name: text for name, text in metadata.annotations.items() if name != ANNOTATION}
    if trigger is not None:
        kept[ANNOTATION] = _text(trigger)
    return structs.replace(metadata, annotations=kept)


def with_trigger(found: EndpointSlice, trigger: datetime | None) -> EndpointSlice:
    """Return a slice that is about to be written with the time in its annotation."""
    return structs.replace(found, metadata=triggered(found.metadata, trigger))


def _ready_since(pod: Pod) -> datetime | None:
    ready = find(pod.status.conditions, "Ready")
    return ready.last_transition_time if ready is not None else None


def _is_later(moment: datetime, before: datetime | None) -> bool:
    return before is None or moment > before


def _text(moment: datetime) -> str:
    """Return a time in UTC in Go's format RFC3339Nano."""
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"
