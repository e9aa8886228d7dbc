"""Arguments of conmon."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from podling.runtime.oci.conmon import Monitored, arguments
from podling.runtime.oci.detect import CgroupMode, Engine

ENGINE = Engine(
    name="crun", path="/bin/crun", conmon="/bin/conmon", mode=CgroupMode.UNIFIED, nsenter="/bin/nsenter"
)


def monitored(**more: bool) -> Monitored:
    return Monitored(
        id="c1",
        name="app",
        bundle=Path("/b"),
        log_path="/log",
        exits=Path("/exits"),
        program="/bin/crun",
        engine_root=Path("/e"),
        **more,
    )


def pairs(line: list[str]) -> set[tuple[str, str]]:
    return set(pairwise(line))


def test_conmon_arguments_name_all_paths() -> None:
    line = arguments(ENGINE, monitored(), None)
    assert {
        ("--cid", "c1"),
        ("--bundle", "/b"),
        ("--runtime", "/bin/crun"),
        ("--runtime-arg", "--root=/e"),
        ("--log-path", "k8s-file:/log"),
        ("--exit-dir", "/exits"),
    } <= pairs(line)
    assert not {"--terminal", "--stdin", "--leave-stdin-open"} & set(line)


def test_conmon_runs_the_engine_in_another_view_of_the_mounts() -> None:
    line = arguments(ENGINE, monitored(), 9)
    given = [value for flag, value in pairwise(line) if flag == "--runtime-arg"]
    assert ("--runtime", "/bin/nsenter") in pairs(line)
    assert given[0].startswith("--mount=/proc/")
    assert given[0].endswith("/fd/9")
    assert given[1:] == ["/bin/crun", "--root=/e"]


def test_engine_can_be_run_with_an_input_that_has_ended() -> None:
    line = arguments(ENGINE, monitored(ended_input=True), 9)
    given = [value for flag, value in pairwise(line) if flag in ("--runtime", "--runtime-arg")]
    program, options, script, *rest = given
    assert rest[0] == "/bin/nsenter"
    assert rest[2:] == ["/bin/crun", "--root=/e"]
    command = [program, options, script, "cat", "/dev/stdin", "-"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=10)
    assert done.stdout == b""
    link = [program, options, script, "readlink", "/proc/self/fd/0"]
    assert subprocess.run(link, capture_output=True, check=True, timeout=10).stdout.startswith(b"pipe:")


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({"tty": True}, {"--terminal"}),
        ({"stdin": True}, {"--stdin", "--leave-stdin-open"}),
        ({"stdin": True, "stdin_once": True}, {"--stdin"}),
    ],
)
def test_stream_options_become_conmon_flags(options: dict[str, bool], flags: set[str]) -> None:
    line = arguments(ENGINE, monitored(**options), None)
    assert set(line) & {"--terminal", "--stdin", "--leave-stdin-open"} == flags
