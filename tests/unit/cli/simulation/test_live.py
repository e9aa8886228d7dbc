"""The live view of a run on a terminal."""

from __future__ import annotations

from io import StringIO

import click
import pytest
from msgspec.structs import replace

from podling.cli.simulation.live import Live, View, live_lines, phase_bar, phases_text, view_of
from podling.sim import loop
from podling.sim.runner import SAMPLES_MAX, Run
from podling.sim.schedule import ActionRecord
from podling.sim.statistics import Sample
from tests.support.scenarios import FOLDER, scenario, web

SAMPLE = Sample(
    at=60,
    phases={"Running": 30, "Pending": 1},
    ready_pods=29,
    ready_nodes=3,
    nodes=4,
    cpu_requested=2.0,
    cpu_allocatable=8.0,
    memory_requested=0,
    memory_allocatable=0,
    restarts=0,
    disruptions=0,
    revision=1,
    headroom={},
)
VIEW = View(seconds=60, until=240, elapsed=2, sample=SAMPLE)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_view_shows_progress_nodes_and_phases() -> None:
    first, nodes, pods, bar = live_lines(VIEW, 100)
    assert first == "[########----------------------]  25%  1m0s of 4m0s  30x  6s left"
    assert nodes == "nodes  3 of 4 Ready, 25% of the CPU requested"
    assert pods == "pods   29 Ready; 30 Running, 1 Pending"
    assert click.unstyle(bar).strip() == "█" * 59


def test_view_shows_failures_and_last_actions() -> None:
    view = replace(VIEW, failures=2, actions=(ActionRecord(30, "drain", "no node\nfits"),))
    lines = [click.unstyle(each) for each in live_lines(view, 100)]
    assert lines[-2:] == ["failed 2 until now", "      30s  drain: FAIL no node fits"]


@pytest.mark.parametrize("columns", [8, 20, 40])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    view = replace(VIEW, failures=2, actions=(ActionRecord(30, "a long name of an action"),))
    assert all(len(click.unstyle(each)) <= columns for each in live_lines(view, columns))


@pytest.mark.parametrize(
    ("phases", "width", "columns"),
    [({}, 10, 0), ({"Running": 1}, 10, 10), ({"Running": 999, "Failed": 1}, 10, 10), ({"Running": 1}, 0, 0)],
)
def test_each_phase_has_a_part_of_the_bar(phases: dict[str, int], width: int, columns: int) -> None:
    assert len(click.unstyle(phase_bar(phases, width))) == columns


def test_phases_are_counted() -> None:
    assert phases_text({"Running": 2, "Pending": 1}) == "2 Running, 1 Pending"
    assert phases_text({}) == "no pods"


def test_view_replaces_itself_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podling.cli.simulation.live.REFRESH_SECONDS", 0)
    terminal, pipe = Terminal(), StringIO()
    lives = [Live(terminal, quiet=False), Live(pipe, quiet=False), Live(quiet := Terminal(), quiet=True)]

    async def main() -> None:
        run = Run(scenario(f"manifests: [{web(2)}]"), FOLDER, 0, progress=show)
        await run.execute()

    def show(run: Run) -> None:
        for live in lives:
            live.show(run)

    loop.run(main())
    for live in lives:
        live.clear()
    assert pipe.getvalue() == quiet.getvalue() == ""
    shown = click.unstyle(terminal.getvalue())
    assert "nodes  2 of 2 Ready" in shown
    assert terminal.getvalue().endswith("F\x1b[J")
    assert lives[0].elapsed() >= 0


def test_view_shows_the_present_where_samples_are_rare() -> None:
    shown: list[View] = []
    hours = scenario(f"{{until: 8h, manifests: [{web(2)}]}}")

    async def main() -> None:
        await Run(hours, FOLDER, 0, progress=lambda run: shown.append(view_of(run, 1.0))).execute()

    loop.run(main())
    first = next(view for view in shown if view.sample.ready_pods == 2)
    assert first.sample.at == first.seconds < hours.until / SAMPLES_MAX
