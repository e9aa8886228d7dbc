"""Tests of the rules of Events."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Event
from tests.support.manifests import NOW, obj, rules

ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Event,
        "type: Warning\nreason: BackOff\nmessage: ' too bad '\ncount: 3\n"
        "involvedObject: {kind: Pod, name: p, fieldPath: 'spec.containers{a}'}\n"
        "source: {component: kubelet, host: n1}\n"
        "firstTimestamp: '2026-01-01T11:00:00Z'\nlastTimestamp: '2026-01-01T11:59:30Z'",
        ["30s", "Warning", "BackOff", "pod/p", "spec.containers{a}", "kubelet, n1", "too bad", "60m", 3, "x"],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_event_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW))[: len(expected)] == expected


def test_row_of_event_is_the_same_in_both_groups() -> None:
    from podling.api import events_v1
    from podling.apiserver.kinds.common.views import shown_form
    from podling.machinery.scheme import resource_of

    text = "message: hello\ncount: 2\ninvolvedObject: {kind: Pod, name: p}"
    event = obj(Event, f"{AGED}\n{text}")
    viewed = resource_of(events_v1.Event)
    shown = shown_form(viewed, event)
    assert isinstance(shown, events_v1.Event)
    assert rules(events_v1.Event).row(shown, NOW) == rules(Event).row(event, NOW)


NAMED = "metadata: {name: x, namespace: default}"


def test_event_is_selectable_by_involved_object() -> None:
    text = (
        f"{NAMED}\ninvolvedObject: {{kind: Pod, name: p, uid: u1}}\nreason: R\nsource: {{component: kubelet}}"
    )
    found = rules(Event).selectable_fields(obj(Event, text))
    assert (found["involvedObject.name"], found["involvedObject.uid"]) == ("p", "u1")
    assert (found["reason"], found["source"]) == ("R", "kubelet")
