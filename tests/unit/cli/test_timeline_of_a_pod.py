"""A pod's life as spans and marks, where its moments come from, and the two ways to draw it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import click
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Event, Pod
from podling.cli.timeline_model import Lane, Mark, Subject, Timeline, Told, timeline
from podling.cli.timeline_sources import departed, first_moment, subject_of, told
from podling.cli.timeline_svg import svg
from podling.cli.timeline_text import BLOCKS, lines
from podling.kubelet.lives import Beginning, Moment

BORN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


def when(seconds: float) -> datetime:
    return BORN + timedelta(seconds=seconds)


def moment(seconds: float, kind: str, name: str = "", container: str = "main", **more: Any) -> Moment:
    return Moment(at=when(seconds), kind=kind, name=name, container=container, **more)


def event(seconds: float, name: str, container: str = "main", **more: Any) -> Moment:
    return moment(seconds, "event", name, container, text=f"{name} & <said>", **more)


def life(*moments: Moment, now: float = 60, **subject: Any) -> Timeline:
    fixed: dict[str, Any] = {
        "pod": "web",
        "namespace": "shop",
        "status": "Running",
        "containers": ("main",),
        "created": BORN,
    }
    return timeline(Subject(**(fixed | subject)), [Told(moment=each) for each in moments], when(now))


def spans(lane: Lane) -> list[tuple[str, float, float]]:
    """Each span's kind, start and end in seconds."""
    return [
        (span.kind, (span.start - BORN).total_seconds(), (span.end - BORN).total_seconds())
        for span in lane.spans
    ]


def marks(lane: Lane, kind: str) -> list[tuple[str, float]]:
    return [(mark.reason, (mark.at - BORN).total_seconds()) for mark in lane.marks if mark.kind == kind]


SCHEDULED = event(2, "Scheduled", "")


def test_a_pod_that_waits_for_a_node() -> None:
    (pod, container) = life(event(1.5, "FailedScheduling", "", warning=True)).lanes
    assert spans(pod) == [("scheduling", 0, 60)]
    assert pod.spans[0].open
    assert container.spans == ()


def test_a_pod_that_became_ready_lost_it_and_has_it_again() -> None:
    flips = [moment(at, kind, container="") for at, kind in ((10, "ready"), (20, "unready"), (30, "ready"))]
    pod = life(SCHEDULED, *flips).lanes[0]
    assert spans(pod) == [("scheduling", 0, 2), ("waiting", 2, 60), ("ready", 10, 20), ("ready", 30, 60)]
    assert [span.open for span in pod.spans] == [False, True, False, True]


def test_a_first_moment_within_the_second_of_creation_is_the_beginning() -> None:
    assert life(event(0.4, "Scheduled", "")).start == when(0.4)
    assert life(event(1.4, "Scheduled", "")).start == BORN


def test_a_pull_lasts_until_it_is_answered() -> None:
    pulled = life(event(3, "Pulling"), event(7, "Pulled"), event(8, "Started")).lanes[1]
    assert spans(pulled) == [("pulling", 3, 7), ("running", 8, 60)]
    backoff = moment(5, "waiting", "ImagePullBackOff")
    failed = life(event(3, "Pulling"), event(4, "Failed"), backoff, event(15, "Pulling")).lanes[1]
    assert spans(failed) == [("pulling", 3, 4), ("backoff", 5, 15), ("pulling", 15, 60)]


def ended(seconds: float, code: int, began: float, name: str = "Error") -> Moment:
    return moment(seconds, "ended", name, code=code, began=when(began))


def test_every_run_and_back_off_is_drawn() -> None:
    pause = "CrashLoopBackOff"
    runs = [event(1, "Started"), ended(3, 1, 1), moment(3, "waiting", pause)]
    runs += [event(13, "Started"), ended(14, 2, 13), moment(14, "waiting", pause), event(34, "Started")]
    lane = life(*runs).lanes[1]
    assert [span for span in spans(lane) if span[0] == "running"] == [
        ("running", 1, 3),
        ("running", 13, 14),
        ("running", 34, 60),
    ]
    assert [span for span in spans(lane) if span[0] == "backoff"] == [("backoff", 3, 13), ("backoff", 14, 34)]
    assert marks(lane, "end") == [("Error", 3), ("Error", 14)]


