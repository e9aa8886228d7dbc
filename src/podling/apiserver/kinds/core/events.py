"""Events of both groups: one stored kind, served as two kinds.

Upstream: ``pkg/registry/core/event``, ``pkg/apis/core/validation/events.go``, ``printEvent`` in
``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import Event, ObjectReference
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import UNKNOWN, age_since, to_stored_kind, wide_column
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.core.event_validation import event_change_errors, event_errors, new_event_errors
from podling.machinery import names
from podling.machinery.tables import Column

_REFERENCE = (
    ("kind", "kind"), ("namespace", "namespace"), ("name", "name"), ("uid", "uid"),
    ("apiVersion", "api_version"), ("resourceVersion", "resource_version"), ("fieldPath", "field_path"),
)  # fmt: skip


class EventRules(KindRules[Event]):
    create_on_update = True
    bare_finalizers = True
    columns = (
        Column("Last Seen", description="When the event happened last"),
        Column("Type", description="Normal or Warning"),
        Column("Reason", description="The reason, in one word"),
        Column("Object", description="What the event is about"),
        wide_column("Subobject", "Which part of the object the event is about"),
        wide_column("Source", "Who reports the event"),
        Column("Message", description="What happened"),
        wide_column("First Seen", "When the event happened first"),
        wide_column("Count", "How often the event happened"),
        Column("Name", format="name", description="Name of the event", priority=1),
    )
    field_labels = (
        *(f"involvedObject.{name}" for name, _ in _REFERENCE),
        "reason", "reportingComponent", "source", "type",
    )  # fmt: skip

    def name_errors(self, name: str) -> list[str]:
        """Return the errors in a name: it must be a URL path segment."""
        return names.path_segment_errors(name)

    def validate(self, obj: Event, context: Context) -> Errors:
        return event_errors(obj, "reportingComponent")

    def validate_update(self, new: Event, old: Event, context: Context) -> Errors:
        return self.validate(new, context)

    def selectable_fields(self, obj: Event) -> dict[str, str]:
        found = {
            f"involvedObject.{name}": getattr(obj.involved_object, attribute) or ""
            for name, attribute in _REFERENCE
        }
        source = obj.source.component or obj.reporting_component or ""
        return {
            **found,
            "reason": obj.reason or "",
            "reportingComponent": obj.reporting_component or "",
            "source": source,
            "type": obj.type or "",
        }

    def row(self, obj: Any, now: datetime) -> Sequence[Any]:
        """Return the same cells for an event of either group."""
        obj = to_stored_kind(obj)
        first, last = _times(obj, now)
        count = obj.count or 0
        if obj.series is not None:
            count = obj.series.count or 0
        elif count == 0:
            count = 1
        return (
            last,
            obj.type,
            obj.reason,
            _object(obj.involved_object),
            obj.involved_object.field_path or "",
            _source(obj),
            (obj.message or "").strip(),
            first,
            count,
            obj.metadata.name,
        )


class NewEventRules(EventRules):
    """Rules of events in ``events.k8s.io``: stricter than the core group's, with other field names."""

    field_labels = (*(f"regarding.{name}" for name, _ in _REFERENCE), "reason", "reportingController", "type")

    def selectable_fields(self, obj: Event) -> dict[str, str]:
        stored = super().selectable_fields(obj)
        return {label: stored[_stored_label(label)] for label in self.field_labels}

    bare_finalizers = False

    def name_errors(self, name: str) -> list[str]:
        return names.dns_subdomain_errors(name)

    def validate(self, obj: Event, context: Context) -> Errors:
        return event_errors(obj, "reportingController") + new_event_errors(obj)

    def validate_update(self, new: Event, old: Event, context: Context) -> Errors:
        return event_errors(new, "reportingController") + event_change_errors(new, old)


def _stored_label(label: str) -> str:
    """Return the core group's name of a field."""
    return label.replace("regarding.", "involvedObject.").replace("reportingController", "reportingComponent")


def _times(obj: Event, now: datetime) -> tuple[str, str]:
    """Return the ages of the first and the last occurrence."""
    happened = obj.event_time
    first = age_since(obj.first_timestamp or happened, now)
    last = first if obj.last_timestamp is None else age_since(obj.last_timestamp, now)
    if obj.series is not None and obj.series.last_observed_time is not None:
        last = age_since(obj.series.last_observed_time, now)
    return first or UNKNOWN, last or UNKNOWN


def _object(reference: ObjectReference) -> str:
    kind, name = (reference.kind or "").lower(), reference.name or ""
    return f"{kind}/{name}" if name else kind


def _source(obj: Event) -> str:
    component = obj.source.component or obj.reporting_component or ""
    host = obj.source.host or obj.reporting_instance or ""
    return f"{component}, {host}" if host else component
