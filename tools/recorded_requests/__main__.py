"""``python -m tools.recorded_requests record|compare``: exit with 1 if two recordings differ."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

import click

from podling import clock
from tools.recorded_requests.comparison import differences
from tools.recorded_requests.recorder import Recorder
from tools.recorded_requests.recording import About, writing
from tools.recorded_requests.scenario.play import play
from tools.recorded_requests.server import commit_of, running

RECORDING = click.Path(path_type=Path)


@click.group()
def main() -> None:
    """Record an API server's answers to a fixed scenario, and compare recordings."""


@main.command()
@click.option(
    "--checkout", type=click.Path(path_type=Path, exists=True), required=True, help="Has its own .venv."
)
@click.option(
    "--every", default=1, show_default=True, help="Send one of n of the requests that no other depends on."
)
@click.argument("recording", type=RECORDING)
def record(checkout: Path, recording: Path, every: int) -> None:
    """Start the API server of a checkout, send the scenario and write every answer to RECORDING."""
    checkout = checkout.resolve()
    begun = clock.now()
    with (
        tempfile.TemporaryDirectory(prefix="podling-recorded-") as folder,
        running(checkout, Path(folder)) as server,
        writing(recording) as writer,
    ):
        recorder = Recorder(server, writer, every)
        play(recorder)
        generated = [f"{server.host}:{server.port}", str(server.port), folder]
        writer.finish(About(commit_of(checkout), begun, generated, dict(recorder.covered)))
    for group, count in recorder.covered.items():
        click.echo(f"{count:6}  {group}")
    click.echo(f"{recorder.covered.total():6}  requests of {commit_of(checkout)} in {recording}")


@main.command()
@click.argument("before", type=RECORDING)
@click.argument("after", type=RECORDING)
@click.option("--show", default=20, show_default=True, help="Differences to show in full.")
def compare(before: Path, after: Path, show: int) -> None:
    """Show the requests that two recordings answer differently."""
    found = list(differences(before, after))
    for each in islice(found, show):
        click.echo(f"{each.key}\n  - {each.before!r}\n  + {each.after!r}")
    groups = Counter(each.key.partition(": ")[0] for each in found)
    for group, count in groups.items():
        click.echo(f"{count:6}  {group}")
    click.echo(f"{len(found):6}  differences")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
