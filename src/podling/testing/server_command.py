"""``podling test-server``: a cluster for the tests of programs in any language."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Any

import click
import msgspec

from podling.cli.common_options import Failure
from podling.testing.clusters import running_cluster
from podling.testing.settings import settings_from


@click.command("test-server")
@click.option("--nodes", type=click.IntRange(0), default=1, show_default=True, help="The number of nodes.")
@click.option(
    "--clock",
    default="running",
    show_default=True,
    help="'running' with the machine's time, 'paused' until it is wound, or a speed such as '60x'.",
)
@click.option("--start", metavar="TIME", help="The time at which the cluster begins.  [default: now]")
@click.option("--seed", type=int, default=0, show_default=True, help="Decides what is random.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port of the API server; 0: any.")
def test_server(port: int, **options: Any) -> None:
    """Run a cluster with simulated nodes until standard input is closed.

    Prints one line of JSON when it is Ready: "url", "kubeconfig" (a file), "ca" (PEM) and "clock", the path
    of the API server at which the clock is wound. Nothing is left when it ends.
    """
    try:
        settings = settings_from(options)
    except ValueError as error:
        raise Failure(str(error)) from error
    ended = _end_signals()
    try:
        with running_cluster(settings, port) as cluster:
            line = {
                "url": cluster.url,
                "kubeconfig": str(cluster.kubeconfig),
                "ca": cluster.ca_pem.decode(),
                "clock": "/podling/clock",
            }
            click.echo(msgspec.json.encode(line).decode())
            sys.stdout.flush()
            _wait(sys.stdin.fileno(), ended)
    except OSError as error:
        raise Failure(f"the API server cannot listen on port {port}: {error.strerror or error}") from error


def _end_signals() -> int:
    """Return a descriptor that becomes readable when the process is to end."""
    reading, writing = os.pipe()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.write(writing, b"x"))
    return reading


def _wait(stdin: int, ended: int) -> None:
    """Wait until standard input is closed, or a signal ends the process."""
    while True:
        ready, _, _ = select.select([stdin, ended], [], [])
        if ended in ready or not os.read(stdin, 4096):
            return
