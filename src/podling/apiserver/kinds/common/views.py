"""Conversion between the stored and the served kinds of one object: events, autoscalers, custom resources.

Pure. Core and ``events.k8s.io`` events, and both versions of autoscalers, are stored as the kind of
``Resource.storage_resource``. Objects of the other kind are converted on input and output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from podling.api import core_v1, events_v1
from podling.apiserver.kinds.common.autoscaler_views import v1_from_v2, v2_from_v1
from podling.machinery.encoding.custom import CustomObject, CustomResource
from podling.machinery.scheme import Resource


class _Conversion(Struct, frozen=True):
    inward: Callable[[Any], Any]
    outward: Callable[[Any], Any]


def stored_form(resource: Resource, obj: Any) -> Any:
    """Return ``obj``, of the kind of ``resource``, as the stored kind."""
    if isinstance(obj, CustomObject):
        return obj  # the writer converts it: rules are those of the request's own version
    found = _CONVERSIONS.get((resource.group, resource.version, resource.kind)) if resource.storage else None
    return found.inward(obj) if found and isinstance(obj, resource.type) else obj


def shown_form(resource: Resource, obj: Any) -> Any:
    """Return a stored object as the kind of ``resource``."""
    if isinstance(obj, CustomObject):
        return _convert_version(obj, resource)
    found = _CONVERSIONS.get((resource.group, resource.version, resource.kind)) if resource.storage else None
    return found.outward(obj) if found and isinstance(obj, resource.storage_resource.type) else obj


def _convert_version(obj: CustomObject, resource: Resource) -> CustomObject:
    """Return a custom object with another version's name, pruned by that version's schema."""
    if obj.api_version == resource.group_version:
        return obj
    return prune_for(resource, structs.replace(obj, api_version=resource.group_version))


def prune_for(resource: Resource, obj: CustomObject) -> CustomObject:
    """Return a converted custom object, pruned by the schema of ``resource``'s version."""
    schema = resource.schema if isinstance(resource, CustomResource) else None
    return obj if schema is None else structs.replace(obj, content=schema.pruned(obj.content))


def _core_from_events(event: events_v1.Event) -> core_v1.Event:
    series = event.series
    return core_v1.Event(
        metadata=event.metadata,
        involved_object=event.regarding or core_v1.ObjectReference(),
        related=event.related,
        reason=event.reason,
        message=event.note,
        type=event.type,
        action=event.action,
        reporting_component=event.reporting_controller or "",
        reporting_instance=event.reporting_instance or "",
        event_time=event.event_time,
        series=core_v1.EventSeries(count=series.count, last_observed_time=series.last_observed_time)
        if series
        else None,
        source=event.deprecated_source or core_v1.EventSource(),
        first_timestamp=event.deprecated_first_timestamp,
        last_timestamp=event.deprecated_last_timestamp,
        count=event.deprecated_count,
    )


def _events_from_core(event: core_v1.Event) -> events_v1.Event:
    series = event.series
    shown = (
        events_v1.EventSeries(count=series.count or 0, last_observed_time=series.last_observed_time)
        if series
        else None
    )
    return events_v1.Event(
        metadata=event.metadata,
        regarding=event.involved_object,
        related=event.related,
        reason=event.reason,
        note=event.message,
        type=event.type,
        action=event.action,
        reporting_controller=event.reporting_component,
        reporting_instance=event.reporting_instance,
        event_time=event.event_time,
        series=shown,
        deprecated_source=event.source,
        deprecated_first_timestamp=event.first_timestamp,
        deprecated_last_timestamp=event.last_timestamp,
        deprecated_count=event.count,
    )


_CONVERSIONS = {
    ("events.k8s.io", "v1", "Event"): _Conversion(_core_from_events, _events_from_core),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): _Conversion(v2_from_v1, v1_from_v2),
}
