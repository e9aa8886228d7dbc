"""The times of the changes that lead to changes of EndpointSlices. The table is upstream's
(``TestNewServiceNoPods`` and its neighbours of ``k8s.io/endpointslice/util``)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.api.core_v1 import Pod, PodCondition, PodStatus, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.controllers.endpoints.trigger_times import ANNOTATION, TriggerTimes, with_trigger

KEY = Key("default", "web")
Look = tuple[int, dict[str, int], int | None]
"""The creation of the Service, the times of its pods, and the expected trigger, in seconds."""


def moment(seconds: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "looks",
    [
        [(2, {}, 2)],
        [(3, {"a": 0, "b": 1, "c": 5}, 3)],
        [(0, {}, 0), (0, {"b": 2, "a": 1}, 1)],
        [(0, {"a": 1, "b": 2}, 0), (0, {"a": 1, "b": 4}, 4)],
        [(0, {"a": 1, "b": 2}, 0), (0, {"a": 5, "b": 4}, 4)],
        [(0, {"a": 1}, 0), (0, {"a": 1}, None)],
        [(0, {"a": 1}, 0), (0, {}, None)],
        [(0, {"a": 1}, 0), (3, {"a": 5}, 3)],
    ],
    ids=[
        "new", "new with pods", "pods added", "pod changed", "pods changed", "no change", "pod deleted",
        "service made anew",
    ],
)  # fmt: skip
def test_trigger_is_the_earliest_change_since_the_last_look(looks: list[Look]) -> None:
    times = TriggerTimes()
    for created, pods, wanted in looks:
        service = Service(metadata=ObjectMeta(creation_timestamp=moment(created)))
        found = times.take(KEY, service, [pod(name, since) for name, since in pods.items()])
        assert found == (None if wanted is None else moment(wanted))


def pod(name: str, since: int) -> Pod:
    ready = PodCondition(type="Ready", status="True", last_transition_time=moment(since))
    return Pod(metadata=ObjectMeta(name=name), status=PodStatus(conditions=(ready,)))


def test_service_that_is_gone_is_new_when_it_comes_back() -> None:
    times = TriggerTimes()
    service = Service(metadata=ObjectMeta(creation_timestamp=moment(1)))
    assert times.take(KEY, service, []) == moment(1)
    assert times.take(KEY, service, []) is None
    times.forget(KEY)
    assert times.take(KEY, service, []) == moment(1)


def test_annotation_is_written_and_removed() -> None:
    found = EndpointSlice(metadata=ObjectMeta(annotations={"mine": "stays"}))
    stamped = with_trigger(found, moment(1).replace(microsecond=250_000))
    assert stamped.metadata.annotations == {"mine": "stays", ANNOTATION: "2026-01-01T00:00:01.25Z"}
    assert with_trigger(stamped, moment(2)).metadata.annotations[ANNOTATION] == "2026-01-01T00:00:02Z"
    assert with_trigger(stamped, None) == found
