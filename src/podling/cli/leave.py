"""``podling leave``: take this machine's node out of its cluster, and remove all that it has here."""

from __future__ import annotations

import asyncio
import shutil

import click

from podling.cli.common_options import Failure, data_directory_option
from podling.cli.down import stop_process
from podling.client.base import Unreachable
from podling.client.http import HttpClient
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryInUse
from podling.cluster.joined import settings as joined_settings
from podling.cluster.joined.identity import NodeIdentity
from podling.cluster.joined.leaving import CannotLeave, drain, remove
from podling.cluster.joined.settings import JoinedSettings
from podling.cluster.local_nodes import end_all_containers
from podling.machinery.errors import ApiError
from podling.runtime.base import RuntimeFailure


@click.command()
@data_directory_option
@click.option(
    "--timeout",
    default=120.0,
    show_default=True,
    help="Seconds that pods may take to move elsewhere, as their disruption budgets allow.",
)
@click.option(
    "--grace",
    default=10.0,
    show_default=True,
    help="Most seconds a container that is left gets before SIGKILL.",
)
@click.option(
    "--force", is_flag=True, help="Leave also where pods cannot move, or the cluster does not answer."
)
def leave(directory: DataDirectory, timeout: float, grace: float, force: bool) -> None:
    """Move this node's pods elsewhere, delete the node, and end all that runs here."""
    settings = joined_settings.read(directory)
    if settings is None:
        raise Failure(f"no node has joined a cluster from {directory.path}")
    pid, identity = directory.running_pid(), NodeIdentity(directory)
    if not pid and not force:
        raise Failure(
            "the node does not run, so its pods cannot end in order: start it with 'podling join', or leave "
            "with --force"
        )
    moved = asyncio.run(_drained(settings, identity, timeout, force=force)) if pid else 0
    if pid:
        stop_process(pid)
    try:
        with directory.locked():
            stopped = asyncio.run(end_all_containers(directory, grace))
            problem = asyncio.run(_removed(settings, identity))
            if problem and not force:
                raise Failure(problem)
            _forget(directory, settings, identity)
    except (DirectoryInUse, RuntimeFailure) as error:
        raise Failure(str(error)) from error
    click.echo(f"Node {settings.node_name} has left: {moved} pods moved, {stopped} ended here.")
    if problem:
        click.echo(problem)


def _client(settings: JoinedSettings, identity: NodeIdentity) -> HttpClient:
    try:
        return HttpClient(settings.server, identity.client_context())
    except OSError as error:
        raise Failure(f"the node's certificate cannot be read: {error}; leave with --force") from error


async def _drained(settings: JoinedSettings, identity: NodeIdentity, seconds: float, *, force: bool) -> int:
    """Drain the node; return the number of pods that moved. Raises ``Failure`` unless ``force``."""
    client = _client(settings, identity)
    try:
        return await drain(client, settings.node_name, seconds)
    except (CannotLeave, ApiError, Unreachable) as error:
        if force:
            return 0
        why = (
            str(error)
            if isinstance(error, CannotLeave)
            else f"the cluster does not let it go: {error}; --force"
        )
        raise Failure(why) from error
    finally:
        await client.close()


async def _removed(settings: JoinedSettings, identity: NodeIdentity) -> str:
    """Remove the node from the cluster; return what is left to do there, for people."""
    by_hand = f"delete the node there: kubectl delete node {settings.node_name}"
    try:
        client = _client(settings, identity)
    except Failure as error:
        return f"{error.message}; {by_hand}"
    try:
        why = await remove(client, settings.node_name)
    except (ApiError, Unreachable) as error:
        why = str(error)
    finally:
        await client.close()
    return f"the node's object stays: {why}; {by_hand}" if why else ""


def _forget(directory: DataDirectory, settings: JoinedSettings, identity: NodeIdentity) -> None:
    """Remove identity, settings and directories of the node; images stay for the next."""
    identity.forget()
    shutil.rmtree(directory.node(settings.node_name), ignore_errors=True)
    (directory.path / joined_settings.FILE).unlink(missing_ok=True)
