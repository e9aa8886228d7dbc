"""Facts about the machine."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from podling.kubelet.node.machine import most_processes, read_machine


def test_machine_facts_can_be_read() -> None:
    machine = read_machine(Path("/nonexistent/dir"))
    assert machine.cpus >= 1
    assert machine.memory > 0
    assert machine.ephemeral_storage > 0
    assert (machine.operating_system, machine.kernel_version) == (
        platform.system().lower(),
        platform.release(),
    )


@pytest.mark.parametrize(
    ("pid_max", "threads_max", "most"),
    [("32768", "100\n", 100), ("100\n", "192730\n", 100), ("100", None, 100), (None, "x", 0)],
)
def test_processes_are_limited_by_their_numbers_and_by_the_kernels_memory(
    tmp_path: Path, pid_max: str | None, threads_max: str | None, most: int
) -> None:
    for name, text in (("pid_max", pid_max), ("threads-max", threads_max)):
        if text is not None:
            (tmp_path / name).write_text(text)
    assert most_processes(tmp_path) == most
