"""``podling sim SCENARIO``: run a scenario in a cluster in memory, in virtual time."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Any

import click

from podling.cli.common_options import Failure
from podling.cli.simulation.live import Live
from podling.cli.simulation.output import print_outcome
from podling.cli.simulation.seeds import print_seeds, shrink
from podling.cli.simulation.shell import Stops, visit
from podling.cli.simulation.subcommands import WithSubcommands
from podling.cluster.garbage_collection import settle
from podling.machinery.durations import go_duration
from podling.sim.event_log import Sink
from podling.sim.failure_search import SHRINK_SECONDS
from podling.sim.many_seeds import parse_seeds, run_seeds
from podling.sim.report.report import LOG, missing, write_report
from podling.sim.report.report_data import ReportData
from podling.sim.runner import Outcome, Progress, run_scenario
from podling.sim.scenario import Scenario
from podling.sim.scenario_file import ScenarioUnusable, json_schema, read_scenario
from podling.sim.scenario_parts import Duration, duration_from
from podling.sim.statistics import Statistics

UNUSABLE, INTERRUPTED = 2, 130
SHORTEST_SECONDS = 1.0


class _Unusable(Failure):
    """A scenario with problems, one a line."""

    exit_code = UNUSABLE

    def show(self, file: object = None) -> None:
        click.echo(self.message, err=True)


@click.command(cls=WithSubcommands)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path), metavar="SCENARIO")
@click.option("--check", is_flag=True, help="Only read the scenario and say what is wrong with it.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of scenarios, for editors.")
@click.option(
    "--with",
    "extensions",
    multiple=True,
    metavar="NAME",
    help="Enable this extension, such as kruise, beside those of the scenario; as in 'podling up --with'.",
)
@click.option("--seed", type=int, help="Decides everything random, in place of the scenario's seed.")
@click.option("--seeds", metavar="FIRST..LAST", help="Run with each of these seeds.")
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes.")
@click.option("--until", metavar="TIME", help="End at this virtual time, as 1h30m.")
@click.option("--at", metavar="TIME", help="Stop at this virtual time; with --shell.")
@click.option(
    "--shell", is_flag=True, help="Open a shell in which kubectl and podling find the stopped cluster."
)
@click.option("--step", metavar="TIME", help="Stop again after this virtual time, when the shell has ended.")
@click.option("--log", "log_file", type=click.Path(path_type=Path), help="Write the event log, JSON lines.")
@click.option(
    "--report",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a page with plots, and its figures as CSV and JSON lines.",
)
@click.option(
    "--shrink-seconds",
    type=click.FloatRange(0, 86400),
    default=SHRINK_SECONDS,
    show_default=True,
    help="The time to look for the smallest scenario that fails as the first failed seed; 0: do not.",
)
@click.option("--quiet", is_flag=True, help="Print no progress.")
def sim(  # noqa: PLR0913 the options of the command
    file: Path | None,
    check: bool,
    schema: bool,
    extensions: tuple[str, ...],
    seed: int | None,
    seeds: str | None,
    jobs: int,
    until: str | None,
    at: str | None,
    shell: bool,
    step: str | None,
    log_file: Path | None,
    report: Path | None,
    shrink_seconds: float,
    quiet: bool,
) -> None:
    """Run a scenario: a cluster in memory whose time passes as fast as it can be computed.

    The last line is the digest of the event log: the same for the same scenario and seed.
    'podling sim import' makes a scenario from another cluster.

    \b
    Exit codes: 0    every assertion and every invariant held
                1    one did not, or an action failed
                2    the scenario cannot run
                130  interrupted; the report is of what was
    """
    if schema:
        click.echo(json.dumps(json_schema(), indent=2))
        return
    if file is None:
        raise click.UsageError("Missing argument 'SCENARIO'.")
    scenario = _read(file, until, extensions)
    if check:
        click.echo(f"{file}: the scenario is usable")
        return
    stops = _stops(scenario, at, step, until, shell=shell)
    if stops is not None and seeds is not None:
        raise click.UsageError("--at stops one run; use --seed instead of --seeds")
    if report is not None:
        _check_report(report, seeds)
    if seeds is not None:
        _run_many(file, scenario, seeds, jobs, _replay_options(scenario, until), shrink_seconds)
    chosen = scenario.seed if seed is None else seed
    _run_one(file, scenario, chosen, log_file, report, Live(sys.stderr, quiet=quiet), stops)


def _read(file: Path, until: str | None, extensions: Sequence[str]) -> Scenario:
    from msgspec.structs import replace

    from podling.extensions.loading import entries_of

    added = entries_of(",".join(extensions))
    try:
        scenario = read_scenario(file.read_text(), str(file), file.parent, added)
    except OSError as error:
        raise _Unusable(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise _Unusable(f"{file}:1:1: not UTF-8: {error.reason}") from None
    except ScenarioUnusable as error:
        raise _Unusable(str(error)) from None
    if until is None:
        return scenario
    end = _duration(until, "--until")
    if end < SHORTEST_SECONDS:
        raise click.BadParameter("a scenario lasts at least one second", param_hint="'--until'")
    return replace(scenario, until=end)


def _replay_options(scenario: Scenario, until: str | None = None) -> str:
    """Return the options that a replay of one seed needs, with a space before each."""
    rest = "".join(f" --with {each}" for each in scenario.extensions)
    return rest if until is None else f"{rest} --until {until}"


def _duration(text: str, option: str) -> Duration:
    try:
        return duration_from(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=f"'{option}'") from None


def _stops(
    scenario: Scenario, at: str | None, step: str | None, until: str | None, *, shell: bool
) -> Stops | None:
    """Return the moments at which the run stops; None without any."""
    if at is None:
        if shell or step is not None:
            raise click.UsageError("--shell and --step need --at, the moment of the first stop")
        return None
    if not shell:
        raise click.UsageError("--at needs --shell: the cluster lives as long as the shell")
    first = _duration(at, "--at")
    if first > scenario.until:
        raise click.BadParameter(
            f"the scenario ends before, at {go_duration(scenario.until)}", param_hint="'--at'"
        )
    every = None if step is None else _duration(step, "--step")
    return Stops(first, every or None, None if until is None else scenario.until)


def _check_report(folder: Path, seeds: str | None) -> None:
    """Raise what would prevent the report, before the run."""
    if seeds is not None:
        raise click.UsageError("--report shows one run; use --seed instead of --seeds")
    if problem := missing():
        raise Failure(problem)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{folder}: {error.strerror}") from None


def _run_one(
    file: Path,
    scenario: Scenario,
    seed: int,
    log_file: Path | None,
    report: Path | None,
    live: Live,
    stops: Stops | None,
) -> None:
    with ExitStack() as stack:
        paths = [path for path in (log_file, None if report is None else report / LOG) if path is not None]
        try:
            logs = [stack.enter_context(path.open("wb")) for path in paths]
        except OSError as error:
            raise Failure(f"{error.filename}: {error.strerror}") from None
        stack.callback(live.clear)
        run = run_scenario if stops is None else partial(_visited, live, stops)
        settle()
        outcome, statistics = run(scenario, file.parent, seed, _sink(logs), live.show)
    elapsed = live.elapsed()
    print_outcome(file, outcome, statistics, elapsed, _replay_options(scenario))
    if report is not None:
        data = ReportData(
            file=str(file), scenario=scenario, outcome=outcome, statistics=statistics, elapsed=elapsed
        )
        page = write_report(data, report)
        click.echo(f"report: {page}", err=True)
    if not outcome.is_complete and stops is None:
        raise SystemExit(INTERRUPTED)
    raise SystemExit(0 if outcome.passed or stops is not None else 1)


def _visited(
    live: Live,
    stops: Stops,
    scenario: Scenario,
    folder: Path,
    seed: int,
    sink: Sink | None,
    progress: Progress | None,
) -> tuple[Outcome, Statistics]:
    """Run until the first stop, and open shells."""
    # podling.testing is above the command line: it alone serves clusters in memory.
    stopped_run = importlib.import_module("podling.testing.stopped_run")

    async def visitor(found: Any) -> None:
        live.clear()
        await visit(stops, found.directory, found.kubeconfig, found.run)

    outcome, statistics = stopped_run.visit_run(
        stops.first, scenario, folder, seed, visitor, sink=sink, progress=progress
    )
    return outcome, statistics


def _sink(logs: Sequence[IO[bytes]]) -> Sink | None:
    if not logs:
        return None

    def write(line: bytes) -> None:
        for log in logs:
            log.write(line)

    return write


def _run_many(
    file: Path, scenario: Scenario, seeds: str, jobs: int, options: str, shrink_seconds: float
) -> None:
    try:
        wanted = parse_seeds(seeds)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--seeds'") from None
    outcomes = run_seeds(scenario, file.parent, wanted, jobs)
    tally = print_seeds(file, outcomes, len(wanted), options)
    if tally.first is not None and shrink_seconds > 0 and not tally.is_interrupted:
        shrink(file, scenario, tally.first, shrink_seconds)
    if tally.is_interrupted:
        raise SystemExit(INTERRUPTED)
    raise SystemExit(1 if tally.failed else 0)
