"""Descriptions of commands, read by a process that has the OOM score of its container by then."""

from __future__ import annotations

import subprocess
import sys

import pytest

from podling.runtime.oci.exec_description import Description

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="OOM scores are Linux's")

READER = "cat /proc/self/fd/%d; cat /proc/self/oom_score_adj"


def start(description: Description, script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["sh", "-c", script], pass_fds=(description.reader,), stdout=subprocess.PIPE, start_new_session=True
    )


@pytest.mark.parametrize("size", [5, 1 << 17])
def test_process_reads_all_and_has_its_score_by_then(size: int) -> None:
    description = Description(b"x" * size)
    process = start(description, READER % description.reader)
    description.give(process.pid, 987)
    description.close()
    assert process.communicate()[0] == b"x" * size + b"987\n"


def test_process_without_a_score_keeps_its_own() -> None:
    with open("/proc/self/oom_score_adj", "rb") as file:
        own = file.read()
    description = Description(b"x")
    process = start(description, READER % description.reader)
    description.give(process.pid, None)
    description.close()
    assert process.communicate()[0] == b"x" + own


def test_process_that_ends_without_reading_is_not_waited_for() -> None:
    description = Description(b"x" * (1 << 17))
    process = start(description, "exit 3")
    assert process.wait() == 3
    description.give(process.pid, 987)
    description.close()
    assert process.stdout is not None
    process.stdout.close()
