"""Tests of the validation of events, by the core group and ``events.k8s.io``."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api import events_v1
from podling.api.core_v1 import Event
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, KindRow, causes, invalid, required
from tests.support.manifests import NOW, created, creation_causes, obj, rules

EMPTY_NAME = (
    "name part must be non-empty",
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
)
INVALID: list[KindRow] = [
    (
        Event,
        "involvedObject: {namespace: other}",
        [invalid("involvedObject.namespace", '"other"', "does not match event.namespace")],
    ),
    (
        Event,
        "eventTime: '2026-01-01T12:00:00.000000Z'",
        [
            required("reportingComponent"),
            *[invalid("reportingComponent", '""', text) for text in EMPTY_NAME],
            required("reportingInstance"),
            required("action"),
            required("reason"),
        ],
    ),
]
METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    Event: {"metadata": METADATA, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}},
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_event_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


NAMED = "metadata: {name: x, namespace: default}"
NEW_OBJECTS: list[KindRow] = [
    (
        Event,
        f"{NAMED}\ninvolvedObject: {{kind: Pod, namespace: other}}",
        [invalid("involvedObject.namespace", '"other"', "does not match event.namespace")],
    ),
    (Event, f"{NAMED}\ninvolvedObject: {{kind: Node, name: n1}}", []),
]


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_event_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text))) == expected


def rules_of_the_newer_group() -> Any:
    return rules(events_v1.Event)


NEW_STYLE: dict[str, Any] = {
    "eventTime": "2026-01-01T12:00:00.000000Z",
    "reportingComponent": "example.com/controller",
    "reportingInstance": "controller-1",
    "action": "Binding",
    "reason": "Scheduled",
    "type": "Normal",
}


def new_event(text: str) -> Event:
    made: Event = obj(Event, text, {**VALID[Event], **NEW_STYLE})
    return made


LONG = "a" * 129


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("eventTime: null", [required("eventTime")]),
        ("type: Bad", [invalid("type", '""', "has invalid value: Bad")]),
        (f"action: {LONG}", [invalid("action", '""', "can have at most 128 characters")]),
        (f"message: {'m' * 1025}", [invalid("message", '""', "can have at most 1024 characters")]),
        ("count: 1", [invalid("count", '""', "needs to be unset")]),
        ("source: {component: c}", [invalid("source", '""', "needs to be unset")]),
        (
            "series: {count: 1}",
            [invalid("series.count", '""', "should be at least 2"), required("series.lastObservedTime")],
        ),
    ],
)
def test_new_event_of_newer_group_is_validated(text: str, expected: list[Cause]) -> None:
    own = rules_of_the_newer_group()
    assert causes(own.validate(new_event(text), Context(NOW))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("series: {count: 2, lastObservedTime: '2026-01-01T12:00:00.000000Z'}", []),
        ("reason: Other", [invalid("reason", '"Other"', "field is immutable")]),
        ("type: Warning", [invalid("type", '"Warning"', "field is immutable")]),
    ],
)
def test_event_of_newer_group_changes_only_its_series(text: str, expected: list[Cause]) -> None:
    own = rules_of_the_newer_group()
    assert causes(own.validate_update(new_event(text), new_event(""), Context(NOW))) == expected
