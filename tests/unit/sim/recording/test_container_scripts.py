"""Scripts of containers from the revisions of their pod."""

from __future__ import annotations

from typing import Any

import pytest

from podling.sim.recording.container_scripts import scripts_of

Plain = dict[str, Any]


def revision(
    state: Plain | None = None, last: Plain | None = None, *, deleted: bool = False, id: str = "a"
) -> Plain:
    found: Plain = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}}
    found["spec"] = {"nodeName": "n"}
    status: Plain = {"name": "c", "containerID": id, "state": state or {"waiting": {}}}
    status |= {"lastState": {"terminated": last}} if last else {}
    found["status"] = {"containerStatuses": [status]}
    return found


RUNNING: Plain = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def ended(id: str, code: int, seconds: int = 0) -> Plain:
    finished = f"2026-01-01T00:00:{seconds:02}Z"
    return {"containerID": id, "exitCode": code, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": finished}


@pytest.mark.parametrize(
    ("revisions", "script"),
    [
        ([(1, revision()), (4, revision(RUNNING))], {"startSeconds": 3, "runs": [{}]}),
        (
            [(0, revision(RUNNING)), (5, revision({"terminated": ended("a", 0)}))],
            {"startSeconds": 0, "runs": [{"seconds": 5, "exitCode": 0}]},
        ),
        (
            [(0, revision(RUNNING)), (5, revision(RUNNING, ended("a", 3), id="b"))],
            {"startSeconds": 0, "runs": [{"seconds": 5, "exitCode": 3}, {}]},
        ),
        (
            [(0, revision()), (9, revision({"waiting": {}}, ended("a", 1, 2)))],
            {"startSeconds": 7, "runs": [{"seconds": 2, "exitCode": 1}]},
        ),
        (
            [
                (0, revision(RUNNING)),
                (10, revision(RUNNING, deleted=True)),
                (13, revision({"terminated": ended("a", 143)}, deleted=True)),
            ],
            {"startSeconds": 0, "stopSeconds": 3, "stopExitCode": 143, "runs": [{}]},
        ),
    ],
)
def test_runs_and_stops_are_those_that_were_seen(revisions: list[tuple[float, Plain]], script: Plain) -> None:
    assert scripts_of(revisions) == {"c": script}


def test_container_that_never_ran_has_no_script() -> None:
    assert scripts_of([(0, revision()), (9, revision())]) == {}
