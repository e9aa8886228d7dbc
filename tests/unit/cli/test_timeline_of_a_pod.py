"""A pod's life as spans and marks, and the two ways to draw it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import click
import msgspec
import pytest

from podling.api.core_v1 import Event, Pod
from podling.cli.timeline_model import Lane, Span, Timeline, timeline
from podling.cli.timeline_svg import svg
from podling.cli.timeline_text import lines

BORN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    return (BORN + timedelta(seconds=seconds)).isoformat()


def pod(statuses: list[dict[str, Any]] | None = None, phase: str = "Running", **status: Any) -> Pod:
    fixed = {"image": "", "imageID": "", "ready": False, "restartCount": 0}
    plain = {
        "metadata": {"name": "web", "namespace": "default", "creationTimestamp": at(0)},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": phase, "containerStatuses": [fixed | each for each in statuses or []]} | status,
    }
    return msgspec.convert(plain, Pod)


def event(seconds: float, reason: str, *, about: str = "main", kind: str = "Normal", count: int = 1) -> Event:
    path = f"spec.containers{{{about}}}" if about else ""
    plain = {
        "involvedObject": {"kind": "Pod", "fieldPath": path},
        "reason": reason,
        "message": f"{reason} & <said>",
        "type": kind,
        "count": count,
        "lastTimestamp": at(seconds),
    }
    return msgspec.convert(plain, Event)


def drawn(subject: Pod, *events: Event, now: float = 60) -> Timeline:
    return timeline(subject, events, BORN + timedelta(seconds=now))


def told(lane: Lane) -> list[tuple[str, float, float]]:
    """Each span's kind, start and end in seconds."""

    def seconds(span: Span) -> tuple[str, float, float]:
        return span.kind, (span.start - BORN).total_seconds(), (span.end - BORN).total_seconds()

    return [seconds(span) for span in lane.spans]


SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(2)}
READY = {"type": "Ready", "status": "True", "lastTransitionTime": at(10)}


def test_a_pod_that_waits_for_a_node() -> None:
    (lane, container) = drawn(pod(phase="Pending")).lanes
    assert told(lane) == [("scheduling", 0, 60)]
    assert lane.spans[0].open
    assert container.spans == ()


def test_a_pod_that_became_ready() -> None:
    subject = pod(
        [{"name": "main", "state": {"running": {"startedAt": at(8)}}}], conditions=[SCHEDULED, READY]
    )
    (lane, container) = drawn(subject, event(3, "Pulling"), event(7, "Pulled")).lanes
    assert told(lane) == [("scheduling", 0, 2), ("waiting", 2, 10), ("ready", 10, 60)]
    assert told(container) == [("pulling", 3, 7), ("running", 8, 60)]
    assert [mark.reason for mark in container.marks] == ["Pulling", "Pulled"]


def test_a_container_between_two_runs() -> None:
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": at(10), "finishedAt": at(12)}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    (_, container) = drawn(pod([{"name": "main", "state": waiting, "lastState": ended}])).lanes
    assert told(container) == [("running", 10, 12), ("backoff", 12, 60)]
    running = {"running": {"startedAt": at(22)}}
    (_, container) = drawn(pod([{"name": "main", "state": running, "lastState": ended}])).lanes
    assert told(container) == [("running", 10, 12), ("backoff", 12, 22), ("running", 22, 60)]


def test_a_finished_pods_life_ends_when_it_did() -> None:
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": at(3), "finishedAt": at(5)}}
    life = drawn(pod([{"name": "main", "state": ended}], phase="Succeeded"), event(4, "Started"), now=9999)
    assert (life.end - BORN).total_seconds() == 5


def test_a_failed_pull_ends_where_it_failed() -> None:
    (_, container) = drawn(
        pod(phase="Pending"), event(3, "Pulling"), event(9, "Failed", kind="Warning")
    ).lanes
    assert told(container) == [("pulling", 3, 9)]
    assert container.marks[1].warning


@pytest.mark.parametrize("width", [20, 80, 200])
def test_in_the_terminal_no_chart_line_is_wider_than_asked(width: int) -> None:
    subject = pod(
        [{"name": "main", "state": {"running": {"startedAt": at(8)}}}], conditions=[SCHEDULED, READY]
    )
    shown = [
        click.unstyle(line) for line in lines(drawn(subject, event(30, "Unhealthy", kind="Warning")), width)
    ]
    chart = shown[1:4]
    assert all(len(line) <= max(width, 26) for line in chart), chart
    assert "!" in chart[2]
    assert shown[-1].endswith("main  Unhealthy: Unhealthy & <said>")


def test_the_picture_is_sound_and_holds_every_lane() -> None:
    subject = pod(
        [{"name": "main", "state": {"running": {"startedAt": at(8)}}}], conditions=[SCHEDULED, READY]
    )
    root = ElementTree.fromstring(svg(drawn(subject, event(30, "Unhealthy", kind="Warning", count=3))))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"pod", "main"} <= set(texts)
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "Unhealthy x3: Unhealthy & <said>" in titles


def test_a_life_of_no_length_can_be_drawn() -> None:
    life = drawn(pod(phase="Pending"), now=0)
    assert list(lines(life, 80))
    ElementTree.fromstring(svg(life))
