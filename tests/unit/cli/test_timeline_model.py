"""Spans and marks of a pod's life."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.cli.timeline_svg import svg
from podling.cli.timeline_text import lines
from tests.support.timelines import BORN, SCHEDULED, ended, event, life, marks, moment, spans, when


def test_unscheduled_pod_has_one_open_span() -> None:
    (pod, container) = life(event(1.5, "FailedScheduling", "", warning=True)).lanes
    assert spans(pod) == [("scheduling", 0, 60)]
    assert pod.spans[0].open
    assert container.spans == ()


def test_each_time_of_readiness_is_a_span() -> None:
    flips = [moment(at, kind, container="") for at, kind in ((10, "ready"), (20, "unready"), (30, "ready"))]
    pod = life(SCHEDULED, *flips).lanes[0]
    assert spans(pod) == [("scheduling", 0, 2), ("waiting", 2, 60), ("ready", 10, 20), ("ready", 30, 60)]
    assert [span.open for span in pod.spans] == [False, True, False, True]


def test_first_moment_within_second_of_creation_is_the_start() -> None:
    assert life(event(0.4, "Scheduled", "")).start == when(0.4)
    assert life(event(1.4, "Scheduled", "")).start == BORN


def test_pull_lasts_until_success_or_failure() -> None:
    pulled = life(event(3, "Pulling"), event(7, "Pulled"), event(8, "Started")).lanes[1]
    assert spans(pulled) == [("pulling", 3, 7), ("running", 8, 60)]
    backoff = moment(5, "waiting", "ImagePullBackOff")
    failed = life(event(3, "Pulling"), event(4, "Failed"), backoff, event(15, "Pulling")).lanes[1]
    assert spans(failed) == [("pulling", 3, 4), ("backoff", 5, 15), ("pulling", 15, 60)]


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


def test_hooks_are_spans_and_signals_and_probes_marks() -> None:
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
def test_sigkill_is_marked_only_after_the_grace_period(code: int, name: str, killed: bool) -> None:
    lane = life(event(1, "Started"), moment(5, "signal", "SIGTERM"), ended(6, code, 1, name)).lanes[1]
    assert (("SIGKILL", 6) in marks(lane, "signal")) is killed


def test_deleted_pod_ends_with_its_last_moment() -> None:
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
