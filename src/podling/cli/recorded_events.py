"""Events about an object, oldest first."""

from __future__ import annotations

from datetime import UTC, datetime

from podling.api.core_v1 import Event
from podling.client.base import ApiObject, Client

NEVER = datetime(1970, 1, 1, tzinfo=UTC)


async def events_of(client: Client, obj: ApiObject) -> list[Event]:
    """Return the events about the object with this UID, by the time of their last occurrence."""
    selector = f"involvedObject.name={obj.metadata.name},involvedObject.uid={obj.metadata.uid}"
    found = await client.list(Event, obj.metadata.namespace, field_selector=selector)
    return sorted(found.items, key=moment_of)


def moment_of(event: Event) -> datetime:
    """When an event last happened."""
    series = event.series.last_observed_time if event.series is not None else None
    return (
        series
        or event.last_timestamp
        or event.event_time
        or event.first_timestamp
        or event.metadata.creation_timestamp
        or NEVER
    )
