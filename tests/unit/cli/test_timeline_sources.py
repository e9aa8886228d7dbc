"""Moments of a pod's life from events, the status and the node's record."""

from __future__ import annotations

from typing import Any

import msgspec

from podling.api.core_v1 import Event, Pod
from podling.cli.timeline_model import timeline
from podling.cli.timeline_sources import departed, first_moment, subject_of, told
from podling.kubelet.lives import Beginning
from tests.support.timelines import BORN, event, moment, spans, when


def api_event(
    reason: str, seconds: float, *, component: str = "kubelet", name: str = "web.x", **more: Any
) -> Event:
    plain = {
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "fieldPath": more.pop("path", "spec.containers{main}")},
        "reason": reason,
        "type": "Normal",
        "firstTimestamp": when(seconds).isoformat(),
        "lastTimestamp": when(more.pop("last", seconds)).isoformat(),
        "source": {"component": component},
    }
    return msgspec.convert(plain | more, Event)


def test_event_name_holds_exact_first_moment() -> None:
    nanoseconds = int(BORN.timestamp() * 1e9) + 250_000_000
    assert first_moment(api_event("Pulled", 0, name=f"web.{nanoseconds:x}")) == when(0.25)
    assert first_moment(api_event("Pulled", 0, name="web.custom")) == BORN
    assert first_moment(api_event("Pulled", 0, name="web.123")) == BORN


def test_repeated_event_counts_as_first_and_last_moment() -> None:
    found = told(None, [api_event("BackOff", 3, last=50, count=7)], None)
    assert [(each.moment.at, each.count) for each in found] == [(when(3), 1), (when(50), 7)]


def test_node_record_replaces_kubelet_events() -> None:
    record = (Beginning(pod="shop/web", uid="u", containers=("main",)), [event(4, "Started")])
    events = [api_event("Started", 4), api_event("Scheduled", 1, component="default-scheduler", path="")]
    assert [each.moment.name for each in told(None, events, record)] == ["Started", "Scheduled"]


def api_pod(status: dict[str, Any], phase: str = "Running") -> Pod:
    fixed = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    plain = {
        "metadata": {"name": "web", "namespace": "shop", "creationTimestamp": BORN.isoformat()},
        "spec": {"containers": [{"name": "main"}]},
        "status": {
            "phase": phase,
            "containerStatuses": [fixed | status],
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": BORN.isoformat()}
            ],
        },
    }
    return msgspec.convert(plain, Pod)


def terminated(began: float, end: float, code: int) -> dict[str, Any]:
    times = {"startedAt": when(began).isoformat(), "finishedAt": when(end).isoformat()}
    return {"terminated": {"exitCode": code, "reason": "Error", **times}}


def test_status_without_record_yields_two_runs_and_pause() -> None:
    running = {"running": {"startedAt": when(22).isoformat()}}
    pod = api_pod({"state": running, "lastState": terminated(10, 12, 1), "ready": True})
    moments = told(pod, [], None)
    lane = timeline(subject_of(pod, when(60)), moments, when(60)).lanes[1]
    assert spans(lane) == [("running", 10, 12), ("running", 22, 60), ("ready", 22, 60)]
    waits = api_pod(
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": terminated(10, 12, 1)}
    )
    lane = timeline(subject_of(waits, when(60)), told(waits, [], None), when(60)).lanes[1]
    assert spans(lane) == [("backoff", 12, 60), ("running", 10, 12)]


def test_status_alone_gives_runs_after_events_expired() -> None:
    pod = api_pod({"state": terminated(3, 5, 0)}, phase="Succeeded")
    drawn = timeline(subject_of(pod, when(9999)), told(pod, [], None), when(9999))
    assert drawn.end == when(5)
    assert spans(drawn.lanes[1]) == [("running", 3, 5)]


def test_deleted_pod_is_drawn_from_events_or_record() -> None:
    assert departed("web", "shop", [], None) is None
    by_events = departed("web", "shop", [api_event("Started", 4)], None)
    assert by_events is not None
    assert (by_events.status, by_events.containers, by_events.over) == ("Deleted", ("main",), True)
    moments = [moment(9, "event", "Killing", text="Stopping container main")]
    by_record = departed("web", "shop", [], (Beginning(pod="shop/web", uid="u", created=BORN), moments))
    assert by_record is not None
    assert (by_record.created, by_record.deleted) == (BORN, when(9))
