"""The output of ``podling sim``: the summary of a run or of many."""

from __future__ import annotations

from pathlib import Path

import click

from podling.cli.simulation.live import phases_text
from podling.machinery.durations import go_duration
from podling.sim.runner import Outcome
from podling.sim.statistics import Statistics, percentiles

FAILURES_SHOWN_MAX = 20


def print_outcome(
    file: Path, outcome: Outcome, statistics: Statistics, elapsed: float, options: str = ""
) -> None:
    """Print the summary of a run; its last line is the digest. ``options`` are those of a replay."""
    seconds = max(0.0, outcome.seconds)  # it is negative until the nodes are Ready
    speed = seconds / elapsed if elapsed else 0.0
    ended = "" if outcome.is_complete else " (interrupted)"
    click.echo(
        f"{file}: seed {outcome.seed}, {go_duration(seconds)} of virtual time "
        f"in {elapsed:.1f} s ({speed:,.0f}x){ended}"
    )
    _print_figures(statistics)
    _print_actions(outcome)
    _print_results(outcome)
    if not outcome.passed and outcome.is_complete:
        click.echo(f"replay: podling sim {file} --seed {outcome.seed}{options}")
    click.echo(f"digest: {outcome.digest}")


def _print_figures(statistics: Statistics) -> None:
    last = statistics.samples[-1]
    pods = f"{statistics.created['Pod']} created, {statistics.deleted['Pod']} deleted"
    click.echo(f"nodes: {last.ready_nodes} of {last.nodes} Ready")
    click.echo(f"pods: {phases_text(last.phases)}; {pods}; {statistics.restarts} restarts")
    for reason, count in sorted(statistics.disruptions.items()):
        click.echo(f"disruptions: {count} {reason}")
    share = last.cpu_requested / last.cpu_allocatable if last.cpu_allocatable else 0.0
    click.echo(f"cpu: {last.cpu_requested:g} of {last.cpu_allocatable:g} cores requested ({share:.0%})")
    for name, values in (
        ("created to bound", statistics.scheduling_seconds()),
        ("created to ready", statistics.start_seconds()),
    ):
        if values:
            shown = ", ".join(f"p{number} {value:.1f} s" for number, value in percentiles(values).items())
            click.echo(f"{name}: {shown}")


def _print_actions(outcome: Outcome) -> None:
    failed = [each for each in outcome.actions if each.error]
    click.echo(f"actions: {len(outcome.actions) - len(failed)} done, {len(failed)} failed")
    for each in failed[:FAILURES_SHOWN_MAX]:
        click.echo(f"  FAIL {each.name} at {go_duration(each.at)}: {each.error}")


def _print_results(outcome: Outcome) -> None:
    for each in outcome.results:
        click.echo(f"  {'PASS' if each.passed else 'FAIL'} {each.name}: {_indented(each.text)}")
    if not outcome.violations:
        click.echo("invariants: no violation")
        return
    click.echo(f"invariants: {len(outcome.violations)} violations")
    for violation in outcome.violations[:FAILURES_SHOWN_MAX]:
        click.echo(f"  FAIL {violation.checker} at {violation.at:%H:%M:%S}: {_indented(violation.text)}")


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")
