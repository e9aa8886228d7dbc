"""The record of a pod's life on its node: its content, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, PodStatus
from podling.kubelet import lives
from podling.kubelet.lives import LifeRecorder, Moment, moments_between, note, read_life

NOW = datetime(2026, 1, 1, 12, 0, 0, 500_000, tzinfo=UTC)
THEN = "2026-01-01T12:00:00Z"


class Silent:
    """A recorder that only collects the events."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def event(self, obj: Any, type: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.reasons.append(reason)

    def annotated_event(
        self, obj: Any, annotations: Mapping[str, str], type: str, reason: str, message: str
    ) -> None:
        self.reasons.append(reason)


def pod(uid: str = "u1") -> Pod:
    plain = {
        "metadata": {"name": "web", "namespace": "shop", "uid": uid},
        "spec": {"initContainers": [{"name": "first"}], "containers": [{"name": "main"}]},
    }
    return msgspec.convert(plain, Pod)


def status(*containers: dict[str, Any], ready: bool = False) -> PodStatus:
    fixed = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return msgspec.convert(
        {"containerStatuses": [fixed | each for each in containers], "conditions": [condition]}, PodStatus
    )


def ended(id_: str, code: int = 3, finished: str = THEN) -> dict[str, Any]:
    return {"terminated": {"containerID": id_, "exitCode": code, "reason": "Error", "finishedAt": finished}}


WAITS = {"waiting": {"reason": "CrashLoopBackOff"}}
RUNS = {"running": {"startedAt": THEN}}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (status({"state": RUNS}), status({"state": RUNS}), []),
        (status({"state": RUNS}), status({"state": ended("a")}), ["ended main"]),
        (status({"state": ended("a")}), status({"state": WAITS, "lastState": ended("a")}), ["waiting main"]),
        (
            status({"state": RUNS, "ready": True}, ready=True),
            status({"state": WAITS, "lastState": ended("a")}),
            ["ended main", "waiting main", "unready main", "unready "],
        ),
        (
            status({"state": RUNS, "lastState": ended("a")}),
            status({"state": RUNS, "lastState": ended("b")}),
            ["ended main"],
        ),
        (status(), status({"state": RUNS, "ready": True}, ready=True), ["ready main", "ready "]),
    ],
)
def test_moments_follow_the_statuses(before: PodStatus, after: PodStatus, said: list[str]) -> None:
    assert [f"{each.kind} {each.container}" for each in moments_between(before, after, NOW)] == said


@pytest.mark.parametrize(
    ("finished", "at"),
    [(THEN, NOW), ("2026-01-01T11:59:00Z", datetime(2026, 1, 1, 11, 59, tzinfo=UTC))],
)
def test_end_is_the_moment_it_was_noticed_unless_late(finished: str, at: datetime) -> None:
    (moment,) = moments_between(
        status({"state": RUNS}), status({"state": ended("a", finished=finished)}), NOW
    )
    assert moment.at == at


def moments(folder: Path, uid: str = "u1") -> list[Moment]:
    return read_life(folder / f"{uid}.jsonl")[1]


def moment(number: int = 0) -> Moment:
    return Moment(at=NOW + timedelta(seconds=number), kind="signal", name=f"S{number}", container="main")


def test_record_begins_with_its_pod_and_continues_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "lives"
    for number in range(2):
        LifeRecorder(Silent(), folder).note(pod(), moment(number))
    beginning, found = read_life(folder / "u1.jsonl")
    assert (beginning.pod, beginning.containers) == ("shop/web", ("first", "main"))
    assert [each.name for each in found] == ["S0", "S1"]


def test_repeated_events_are_passed_on_but_kept_once(tmp_path: Path) -> None:
    inner = Silent()
    recorder = LifeRecorder(inner, tmp_path)
    for message in ("no", "no", "no", "yes", "no"):
        recorder.event(pod(), "Warning", "Unhealthy", message, field_path="spec.containers{main}")
    for _ in range(2):
        recorder.event(pod(), "Normal", "Started", "Container started", field_path="spec.containers{main}")
    assert len(inner.reasons) == 7
    kept = [(each.name, each.text, each.container, each.warning) for each in moments(tmp_path)]
    assert (
        kept
        == [("Unhealthy", text, "main", True) for text in ("no", "yes", "no")]
        + [("Started", "Container started", "main", False)] * 2
    )


def test_the_newest_moments_and_the_newest_pods_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lives, "MOMENTS_MAX", 10)
    monkeypatch.setattr(lives, "FILES_MAX", 3)
    recorder = LifeRecorder(Silent(), tmp_path)
    for number in range(35):
        recorder.note(pod(), moment(number))
    found = moments(tmp_path)
    assert len(found) <= 10
    assert found[-1].name == "S34"
    for number in range(5):
        recorder.note(pod(f"other{number}"), moment())
    assert len(list(tmp_path.iterdir())) == 3


def test_partly_written_line_is_skipped(tmp_path: Path) -> None:
    LifeRecorder(Silent(), tmp_path).note(pod(), moment())
    with (tmp_path / "u1.jsonl").open("ab") as file:
        file.write(b'{"at":"2026-01-')
    assert len(moments(tmp_path)) == 1


def test_unwritable_record_does_not_raise(tmp_path: Path) -> None:
    inner = Silent()
    (tmp_path / "lives").write_text("a file in the way")
    LifeRecorder(inner, tmp_path / "lives").event(pod(), "Normal", "Started", "Container started")
    assert inner.reasons == ["Started"]


def test_recorder_without_lives_gets_no_moments() -> None:
    inner = Silent()
    note(inner, pod(), "signal", "SIGTERM", container="main")
    assert inner.reasons == []
