"""State that the process runtime reads from its directory."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from podling.runtime.base import Container, ContainerState
from podling.runtime.process import records
from podling.runtime.process.records import Ended, Started

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


NANOSECONDS = int(NOON.timestamp()) * 1_000_000_000


CREATED = Container(
    id="c",
    sandbox_id="s",
    name="app",
    attempt=0,
    state=ContainerState.CREATED,
    created_at=NOON,
    user=(1, 2, (3,)),
    labels={"a": "b"},
)


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    records.save(tmp_path / "container.json", CREATED)
    assert records.load(tmp_path / "container.json", Container) == CREATED
    assert [path.name for path in tmp_path.iterdir()] == ["container.json"]


@pytest.mark.parametrize("content", [None, "", "{", '{"code": "zero", "at": 1}'])
def test_unreadable_record_counts_as_missing(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "exit.json"
    if content is not None:
        path.write_text(content)
    assert records.load(path, Ended) is None


def test_a_container_is_what_its_monitor_left_behind() -> None:
    running = records.as_started(CREATED, Started(pid=7, monitor=6, at=NANOSECONDS + 5000))
    assert (running.state, running.pid, running.started_at) == (
        ContainerState.RUNNING,
        7,
        NOON.replace(microsecond=5),
    )
    for code, reason in ((0, "Completed"), (3, "Error")):
        ended = records.as_ended(running, Ended(code=code, at=NANOSECONDS), "sh")
        assert (ended.state, ended.exit_code, ended.reason, ended.pid) == (
            ContainerState.EXITED,
            code,
            reason,
            None,
        )


@pytest.mark.parametrize(
    ("command", "failure", "text"),
    [
        (
            "nosuch",
            ("exec", 2, "No such file or directory"),
            'failed to start process: exec: "nosuch": executable file not found in $PATH',
        ),
        (
            "/bin/nosuch",
            ("exec", 2, "No such file or directory"),
            'failed to start process: exec: "/bin/nosuch": no such file or directory',
        ),
        (
            "/etc/hosts",
            ("exec", 13, "Permission denied"),
            'failed to start process: exec: "/etc/hosts": permission denied',
        ),
        (
            "sh",
            ("chdir", 2, "No such file or directory"),
            "failed to start process: chdir: no such file or directory",
        ),
    ],
)
def test_why_a_command_did_not_start(command: str, failure: tuple[str, int, str], text: str) -> None:
    ended = records.as_ended(CREATED, Ended(code=128, at=NANOSECONDS, failure=failure), command)
    assert (ended.reason, ended.message, ended.started_at) == ("StartError", text, None)
