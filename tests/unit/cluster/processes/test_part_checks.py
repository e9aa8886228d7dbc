"""Checks of the API server for the processes of the other parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from podling import clock
from podling.cluster.processes import states
from podling.cluster.processes.part_checks import component_checks, part_checks
from podling.cluster.processes.parts import parts_of
from podling.cluster.processes.state_file import StateFile
from podling.cluster.processes.states import PartState


@pytest.fixture
def file(tmp_path: Path) -> Iterator[StateFile]:
    found = StateFile(tmp_path)
    yield found
    found.remove()


def test_every_other_part_has_a_check(file: StateFile) -> None:
    now = clock.monotonic()
    parts = [states.running(states.begun(PartState(part=part), 7, now)) for part in parts_of(["one"])]
    file.write(states.snapshot(1, parts))
    checks, components = part_checks(file), component_checks(file)
    assert list(checks) == ["part/node-one", "part/control"]
    assert list(components) == ["scheduler", "controller-manager"]
    assert {check() for check in (*checks.values(), *components.values())} == {""}
    parts[2] = states.exited(parts[2], "killed by SIGKILL", now)
    file.write(states.snapshot(1, parts))
    assert checks["part/node-one"]() == ""
    wrong = "killed by SIGKILL; starts again in 0.0 s"
    assert (
        checks["part/control"]() == components["scheduler"]() == components["controller-manager"]() == wrong
    )


def test_components_of_an_api_server_alone_do_not_run(file: StateFile) -> None:
    file.write(states.snapshot(1, [PartState(part=part) for part in parts_of([], api_only=True)]))
    assert part_checks(file) == component_checks(file) == {}