def test_end_recorded_after_next_start_closes_first_run() -> None:
    lane = life(event(1, "Started"), event(5, "Started"), ended(5.1, 7, 1)).lanes[1]
    assert spans(lane) == [("running", 1, 5), ("running", 5, 60)]
    assert lane.spans[0].text == "Error, exit code 7"
    assert marks(lane, "end") == [("Error", 5)]


def test_readiness_is_drawn_within_runs_only() -> None:
    lane = life(
        event(1, "Started"), moment(2, "ready"), ended(9, 1, 1), moment(9.2, "unready"), event(20, "Started")
    ).lanes[1]
    assert spans(lane)[-1] == ("ready", 2, 9)
    done = life(event(1, "Started"), ended(3, 0, 1, "Completed"), moment(3, "ready")).lanes[1]
    assert spans(done) == [("running", 1, 3)]


def test_hooks_signals_and_verdicts() -> None:
    lane = life(
        event(1, "Started"),
        moment(1, "hook", "postStart"),
        moment(2, "hook-end", "postStart"),
        moment(3, "probe", "readiness", text="Success"),
        moment(6, "probe", "readiness", text="Failure"),
        moment(10, "hook", "preStop"),
        moment(15, "hook-end", "preStop", text="it used up the grace period"),
        moment(15, "signal", "SIGTERM"),
        ended(17, 137, 1),
        over=True,
        deleted=when(10),
    ).lanes[1]
    assert [span for span in spans(lane) if span[0] == "hook"] == [("hook", 1, 2), ("hook", 10, 15)]
    assert marks(lane, "probe") == [("ProbeSuccess", 3), ("ProbeFailure", 6)]
    assert marks(lane, "signal") == [("SIGTERM", 15), ("SIGKILL", 17)]
    assert [mark.text for mark in lane.marks if mark.reason == "HookFailed"] == [
        "preStop: it used up the grace period"
    ]


@pytest.mark.parametrize(("code", "name", "killed"), [(137, "OOMKilled", False), (143, "Error", False)])
def test_only_what_outlives_its_grace_was_killed(code: int, name: str, killed: bool) -> None:
    lane = life(event(1, "Started"), moment(5, "signal", "SIGTERM"), ended(6, code, 1, name)).lanes[1]
    assert (("SIGKILL", 6) in marks(lane, "signal")) is killed


def test_a_life_that_is_over_ends_with_its_last_moment() -> None:
    drawn = life(event(1, "Started"), ended(5, 0, 1), now=9999, over=True)
    assert drawn.end == when(5)
    assert not any(span.open for lane in drawn.lanes for span in lane.spans)


KINDS = st.sampled_from(["ready", "unready", "waiting", "hook", "hook-end", "signal", "probe", "ended"])
EVENTS = st.sampled_from(["Pulling", "Pulled", "Failed", "Started", "Killing", "Scheduled"])
MOMENTS = st.lists(
    st.tuples(st.floats(0, 100), st.one_of(KINDS, EVENTS), st.sampled_from(["", "main"])), max_size=30
)


@given(MOMENTS, st.booleans())
def test_any_recorded_moments_can_be_drawn(told: list[tuple[float, str, str]], over: bool) -> None:
    """Spans lie within the life and do not end before they begin; both drawings take them."""
    moments = [
        event(at, name, container)
        if name[0].isupper()
        else moment(at, name, "xBackOff", container, began=when(at))
        for at, name, container in told
    ]
    drawn = life(*moments, now=100, over=over)
    for span in (span for lane in drawn.lanes for span in lane.spans):
        assert drawn.start <= span.start <= span.end <= drawn.end
    ElementTree.fromstring(svg(drawn))
    assert list(lines(drawn, 80))


