"""Tests of the conversion between stored and served kinds."""

from __future__ import annotations

from podling.api import core_v1, events_v1
from podling.apiserver.kinds.common.views import shown_form, stored_form
from podling.machinery.scheme import resource_of
from tests.support.manifests import obj

EVENT = (
    "{metadata: {name: e, namespace: default}, regarding: {kind: Pod, name: p}, note: hello, reason: R, "
    "reportingController: c, reportingInstance: i, deprecatedCount: 2, "
    "series: {count: 3, lastObservedTime: '2026-01-01T12:00:00.000000Z'}}"
)


def test_newer_event_is_stored_as_core_event() -> None:
    stored = stored_form(resource_of(events_v1.Event), obj(events_v1.Event, EVENT))
    assert isinstance(stored, core_v1.Event)
    assert (stored.involved_object.name, stored.message, stored.count) == ("p", "hello", 2)
    assert (stored.reporting_component, stored.reporting_instance) == ("c", "i")


def test_newer_event_survives_round_trip() -> None:
    resource, event = resource_of(events_v1.Event), obj(events_v1.Event, EVENT)
    assert shown_form(resource, stored_form(resource, event)) == event


def test_core_event_is_not_converted() -> None:
    resource, event = resource_of(core_v1.Event), obj(core_v1.Event, "message: hello")
    assert stored_form(resource, event) is event
    assert shown_form(resource, event) is event
