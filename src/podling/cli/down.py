"""``podling down``: stop the process, then the containers, which would otherwise live on."""

from __future__ import annotations

import asyncio
import os
import select
import signal

import click

from podling.cli.common_options import Failure, data_directory_option
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryInUse

STOP_SECONDS = 30.0
"""Seconds that the cluster's process may take to end before it is killed; its containers are not affected."""
KILL_SECONDS = 10.0


@click.command()
@data_directory_option
@click.option(
    "--grace",
    default=10.0,
    show_default=True,
    help="Most seconds a container gets before SIGKILL; its pod's grace period may be shorter.",
)
def down(directory: DataDirectory, grace: float) -> None:
    """Stop the cluster and its containers. Its objects stay: 'podling up' runs them again."""
    if not directory.path.is_dir():
        click.echo(f"There is no cluster at {directory.path}.")
        return
    from podling.cluster.local_nodes import end_all_containers
    from podling.runtime.base import RuntimeFailure

    pid = directory.running_pid()
    if pid:
        stop_process(pid)
    try:
        with directory.locked():
            stopped = asyncio.run(end_all_containers(directory, grace))
    except (DirectoryInUse, RuntimeFailure) as error:
        raise Failure(str(error)) from error
    what = f"process {pid} and " if pid else ""
    click.echo(
        f"Stopped {what}{stopped} pod{'' if stopped == 1 else 's'} of the cluster at {directory.path}."
    )


def stop_process(pid: int) -> None:
    """End a process of a cluster or a node, by force if need be. Raises ``Failure``."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
            signal.pidfd_send_signal(handle, number)
            if select.select([handle], [], [], seconds)[0]:
                return
        raise Failure(f"process {pid} does not end: it hangs in the kernel")
    except ProcessLookupError:
        return
    finally:
        os.close(handle)
