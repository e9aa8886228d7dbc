"""Events as users see them: written in order, counted, and never in the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import ConfigMap, Event, Node
from podling.api.meta_v1 import ObjectMeta
from podling.client.events import GATHER_SECONDS, QUEUE_LENGTH_MAX, EventRecorder
from podling.testing import ControlPlane

MAP = ConfigMap(metadata=ObjectMeta(name="settings", namespace="default", uid="u1", resource_version="7"))


@pytest.fixture
async def recorder(cluster: ControlPlane) -> AsyncIterator[EventRecorder]:
    recorder = EventRecorder(cluster.client, "kubelet", "node-1")
    task = asyncio.create_task(recorder.run())
    yield recorder
    await recorder.close()
    await task


async def events(cluster: ControlPlane, namespace: str = "default") -> list[Event]:
    return list((await cluster.client.list(Event, namespace)).items)


async def test_an_event_says_who_what_when_and_about_what(
    cluster: ControlPlane, recorder: EventRecorder
) -> None:
    await cluster.advance(seconds=90)
    recorder.event(MAP, "Normal", "Pulled", "here it is", field_path="data{a}")
    await cluster.advance(seconds=1)
    (event,) = await events(cluster)
    assert (event.type, event.reason, event.message, event.count) == ("Normal", "Pulled", "here it is", 1)
    assert (event.source.component, event.source.host) == ("kubelet", "node-1")
    assert (event.reporting_component, event.reporting_instance) == ("kubelet", "node-1")
    about = event.involved_object
    assert (about.kind, about.api_version, about.namespace, about.name) == (
        "ConfigMap",
        "v1",
        "default",
        "settings",
    )
    assert (about.uid, about.resource_version, about.field_path) == ("u1", "7", "data{a}")
    assert event.first_timestamp is not None
    assert event.first_timestamp == event.last_timestamp
    name, _, moment = (event.metadata.name or "").rpartition(".")
    assert name == "settings"
    assert int(moment, 16) // 10**9 == event.first_timestamp.timestamp()


async def test_an_event_leaves_the_first_moment_to_the_work_that_it_reports(
    cluster: ControlPlane, recorder: EventRecorder
) -> None:
    recorder.event(MAP, "Normal", "Pulled", "here it is")
    recorder.event(MAP, "Normal", "Created", "made")
    await cluster.advance(seconds=GATHER_SECONDS / 2)
    assert await events(cluster) == []
    await cluster.advance(seconds=GATHER_SECONDS)
    assert {event.reason for event in await events(cluster)} == {"Pulled", "Created"}


async def test_events_of_two_components_keep_their_order(
    cluster: ControlPlane, recorder: EventRecorder
) -> None:
    other = EventRecorder(cluster.client, "scheduler")
    running = asyncio.create_task(other.run())
    recorder.event(MAP, "Normal", "Killing", "of another pod")
    await cluster.advance(seconds=GATHER_SECONDS / 2)
    other.event(MAP, "Normal", "Scheduled", "first")
    await cluster.advance(seconds=GATHER_SECONDS / 10)
    recorder.event(MAP, "Normal", "Pulled", "second")
    await cluster.advance(seconds=1)
    running.cancel()
    found = sorted(await events(cluster), key=lambda event: int(event.metadata.resource_version or ""))
    assert [event.reason for event in found] == ["Killing", "Scheduled", "Pulled"]


async def test_events_of_one_moment_keep_their_order(cluster: ControlPlane, recorder: EventRecorder) -> None:
    reasons = ["Pulled", "Created", "Started", "Killing"]
    for reason in reasons:
        recorder.event(MAP, "Normal", reason, "the same")
    await cluster.advance(seconds=1)
    found = sorted(await events(cluster), key=lambda event: int(event.metadata.resource_version or ""))
    assert [event.reason for event in found] == reasons


async def test_repeats_of_one_moment_are_counted(cluster: ControlPlane, recorder: EventRecorder) -> None:
    for reason in ("Pulled", "Created", "Created", "Started", "Created", "Pulled"):
        recorder.event(MAP, "Normal", reason, "the same")
    await cluster.advance(seconds=1)
    counts = {event.reason: event.count for event in await events(cluster)}
    assert counts == {"Pulled": 2, "Created": 3, "Started": 1}


async def test_a_repeated_event_is_counted(cluster: ControlPlane, recorder: EventRecorder) -> None:
    for _ in range(4):
        recorder.event(MAP, "Warning", "BackOff", "again")
        await cluster.advance(seconds=10)
    (event,) = await events(cluster)
    assert event.count == 4
    assert event.first_timestamp is not None
    assert event.last_timestamp is not None
    assert (event.last_timestamp - event.first_timestamp).seconds == 30


async def test_an_event_that_was_deleted_meanwhile_is_written_anew(
    cluster: ControlPlane, recorder: EventRecorder
) -> None:
    recorder.event(MAP, "Warning", "BackOff", "again")
    await cluster.advance(seconds=1)
    (event,) = await events(cluster)
    await cluster.client.delete(Event, event.metadata.name or "", "default")
    recorder.event(MAP, "Warning", "BackOff", "again")
    await cluster.advance(seconds=1)
    (event,) = await events(cluster)
    assert event.count == 2


async def test_events_about_cluster_scoped_objects_go_to_the_default_namespace(
    cluster: ControlPlane, recorder: EventRecorder
) -> None:
    recorder.event(Node(metadata=ObjectMeta(name="n1")), "Normal", "NodeReady", "ready")
    await cluster.advance(seconds=1)
    (event,) = await events(cluster)
    assert event.involved_object.name == "n1"
    assert event.metadata.namespace == "default"


async def test_two_events_in_one_instant_are_two(cluster: ControlPlane, recorder: EventRecorder) -> None:
    for number in range(5):
        recorder.event(MAP, "Normal", "Pulled", f"image {number}")
    await cluster.advance(seconds=1)
    assert sorted(event.message or "" for event in await events(cluster)) == [f"image {n}" for n in range(5)]


async def test_a_full_queue_drops_rather_than_waits(cluster: ControlPlane) -> None:
    recorder = EventRecorder(cluster.client, "kubelet")
    for number in range(QUEUE_LENGTH_MAX + 3):
        recorder.event(MAP, "Normal", "Pulled", f"image {number}")
    assert recorder.dropped == 3


async def test_flood_of_dropped_events_is_logged_twice(
    cluster: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = EventRecorder(cluster.client, "kubelet")
    for number in range(QUEUE_LENGTH_MAX + 500):
        recorder.event(MAP, "Normal", "Pulled", f"image {number}")
    task = asyncio.create_task(recorder.run())
    await cluster.advance(seconds=60)
    recorder.event(MAP, "Normal", "Pulled", "room again")
    await recorder.close()
    await task
    texts = [each.getMessage() for each in caplog.records if "dropped" in each.getMessage()]
    assert texts == [
        f"event dropped: ConfigMap settings: Pulled: image {QUEUE_LENGTH_MAX}",
        "500 events were dropped",
    ]


async def test_closing_writes_what_is_left_and_takes_no_more(cluster: ControlPlane) -> None:
    recorder = EventRecorder(cluster.client, "kubelet")
    recorder.event(MAP, "Normal", "Pulled", "last words")
    await recorder.close()
    recorder.event(MAP, "Normal", "Pulled", "too late")
    assert [event.message for event in await events(cluster)] == ["last words"]
    assert recorder.dropped == 1


async def test_a_refused_event_holds_up_nothing(cluster: ControlPlane, recorder: EventRecorder) -> None:
    nowhere = ConfigMap(metadata=ObjectMeta(name="settings", namespace="no-such-namespace", uid="u2"))
    recorder.event(nowhere, "Normal", "Pulled", "refused")
    recorder.event(MAP, "Normal", "Pulled", "written")
    await cluster.advance(seconds=1)
    assert [event.message for event in await events(cluster)] == ["written"]
