"""``podling record``: write the history of a cluster as a scenario, and its event log."""

from __future__ import annotations

import asyncio
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import yaml

from podling.cli.common_options import Failure, data_directory_option, require_running
from podling.client.base import Unreachable
from podling.cluster.directory import DataDirectory
from podling.machinery.durations import go_duration
from podling.machinery.errors import ApiError
from podling.sim.recording.recorder import Recorder
from podling.sim.recording.to_scenario import scenario_from_moments
from podling.sim.scenario_parts import duration_from


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="SCENARIO")
@data_directory_option
@click.option(
    "--kubeconfig", type=click.Path(dir_okay=False, exists=True, path_type=Path), help="Another cluster."
)
@click.option("--for", "length", metavar="TIME", help="Record so long.  [default: until Ctrl-C]")
@click.option(
    "--log", type=click.Path(dir_okay=False, path_type=Path), help="Write the event log, JSON lines."
)
def record(
    file: Path, directory: DataDirectory, kubeconfig: Path | None, length: str | None, log: Path | None
) -> None:
    """Record the history of a cluster as a scenario.

    Nodes, workloads, what is applied and deleted meanwhile, and how containers start and end. 'podling sim'
    plays it; 'podling compare' compares the event logs of both.
    """
    try:
        seconds = None if length is None else float(duration_from(length))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--for'") from None
    if kubeconfig is None:
        require_running(directory)
        kubeconfig = directory.kubeconfig
    try:
        with ExitStack() as stack:
            sink = stack.enter_context(log.open("wb")).write if log is not None else None
            stack.enter_context(file.open("a"))
            moments, lasted, began = asyncio.run(_recorded(kubeconfig, seconds, sink))
        made = scenario_from_moments(moments, lasted, began)
        text = yaml.dump(
            made.scenario, Dumper=yaml.CSafeDumper, sort_keys=False, width=110, allow_unicode=True
        )
        file.write_text(text)
    except OSError as error:
        raise Failure(f"{error.filename or kubeconfig}: {error.strerror or error}") from None
    except (ApiError, Unreachable) as error:
        raise Failure(str(error)) from error
    for note in made.notes:
        click.echo(note, err=True)
    click.echo(f"wrote {file}: {go_duration(lasted)} of history; play it: podling sim {file}", err=True)


async def _recorded(kubeconfig: Path, seconds: float | None, sink: Any) -> tuple[Any, float, Any]:
    from podling.client.http import HttpClient

    client = HttpClient.from_kubeconfig(kubeconfig)
    end, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    recorder = Recorder(client, sink, lambda: click.echo("recording; Ctrl-C ends it", err=True))
    try:
        moments = await recorder.record(end, seconds)
        return moments, recorder.seconds, recorder.begin
    finally:
        await client.close()
