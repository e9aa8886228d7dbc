"""The parts that readers of traces share."""

from __future__ import annotations

import pytest

from podling.sim.importing.traces import Machine, Window, Work, facts, scenario_of
from tests.support.importing import read

WINDOW = Window(begin=100, length=100)
SIZE = facts(4, 2**33)


@pytest.mark.parametrize(
    ("work", "moments"),
    [
        (Work("a", 1, 0, 1, 1), [0]),
        (Work("a", 1, 150, 1, 1), [50]),
        (Work("a", 1, 200, 1, 1), []),
        (Work("a", 1, 0, 1, 1, seconds=100), []),
        (Work("a", 1, 0, 1, 1, seconds=150), [0]),
        (Work("a", 1, 120, 1, 1, ended=160), [20, 60]),
        (Work("a", 1, 0, 1, 1, ended=100), []),
    ],
)
def test_work_is_taken_as_far_as_it_is_in_the_window(work: Work, moments: list[float]) -> None:
    made = scenario_of("d", [Machine("m", SIZE)], [work], WINDOW, [])
    assert [each.at for each in read(made).actions] == moments


@pytest.mark.parametrize(
    ("machine", "nodes", "moves"),
    [
        (Machine("m", SIZE), 1, []),
        (Machine("m", SIZE, 0, 50), 0, []),
        (Machine("m", SIZE, 0, 150), 1, [50]),
        (Machine("m", SIZE, 150), 0, [50]),
        (Machine("m", SIZE, 120, 180), 0, [20, 80]),
        (Machine("m", SIZE, 300), 0, []),
    ],
)
def test_machines_come_and_go(machine: Machine, nodes: int, moves: list[float]) -> None:
    made = scenario_of("d", [machine], [], WINDOW, [])
    found = read(made)
    assert sum(each.count for each in found.nodes) == nodes
    assert [each.at for each in found.actions] == moves
    assert bool(made.notes) is (nodes == 0)
