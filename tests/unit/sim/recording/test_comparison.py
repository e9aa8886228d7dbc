"""Comparing the lives of pods in two event logs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from podling.sim.recording.comparison import differences, end_of, lives

Line = dict[str, Any]


def line(at: float, event: str = "modified", pod: str = "web", **facts: Any) -> Line:
    return {"at": at, "event": event, "object": f"pods/default/{pod}", **facts}


LIFE = [
    line(0, "created", phase="Pending"),
    line(1, phase="Pending", node="n-1"),
    line(2, phase="Running", node="n-1"),
    line(5, phase="Running", node="n-1", ready=["c"]),
    line(9, "deleted", phase="Running"),
]


def test_life_is_the_order_of_stages_and_lengths() -> None:
    (found,) = lives(LIFE).values()
    assert [(each.text, each.seconds) for each in found][:3] == [
        ("unbound phase=Pending", 1),
        ("bound phase=Pending", 1),
        ("bound phase=Running", 3),
    ]
    assert found[-1].text == "gone"


def test_drawn_names_are_numbered_in_the_order_of_creation() -> None:
    names = ["web-756dc6c7b7-7h68x", "web-756dc6c7b7-hzng2", "once-8zbqv", "plain", "db-0"]
    lines = [line(at, "created", name) for at, name in enumerate(names)]
    lines += [
        line(9, "modified", "web-756dc6c7b7-7h68x", phase="Failed"),
        {"at": 1, "object": "nodes/n", "event": "created"},
    ]
    prefix = "pods/default/"
    assert [name.removeprefix(prefix) for name in lives(lines)] == [
        "web #1",
        "web #2",
        "once #1",
        "plain",
        "db-0",
    ]


@pytest.mark.parametrize(
    ("lines", "passing", "same"),
    [
        (LIFE, 0.0, True),
        ([LIFE[0], *LIFE[2:]], 1.5, True),
        ([LIFE[0], *LIFE[2:]], 0.5, False),
        (LIFE[:3] + LIFE[4:], 1.5, False),
        (
            [{**each, "at": each["at"] * 7, "node": "other" if "node" in each else None} for each in LIFE],
            0.0,
            True,
        ),
        ([*LIFE[:4], line(8, phase="Failed", node="n-1", reason="Evicted"), LIFE[4]], 0.5, False),
    ],
)
def test_only_passing_stages_may_be_missing(lines: list[Line], passing: float, same: bool) -> None:
    assert (differences(lives(LIFE), lives(lines), passing) == []) is same


@pytest.mark.parametrize(("end", "same"), [(8.5, True), (9.0, False)])
def test_stages_after_the_end_of_a_recording_do_not_count(end: float, same: bool) -> None:
    recorded = [*LIFE[:4], {"at": end, "event": "end"}]
    until = end_of(recorded)
    assert end_of(LIFE) == math.inf
    assert (differences(lives(recorded, until), lives(LIFE, until), 0.0) == []) is same


def test_pods_of_one_side_are_named() -> None:
    one, other = lives([line(0, "created", "a")]), lives([line(0, "created", "b")])
    assert differences(one, other, 1.0) == [
        "pods/default/a: only in the first",
        "pods/default/b: only in the second",
    ]
