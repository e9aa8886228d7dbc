"""The live view of ``podling sim``: a few lines on a terminal, drawn again several times a second."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import timedelta
from typing import TextIO

import click
from msgspec import Struct

from podling import clock
from podling.machinery.durations import go_duration
from podling.sim.runner import Run
from podling.sim.schedule import ActionRecord
from podling.sim.statistics import Sample

REFRESH_SECONDS = 0.2
BAR = 30
ACTIONS_SHOWN = 3
UP, CLEAR_BELOW = "\x1b[{}F", "\x1b[J"
COLOURS = {
    "Running": "green",
    "Pending": "yellow",
    "Terminating": "magenta",
    "Succeeded": "blue",
    "Failed": "red",
    "Unknown": "white",
}


class View(Struct, frozen=True, kw_only=True):
    """The state of a run, as it is shown. Times are seconds; ``elapsed`` is real time."""

    seconds: float
    until: float
    elapsed: float
    sample: Sample
    """The figures of this moment."""
    actions: tuple[ActionRecord, ...] = ()
    """The last ones."""
    failures: int = 0
    """Assertions, actions and invariants that did not hold until now."""


class Live:
    """Shows the state of a run on a terminal. Other streams get nothing."""

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self._stream = stream
        self._is_shown = not quiet and stream.isatty()
        self._began = clock.real_monotonic()
        self._last = 0.0
        self._lines = 0

    def elapsed(self) -> float:
        """Return the real seconds since the begin."""
        return clock.real_monotonic() - self._began

    def show(self, run: Run) -> None:
        """Show the run's state, unless that was done just now."""
        elapsed = self.elapsed()
        if not self._is_shown or elapsed - self._last < REFRESH_SECONDS:
            return
        self._last = elapsed
        lines = live_lines(view_of(run, elapsed), shutil.get_terminal_size().columns)
        self._draw("".join(f"{line}\n" for line in lines))
        self._lines = len(lines)

    def clear(self) -> None:
        """Remove the view."""
        if self._lines:
            self._draw("")
            self._lines = 0

    def _draw(self, text: str) -> None:
        up = UP.format(self._lines) + CLEAR_BELOW if self._lines else ""
        self._stream.write(up + text)
        self._stream.flush()


def view_of(run: Run, elapsed: float) -> View:
    """Return the state of a run."""
    outcome = run.so_far()
    failed = sum(bool(each.error) for each in outcome.actions)
    failed += sum(not each.passed for each in outcome.results) + len(outcome.violations)
    statistics = run.statistics
    return View(
        seconds=run.seconds,
        until=run.scenario.until,
        elapsed=elapsed,
        sample=statistics.figures(statistics.begin + timedelta(seconds=run.seconds)),
        actions=outcome.actions[-ACTIONS_SHOWN:],
        failures=failed,
    )


def live_lines(view: View, columns: int) -> list[str]:
    """Return the lines of the view, none longer than the terminal is wide. Pure."""
    done = min(1.0, max(0.0, view.seconds / view.until)) if view.until else 1.0
    speed = view.seconds / view.elapsed if view.elapsed else 0.0
    rest = (view.until - view.seconds) / speed if speed > 0 else 0.0
    bar = "#" * round(done * BAR)
    times = f"{go_duration(round(view.seconds))} of {go_duration(view.until)}"
    lines = [
        f"[{bar:-<{BAR}}] {done:4.0%}  {times}  {speed:,.0f}x  {go_duration(round(rest))} left"[:columns]
    ]
    sample = view.sample
    share = sample.cpu_requested / sample.cpu_allocatable if sample.cpu_allocatable else 0.0
    lines.append(
        f"nodes  {sample.ready_nodes} of {sample.nodes} Ready, {share:.0%} of the CPU requested"[:columns]
    )
    lines.append(f"pods   {sample.ready_pods} Ready; {phases_text(sample.phases)}"[:columns])
    lines.append("       " + phase_bar(sample.phases, min(BAR * 2, columns - 8)))
    if view.failures:
        lines.append(click.style(f"failed {view.failures} until now"[:columns], fg="red"))
    for each in view.actions:
        text = f"{go_duration(each.at):>9}  {each.name}{': FAIL ' + each.error if each.error else ''}"
        lines.append(text.replace("\n", " ")[:columns])
    return lines


def phase_bar(phases: Mapping[str, int], width: int) -> str:
    """Return a bar of the pods in the colours of their phases; each phase has at least one column. Pure."""
    total = sum(phases.values())
    if not total or width < len(phases):
        return ""
    return "".join(
        click.style("█" * max(1, count * width // total), fg=COLOURS.get(name))
        for name, count in phases.items()
    )


def phases_text(phases: Mapping[str, int]) -> str:
    """Return ``12 Running, 3 Pending``. Pure."""
    return ", ".join(f"{count} {name}" for name, count in phases.items()) or "no pods"
