"""Processes of the machine, as read from /proc."""

from __future__ import annotations

from podling.runtime.process import machine
from podling.runtime.process.machine import ProcessFigures


def test_a_process_may_have_any_name() -> None:
    stat = (
        "42 (a) (b c) S 7 42 42 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 100 4096 25 18446744073709551615 1 1"
    )
    assert machine.parse_stat(stat, ticks=100, page=4096) == ProcessFigures(7, 2_000_000_000, 25 * 4096)


def test_processes_as_ps_lists_them() -> None:
    text = "    1     0  1024   0:01.50\n  200     1    16  1:02:03\n"
    assert machine.parse_ps(text) == {
        1: ProcessFigures(0, 1_500_000_000, 1024 * 1024),
        200: ProcessFigures(1, 3723 * 1_000_000_000, 16 * 1024),
    }


def test_a_container_is_a_tree_of_processes() -> None:
    parents = {2: 1, 3: 2, 4: 3, 5: 2, 6: 1, 7: 6}
    everything = {pid: ProcessFigures(parent, 0, 0) for pid, parent in parents.items()}
    found = machine.descendants([2, 6, 7], everything)
    assert {root: sorted(below) for root, below in found.items()} == {2: [3, 4, 5], 6: [7], 7: []}


def test_this_machine_has_processes_and_a_boot() -> None:
    assert machine.boot() == machine.boot() != ""
    assert 1 in machine.processes()
