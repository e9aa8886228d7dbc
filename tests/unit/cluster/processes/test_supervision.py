"""The supervisor's loop: restarts, reports, silence and the order of the end, with real processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podling import clock
from podling.cluster.processes.children import Main
from podling.cluster.processes.parts import API, CONTROL, NODE, Part
from podling.cluster.processes.reports import Alive, Failed, Ready, Report, Reporter, Started, Step
from podling.cluster.processes.state_file import StateFile
from podling.cluster.processes.states import RUNNING, PartState
from podling.cluster.processes.supervision import PartWork, Supervision
from podling.cluster.start_failure import StartFailure

PARTS = (Part(API, "api"), Part(NODE, "node-one", ("one",)), Part(CONTROL, "control"))


class Ground:
    """A supervision whose parts note their ends in a file."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.states = StateFile(folder)
        self.reports: list[tuple[str, Report]] = []
        self.mains: dict[str, Main] = {}
        self.prepared: list[str] = []
        work = PartWork(self._prepare, self._main_of, self._report, lambda: None)
        self.supervision = Supervision(PARTS, work, self.states)

    def _prepare(self, part: Part) -> None:
        self.prepared.append(part.name)

    def _report(self, part: Part, report: Report) -> None:
        self.reports.append((part.name, report))

    def _main_of(self, part: Part) -> Main:
        return self.mains.get(part.name, lambda reporter: serve(part.name, self.notes, reporter))

    def state(self, name: str) -> PartState:
        found = self.states.read()
        assert found is not None
        return next(each for each in found.parts if each.part.name == name)

    def wait(self, is_true: Callable[[], bool]) -> float:
        """Run the supervision until something holds; return the seconds."""
        begun = clock.monotonic()
        while not is_true():
            assert clock.monotonic() < begun + 20
            self.supervision._pass(0.05)
        return clock.monotonic() - begun


def serve(name: str, notes: Path, reporter: Reporter) -> int:
    """Give signs of life until SIGTERM."""
    ended = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    reporter.send(Started())
    reporter.send(Ready())
    while not ended:
        reporter.send(Alive())
        signal.sigtimedwait([], 0.2)
    with notes.open("a") as file:
        file.write(f"{name}\n")
    return 0


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    found = Ground(tmp_path)
    try:
        yield found
    finally:
        found.supervision.stop()
        found.states.remove()


def test_parts_become_ready_and_stop_in_order(ground: Ground) -> None:
    ground.supervision.start_all()
    assert ground.supervision.wait_ready(20)
    assert ground.prepared == [part.name for part in PARTS]
    assert {ground.state(part.name).phase for part in PARTS} == {RUNNING}
    assert ("api", Started()) in ground.reports
    ground.supervision.stop()
    assert ground.notes.read_text().split() == ["node-one", "control", "api"]


@pytest.mark.parametrize("name", [part.name for part in PARTS])
def test_killed_part_is_started_again_within_a_second(ground: Ground, name: str) -> None:
    ground.supervision.start_all()
    assert ground.supervision.wait_ready(20)
    before = ground.state(name).pid
    os.kill(before, signal.SIGKILL)
    took = ground.wait(lambda: ground.state(name).phase == RUNNING and ground.state(name).pid != before)
    assert took < 1
    state = ground.state(name)
    assert (state.restarts, state.last_exit) == (1, "killed by SIGKILL")
    assert sum(ground.state(part.name).restarts for part in PARTS) == 1, "the others do not notice"


def test_stopped_part_is_noticed_within_three_seconds_and_lives_on(ground: Ground) -> None:
    ground.supervision.start_all()
    assert ground.supervision.wait_ready(20)
    pid = ground.state("control").pid
    os.kill(pid, signal.SIGSTOP)
    assert ground.wait(lambda: ground.state("control").silent_since is not None) < 3.2
    os.kill(pid, signal.SIGCONT)
    ground.wait(lambda: ground.state("control").silent_since is None)
    assert ground.state("control").pid == pid
    assert ground.state("control").restarts == 0


def test_stopped_part_ends_in_order_too(ground: Ground) -> None:
    ground.supervision.start_all()
    assert ground.supervision.wait_ready(20)
    os.kill(ground.state("node-one").pid, signal.SIGSTOP)
    ground.supervision.stop()
    assert ground.notes.read_text().split() == ["node-one", "control", "api"]


def test_part_that_cannot_start_says_why_and_ends_the_start(ground: Ground) -> None:
    def cannot(reporter: Reporter) -> int:
        reporter.send(Failed("port 6443 is in use"))
        return 3

    ground.mains["api"] = cannot
    ground.supervision.start_all()
    with pytest.raises(StartFailure, match=r"^port 6443 is in use$"):
        ground.supervision.wait_ready(20)


def test_first_exit_before_serving_fails_the_start(ground: Ground) -> None:
    ground.mains["control"] = lambda reporter: 1
    ground.supervision.start_all()
    with pytest.raises(StartFailure, match="part control did not start: exit code 1"):
        ground.supervision.wait_ready(20)


def test_part_that_fails_later_is_a_crash_loop(ground: Ground) -> None:
    ground.supervision.start_all()
    assert ground.supervision.wait_ready(20)

    def cannot(reporter: Reporter) -> int:
        reporter.send(Failed("the store is damaged"))
        return 3

    ground.mains["api"] = cannot
    os.kill(ground.state("api").pid, signal.SIGKILL)
    ground.wait(lambda: ground.state("api").failures >= 4)
    assert ground.state("api").last_exit == "exit code 3: the store is damaged"
    del ground.mains["api"]
    ground.wait(lambda: ground.state("api").phase == RUNNING)


def test_part_that_is_not_ready_in_time_runs_on(ground: Ground) -> None:
    def unready(reporter: Reporter) -> int:
        reporter.send(Started())
        reporter.step("node", "no network")
        signal.pause()
        return 0

    ground.mains["node-one"] = unready
    ground.supervision.start_all()
    assert not ground.supervision.wait_ready(1.0)
    assert ground.state("node-one").phase == RUNNING
    assert ("node-one", Step("node", "no network")) in ground.reports


def test_request_to_stop_ends_the_run(ground: Ground) -> None:
    with ground.supervision.signals():
        ground.supervision.start_all()
        assert ground.supervision.wait_ready(20)
        os.kill(os.getpid(), signal.SIGTERM)
        ground.supervision.run()
    assert ground.supervision.is_stopping
