"""What the cluster has recorded about a pod: its events, oldest first."""

from __future__ import annotations

from datetime import UTC, datetime

from podling.api.core_v1 import Event, Pod
from podling.client.base import Client

NEVER = datetime(1970, 1, 1, tzinfo=UTC)


async def events_of(client: Client, pod: Pod) -> list[Event]:
    """The events about exactly this pod (not a namesake before it), by the time they last happened."""
    selector = f"involvedObject.name={pod.metadata.name},involvedObject.uid={pod.metadata.uid}"
    found = await client.list(Event, pod.metadata.namespace, field_selector=selector)
    return sorted(found.items, key=moment_of)


def moment_of(event: Event) -> datetime:
    """When an event last happened."""
    return event.last_timestamp or event.event_time or event.metadata.creation_timestamp or NEVER
