"""``podling sim --seeds``: many runs of one scenario, and the smallest scenario that fails as one did."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click
from msgspec import Struct

import podling
from podling.machinery.durations import go_duration
from podling.sim.failure_search import Shrunk, shrink_failure
from podling.sim.runner import Outcome
from podling.sim.scenario import Scenario
from podling.sim.scenario_writing import scenario_text
from podling.sim.shrinking import first_failure

FAILURES_SHOWN_MAX = 20


class Tally(Struct):
    """The runs so far. ``first`` is the first one that failed."""

    runs: int = 0
    failed: int = 0
    first: Outcome | None = None
    is_interrupted: bool = False


def print_seeds(file: Path, outcomes: Iterable[Outcome], total: int, options: str = "") -> Tally:
    """Print each failure as it comes, with the line that replays it, and the number of seeds that passed.

    Ctrl-C ends the runs; what is printed then is of those that were done. ``options`` are those of a replay.
    """
    tally = Tally()
    with suppress(KeyboardInterrupt):
        tally.is_interrupted = True
        for outcome in outcomes:
            if not outcome.is_complete:
                break
            tally.runs += 1
            if outcome.passed:
                continue
            tally.failed += 1
            tally.first = tally.first or outcome
            if tally.failed <= FAILURES_SHOWN_MAX:
                text = first_failure(outcome).replace("\n", "\n    ")
                click.echo(f"seed {outcome.seed}: FAIL {text}")
                click.echo(f"  replay: podling sim {file} --seed {outcome.seed}{options}")
        else:
            tally.is_interrupted = False
    ended = f" (interrupted; {total - tally.runs} did not run)" if tally.is_interrupted else ""
    click.echo(f"{tally.runs - tally.failed} of {tally.runs} seeds passed{ended}")
    return tally


def shrink(file: Path, scenario: Scenario, outcome: Outcome, seconds: float) -> None:
    """Find the smallest scenario that fails as a run did, write it beside the work, and say so."""
    click.echo(f"seed {outcome.seed}, {version()}: shrinking for at most {go_duration(seconds)}", err=True)
    found = shrink_failure(scenario, file.parent, outcome.seed, outcome, seconds)
    if found is None:
        return
    path = Path(f"{file.stem}-{outcome.seed}-smallest.yaml")
    try:
        path.write_text(scenario_text(found.scenario, _comment(file, outcome, found)))
    except OSError as error:
        click.echo(f"{path}: {error.strerror}", err=True)
        return
    size = f"{found.objects} objects, {len(found.scenario.actions)} actions"
    click.echo(f"smallest scenario that fails so: {path} ({size}, {go_duration(found.scenario.until)})")


def version() -> str:
    """Return the version of Podling, with the commit if it runs from a checkout of its sources."""
    text = f"podling {podling.__version__}"
    folder = Path(podling.__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return text
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        return f"{text}, commit {done.stdout.strip()}"
    return text


def _comment(file: Path, outcome: Outcome, found: Shrunk) -> str:
    lines = [
        f"Fails as {file} does with seed {outcome.seed} ({version()}).",
        f"{found.failure.name}: {found.text}",
    ]
    if not found.is_smallest:
        lines.append("The time for shrinking was over: there may be a smaller one.")
    return "\n".join(lines)
