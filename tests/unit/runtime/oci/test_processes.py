"""Processes and their descendants."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from podling.runtime.oci.processes import Process, all_processes, end, families, kill, wait_for_ends

MARK = b"podling-test-of-processes"


@pytest.fixture
def marked() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with a mark among its arguments, and a child of it."""
    script = "sleep 600 & echo ready; wait"
    with subprocess.Popen(["sh", "-c", script, MARK.decode()], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def is_marked(process: Process) -> bool:
    return MARK in process.arguments


@pytest.mark.parametrize(
    ("picked", "found"),
    [
        ({1}, [1, 2, 3, 4]),
        ({2}, [2, 4]),
        ({4}, [4]),
        ({3, 2}, [2, 3, 4]),
        ({5}, [5]),
        ({9}, []),
    ],
)
def test_families_are_the_picked_processes_and_their_descendants(picked: set[int], found: list[int]) -> None:
    parents = {1: 0, 2: 1, 3: 1, 4: 2, 5: 0}
    processes = [Process(pid, parent, ()) for pid, parent in parents.items()]
    assert families(processes, lambda process: process.pid in picked) == found


def test_end_kills_marked_processes_with_their_children(marked: subprocess.Popen[bytes]) -> None:
    family = families(all_processes(), is_marked)
    assert family[0] == marked.pid
    assert len(family) == 2
    end(is_marked)
    assert marked.wait() == -9
    wait_for_ends(family, 10)
    kill(family)
    assert families(all_processes(), is_marked) == []
