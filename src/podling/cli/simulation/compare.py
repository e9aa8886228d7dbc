"""``podling compare``: whether pods lived the same lives in two event logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from podling.sim.importing.sources import Unreadable, json_lines
from podling.sim.recording.comparison import PASSING_SECONDS, differences, end_of, lives

DIFFERENT, UNUSABLE = 1, 2


@click.command()
@click.argument("one", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("other", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--passing",
    type=click.FloatRange(min=0),
    default=PASSING_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Stages shorter than this may be missing from one log.",
)
def compare(one: Path, other: Path, passing: float) -> None:
    """Compare the lives of pods in two event logs, of 'podling record --log' and 'podling sim --log'.

    \b
    Exit codes: 0  every pod lived through the same stages
                1  some did not; they are printed
                2  a log cannot be read
    """
    first, second = _lives(one, other)
    found = differences(first, second, passing)
    for text in found:
        click.echo(text)
    if found:
        click.echo(f"{len(found)} of {len(first.keys() | second.keys())} pods differ", err=True)
        raise SystemExit(DIFFERENT)
    click.echo(f"the same stages in the same order: {len(first)} pods")


def _lives(*paths: Path) -> Any:
    """Return the lives in each log, up to the end of the recording among them that ends first."""
    path = paths[0]
    try:
        logs = []
        for path in paths:
            logs.append([line for _, line in json_lines(path.read_text(), str(path))])
        end = min(map(end_of, logs))
        return [lives(lines, end) for lines in logs]
    except OSError as error:
        click.echo(f"{path}: {error.strerror}", err=True)
    except UnicodeDecodeError as error:
        click.echo(f"{path}:1:1: not UTF-8: {error.reason}", err=True)
    except (Unreadable, TypeError, ValueError) as error:
        click.echo(str(error), err=True)
    raise SystemExit(UNUSABLE)
