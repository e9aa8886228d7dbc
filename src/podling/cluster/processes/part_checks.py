"""Health checks of the API server for the processes of the other parts."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from podling import clock
from podling.apiserver.http.health import Check
from podling.cluster.processes.parts import API, CONTROL
from podling.cluster.processes.state_file import StateFile
from podling.cluster.processes.states import Snapshot, problem

COMPONENTS = ("scheduler", "controller-manager")
"""The components that the process of the kind ``control`` runs, by the names of their ComponentStatus."""


def part_checks(states: StateFile, *, own: Collection[str] = (API,)) -> dict[str, Check]:
    """Return a check for each part but those of the kinds ``own``, which have checks of their own."""
    found = states.read() or Snapshot(0)
    names = [each.part.name for each in found.parts if each.part.kind not in own]
    return {f"part/{name}": partial(problem_of, states, name) for name in names}


def component_checks(states: StateFile) -> dict[str, Check]:
    """Return the checks of the components that run in another process."""
    found = states.read() or Snapshot(0)
    control = next((each.part.name for each in found.parts if each.part.kind == CONTROL), None)
    return {} if control is None else {name: partial(problem_of, states, control) for name in COMPONENTS}


def problem_of(states: StateFile, name: str) -> str:
    """Return what is wrong with the part ``name``; empty if nothing is known."""
    found = states.read() or Snapshot(0)
    now, wall = clock.monotonic(), clock.now()
    return next((problem(each, now, wall) for each in found.parts if each.part.name == name), "")
