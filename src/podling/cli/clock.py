"""``podling clock``: wind the clock of a cluster that was started with ``podling up --clock virtual``."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import click
import msgspec

from podling.cli.access import run_request
from podling.cli.common_options import Failure, data_directory_option, require_running
from podling.cli.options.param_type import ParamType
from podling.cluster.directory import DataDirectory
from podling.machinery.durations import seconds_of

NOT_MET = 1
WINDING_SECONDS_MAX = 7 * 86_400.0
"""The longest that one command waits, in the machine's time."""


class _DurationType(ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return duration_seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def duration_seconds(text: str) -> float:
    """Return the seconds of ``5m``, ``1h30m`` or ``2d12h``. Raises ``ValueError``. Pure."""
    days, rest = re.fullmatch(r"(?:(\d+)d)?(.*)", text).groups()  # type: ignore[union-attr]
    seconds = int(days or 0) * 86_400 + (seconds_of(rest) if rest or not days else 0)
    if seconds < 0:
        raise ValueError(f"{text}: time cannot go back")
    return seconds


class _SpeedType(ParamType[float]):
    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if (found := re.fullmatch(r"(\d+(?:\.\d+)?)x?", str(value))) is None:
            self.fail(f"{value!r} is no speed; write 60x for a minute each second", param, ctx)
        return float(found[1])


settle_option = click.option(
    "--settle",
    type=_DurationType(),
    metavar="DURATION",
    help="Give clients so much of the machine's time to react before time goes on.  [default: 10ms, or the "
    "last choice]",
)


@click.group()
def clock() -> None:
    """Wind the clock of a cluster of 'podling up --runtime sim --clock virtual'."""


@clock.command("status")
@data_directory_option
def status(directory: DataDirectory) -> None:
    """Show the time of the cluster, and what moves it."""
    click.echo(described(request_clock(directory, "", None)))


@clock.command("advance")
@data_directory_option
@click.argument("duration", type=_DurationType())
@settle_option
def advance(directory: DataDirectory, duration: float, settle: float | None) -> None:
    """Let so much time pass: 30s, 5m, 1h30m, 31d."""
    click.echo(
        described(request_clock(directory, "/advance", {"seconds": duration, "settleSeconds": settle}))
    )


@clock.command("run-until")
@data_directory_option
@click.argument("condition", nargs=-1, required=True)
@click.option("-n", "--namespace", default="default", show_default=True, help="The namespace of the object.")
@click.option(
    "--at-most", type=_DurationType(), default="1d", show_default=True, help="The most time that may pass."
)
@settle_option
def run_until(
    directory: DataDirectory, condition: tuple[str, ...], namespace: str, at_most: float, settle: float | None
) -> None:
    """Let time pass until a condition of 'kubectl wait' holds; exit code 1 if it does not come.

    \b
    podling clock run-until job/report condition=Complete
    podling clock run-until pod/web 'jsonpath={.status.phase}=Running' --at-most 10m
    podling clock run-until pod/web delete
    """
    asked = {
        "condition": " ".join(condition),
        "namespace": namespace,
        "atMostSeconds": at_most,
        "settleSeconds": settle,
    }
    found = request_clock(directory, "/run-until", asked)
    click.echo(described(found))
    if not found["met"]:
        click.echo(f"{' '.join(condition)} did not come true in this time", err=True)
        raise SystemExit(NOT_MET)


@clock.command("speed")
@data_directory_option
@click.argument("speed", type=_SpeedType())
def speed(directory: DataDirectory, speed: float) -> None:
    """Let time flow by itself: 1x as fast as the machine's, 60x a minute each second."""
    click.echo(described(request_clock(directory, "/speed", {"speed": speed})))


@clock.command("pause")
@data_directory_option
def pause(directory: DataDirectory) -> None:
    """Stop time where it is, also one that is being wound."""
    click.echo(described(request_clock(directory, "/speed", {"speed": 0})))


def described(status: dict[str, Any]) -> str:
    """Return one line about a clock's state, for people. Pure."""
    mode = f"running at {status['speed']:g}x" if status["mode"] == "running" else status["mode"]
    target = f" until {_shown(status['target'])}" if status.get("target") else ""
    following = f"; next timer at {_shown(status['nextTimer'])}" if status.get("nextTimer") else ""
    return f"{_shown(status['now'])}  {mode}{target}{following}"


def _shown(moment: str) -> str:
    return datetime.fromisoformat(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def request_clock(directory: DataDirectory, action: str, body: dict[str, Any] | None) -> dict[str, Any]:
    """Return the clock's state after a request to the API server. Raises ``Failure``."""
    require_running(directory)
    if not directory.settings().is_wound:
        raise Failure(
            "this cluster keeps the machine's time; 'podling up --runtime sim --clock virtual', in a data "
            "directory of its own, starts one whose clock is wound"
        )
    return run_request(_exchange(directory, action, body))


async def _exchange(directory: DataDirectory, action: str, body: dict[str, Any] | None) -> dict[str, Any]:
    from podling.client.http_errors import error_of
    from podling.client.kubeconfig import load
    from podling.client.transport import Transport, ssl_context

    connection = load(directory.kubeconfig)
    transport = Transport(connection, ssl_context(connection))
    content = None if body is None else msgspec.json.encode(body)
    method = "GET" if body is None else "POST"
    path = f"/podling/clock{action}"
    try:
        async with transport.open(method, path, {}, content, seconds_max=WINDING_SECONDS_MAX) as response:
            answer = await response.read()
            if response.status >= 300:
                raise error_of(response.status, answer, response.headers)
            return msgspec.json.decode(answer, type=dict[str, Any])
    finally:
        await transport.close()