# Sources of moments.


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


def test_events_that_have_expired_leave_what_the_status_knows() -> None:
    pod = api_pod({"state": terminated(3, 5, 0)}, phase="Succeeded")
    drawn = timeline(subject_of(pod, when(9999)), told(pod, [], None), when(9999))
    assert drawn.end == when(5)
    assert spans(drawn.lanes[1]) == [("running", 3, 5)]


def test_a_pod_that_is_gone_is_drawn_from_what_remembers_it() -> None:
    assert departed("web", "shop", [], None) is None
    by_events = departed("web", "shop", [api_event("Started", 4)], None)
    assert by_events is not None
    assert (by_events.status, by_events.containers, by_events.over) == ("Deleted", ("main",), True)
    moments = [moment(9, "event", "Killing", text="Stopping container main")]
    by_record = departed("web", "shop", [], (Beginning(pod="shop/web", uid="u", created=BORN), moments))
    assert by_record is not None
    assert (by_record.created, by_record.deleted) == (BORN, when(9))


# Drawing.


def everything() -> Timeline:
    """A life with every kind of span and mark."""
    return life(
        SCHEDULED,
        event(3, "Pulling"),
        event(6, "Pulled"),
        event(7, "Started"),
        moment(7, "hook", "postStart"),
        moment(9, "hook-end", "postStart"),
        moment(11, "ready"),
        moment(11, "ready", container=""),
        event(15, "Unhealthy", warning=True),
        ended(20, 3, 7),
        moment(20, "waiting", "CrashLoopBackOff"),
        event(30, "Started"),
        moment(40, "signal", "SIGTERM"),
        ended(50, 137, 30),
        deleted=when(40),
    )


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    shown = [click.unstyle(line) for line in lines(everything(), width, cut=True)]
    chart = shown[: shown.index("")]
    assert all(len(line) <= max(width, 26) for line in chart), chart
    assert all(len(line) <= max(width, 45) for line in shown)


def test_legend_lists_only_used_signs() -> None:
    shown = [click.unstyle(line) for line in lines(everything(), 200)]
    legend = next(line for line in shown if "waiting for a node" in line)
    assert all(text in legend for _, _, text in BLOCKS.values())
    assert "K SIGKILL" in legend
    assert "probe" not in legend


def test_moments_are_listed_in_order_and_bounded() -> None:
    shown = [click.unstyle(line) for line in lines(everything(), 80)]
    assert shown[-1].strip() == "50.0s  main  Error: Error, exit code 137"
    many = life(*(event(second, "Started") for second in range(1, 59)))
    shown = [click.unstyle(line) for line in lines(many, 80)]
    assert "... 8 earlier moments are left out; --all tells them too" in shown
    assert len(list(lines(many, 80, everything=True))) == len(shown) + 7


def titles(root: ElementTree.Element) -> Sequence[str | None]:
    return [element.text for element in root.iter(f"{SVG}title")]


def test_the_picture_is_sound_and_holds_every_lane() -> None:
    root = ElementTree.fromstring(svg(everything()))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"pod", "main", "shop/web: Running", "CrashLoopBackOff", "K", "T"} <= set(texts)
    assert "Unhealthy: Unhealthy & <said>" in titles(root)
    assert "back-off: CrashLoopBackOff (10s)" in titles(root)


def test_a_picture_takes_any_text() -> None:
    odd = Mark(at=BORN, reason="Unhealthy", text="\x00\x1b[31m]]> & <b>", count=3)
    drawn = Timeline(
        pod="web",
        namespace="shop",
        status="Running",
        start=BORN,
        end=BORN,
        lanes=(Lane(name="pod", marks=(odd,)),),
    )
    assert "Unhealthy x3: [31m]]> & <b>" in titles(ElementTree.fromstring(svg(drawn)))
    assert list(lines(drawn, 80))
