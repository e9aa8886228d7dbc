"""Validation of events: lenient for the older recorders, strict for the newer ones.

Upstream: ``pkg/apis/core/validation/events.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import Event
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import Path

MAX_WORD = 128
MAX_MESSAGE = 1024
_UNSET = "needs to be unset"

_FIXED = (
    ("involvedObject", "involved_object"), ("reason", "reason"), ("message", "message"),
    ("source", "source"), ("firstTimestamp", "first_timestamp"), ("lastTimestamp", "last_timestamp"),
    ("count", "count"), ("type", "type"), ("eventTime", "event_time"), ("action", "action"),
    ("related", "related"),
    ("reportingController", "reporting_component"), ("reportingInstance", "reporting_instance"),
)  # fmt: skip
"""The immutable fields of a newer event: all but its series."""


def event_errors(event: Event, controller: str) -> Errors:
    """Return the errors in any event. ``controller`` is its group's name for the reporting controller.

    The namespace must be the involved object's, or ``default`` for cluster-scoped objects.
    """
    wanted, namespace = event.involved_object.namespace or "", event.metadata.namespace or ""
    new_style = event.event_time is not None
    if wanted:
        fits = new_style or wanted == namespace
    else:
        fits = namespace == "default" or (new_style and namespace == "kube-system")
    errors: Errors = []
    if not fits:
        where = Path("involvedObject").child("namespace")
        errors.append(fields.invalid(where, wanted, "does not match event.namespace"))
    return errors + (_new_style_errors(event, controller) if new_style else [])


def _new_style_errors(event: Event, controller: str) -> Errors:
    """Return the errors in an event with ``eventTime``, which only the newer recorders set."""
    where, reporter = Path(controller), event.reporting_component or ""
    errors = [] if reporter else [fields.required(where)]
    errors += checks.label_name(where, reporter)
    for name, value in (
        ("reportingInstance", event.reporting_instance),
        ("action", event.action),
        ("reason", event.reason),
    ):
        if not value:
            errors.append(fields.required(Path(name)))
        elif len(value.encode()) > MAX_WORD:
            text = f"can have at most {MAX_WORD} characters"
            errors.append(fields.invalid(Path(name), "", text))
    if len((event.message or "").encode()) > MAX_MESSAGE:
        errors.append(fields.invalid(Path("message"), "", f"can have at most {MAX_MESSAGE} characters"))
    return errors


def new_event_errors(event: Event) -> Errors:
    """Return the additional errors in a new event of ``events.k8s.io``."""
    errors = _series_errors(event)
    if event.event_time is None:
        errors.append(fields.required(Path("eventTime")))
    if event.type not in ("Normal", "Warning"):
        errors.append(fields.invalid(Path("type"), "", f"has invalid value: {event.type or ''}"))
    for name, value in (
        ("firstTimestamp", event.first_timestamp),
        ("lastTimestamp", event.last_timestamp),
        ("count", event.count),
        ("source", event.source.component or event.source.host),
    ):
        errors += [fields.invalid(Path(name), "", _UNSET)] if value else []
    return errors


def event_change_errors(new: Event, old: Event) -> Errors:
    errors = _series_errors(new) if new.series != old.series else []
    for name, attribute in _FIXED:
        errors += checks.immutable(Path(name), getattr(new, attribute), getattr(old, attribute))
    return errors


def _series_errors(event: Event) -> Errors:
    series, path = event.series, Path("series")
    if series is None:
        return []
    errors: Errors = []
    if (series.count or 0) < 2:
        errors.append(fields.invalid(path.child("count"), "", "should be at least 2"))
    if series.last_observed_time is None:
        errors.append(fields.required(path.child("lastObservedTime")))
    return errors
