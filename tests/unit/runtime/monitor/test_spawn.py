"""Commands started in a container's surroundings."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.monitor.spawn import open_streams, spawn


def launch(directory: Path, **changes: Any) -> dict[str, Any]:
    return {
        "tty": False,
        "stdin": False,
        "user": None,
        "no_new_privileges": False,
        "working_dir": str(directory),
        "environment": {"PATH": f"{directory}/missing:{directory}:/usr/bin:/bin"},
    } | changes


def output_of(settings: dict[str, Any], command: list[str]) -> tuple[str, int]:
    """Run a command; return its standard output and exit code."""
    streams, _, outputs = open_streams(settings)
    pid, failure = spawn(settings, command, streams, terminal=False)
    assert failure == []
    texts = {}
    for descriptor, name in outputs:
        with os.fdopen(descriptor) as file:
            texts[name] = file.read()
    return texts["stdout"], os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_command_is_found_by_path_and_runs_in_working_directory(tmp_path: Path) -> None:
    assert output_of(launch(tmp_path), ["sh", "-c", "pwd -P; exit 3"]) == (f"{tmp_path.resolve()}\n", 3)


def test_command_has_only_the_given_environment(tmp_path: Path) -> None:
    text, _ = output_of(launch(tmp_path, environment={"PATH": "/usr/bin:/bin", "A": "b c"}), ["env"])
    assert sorted(text.splitlines()) == ["A=b c", "PATH=/usr/bin:/bin"]


def test_command_without_input_reads_end_of_file(tmp_path: Path) -> None:
    assert output_of(launch(tmp_path), ["cat"]) == ("", 0)


@pytest.mark.parametrize(
    ("changes", "command", "stage", "number"),
    [
        ({}, ["no-such-program"], "exec", errno.ENOENT),
        ({}, ["/no/such/program"], "exec", errno.ENOENT),
        ({}, ["denied"], "exec", errno.EACCES),
        ({"working_dir": "/no/such/place"}, ["true"], "chdir", errno.ENOENT),
        ({"open_files": [10, 5]}, ["true"], "prepare", 0),
    ],
)
def test_failed_start_reports_stage_and_error(
    tmp_path: Path, changes: dict[str, Any], command: list[str], stage: str, number: int
) -> None:
    (tmp_path / "denied").write_text("not executable")
    settings = launch(tmp_path, **changes)
    streams, _, outputs = open_streams(settings)
    _, failure = spawn(settings, command, streams, terminal=False)
    assert failure[:2] == [stage, number]
    for descriptor, _ in outputs:
        os.close(descriptor)
