"""The shell of ``podling sim --at TIME --shell``: in it every client finds the cluster of the stopped run."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from podling import clock
from podling.cli.common_options import ENVIRONMENT
from podling.machinery.durations import go_duration

DEFAULT_SHELL = "/bin/sh"


class Stops(Struct, frozen=True):
    """The moments at which a run stops, in seconds since its begin.

    Args:
        first: the first one.
        step: the time until the next one; None: there is no other.
        until: the moment up to which the run goes on after the last shell; None: it ends there.
    """

    first: float
    step: float | None = None
    until: float | None = None


async def visit(stops: Stops, directory: Path, kubeconfig: Path, run: Any) -> None:
    """Open a shell at each stop. One that ends with an error is the last."""
    while True:
        told = f"{directory}: the cluster stands at {go_duration(run.seconds)}"
        click.echo(f"{told}; 'exit' ends the visit, 'podling clock advance 5m' goes on", err=True)
        code = await _shell(directory, kubeconfig)
        if code or stops.step is None or run.seconds + stops.step > run.scenario.until:
            break
        await _advance(stops.step)
    if stops.until is not None:
        await _advance(max(0.0, stops.until - run.seconds))


async def _shell(directory: Path, kubeconfig: Path) -> int:
    added = {"KUBECONFIG": str(kubeconfig), ENVIRONMENT: str(directory)}
    shell = os.environ.get("SHELL") or DEFAULT_SHELL
    process = await asyncio.create_subprocess_exec(shell, env={**os.environ, **added})
    return await process.wait()


async def _advance(seconds: float) -> None:
    wound: Any = clock.wound_clock()
    await wound.advance(seconds)
