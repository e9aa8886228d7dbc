"""``podling join``: run a node of another machine's cluster on this one.

The first part gets the node its identity, with a token; the second runs the node, and later starts know
nothing of the token: no command line of a running process shows it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podling.allocator import Trimmer
from podling.cli.common_options import Failure, data_directory_option
from podling.cli.node_start import RUNTIMES, best_runtime, check_runtime, settle_place
from podling.cli.options.extension_options import chosen_extensions, extension_option
from podling.cli.options.network_options import check_cni, chosen_cni, cni_option
from podling.cli.options.node_options import chosen_node_options, kubelet_config_option, node_options
from podling.cli.starting.detached import Progress, detach_command
from podling.cli.starting.own_command import own_command, own_environment
from podling.cluster.directory import SETTINGS, DataDirectory
from podling.cluster.directory_errors import DirectoryInUse, DirectoryUnusable
from podling.cluster.garbage_collection import begin, settle
from podling.cluster.identity import Standing
from podling.cluster.joined import settings as joined_settings
from podling.cluster.joined.identity import NodeIdentity
from podling.cluster.joined.settings import JoinedSettings
from podling.cluster.own_log import OwnLog
from podling.machinery import cluster_info
from podling.machinery.cluster_info import Networking
from podling.machinery.network_ranges import CLUSTER_CIDR, VXLAN
from podling.machinery.tokens import bootstrap_tokens
from podling.node.joining.discovery import checked_url, discover
from podling.node.joining.refusals import JoinRefused
from podling.node.machine import node_ip_problem, node_names
from podling.node.node_options import NodeOptions
from podling.rlimits import raise_open_files
from podling.supervisor import Supervisor

if TYPE_CHECKING:
    from podling.cluster.joined.joined_node import JoinedNode

NOT_READY = "\nThe node runs, but {problem}; 'podling status' says more."


@click.command()
@data_directory_option
@click.argument("url", required=False, default="")
@click.option(
    "--token",
    default="",
    envvar="PODLING_JOIN_TOKEN",
    help="The token that 'podling token create --join' has printed.  [env: PODLING_JOIN_TOKEN]",
)
@click.option("--ca-hash", default="", help="The hash of the cluster's authority, sha256:...")
@click.option(
    "--node-name",
    "--hostname-override",
    "node_name",
    default="",
    help="The node's name.  [default: the machine's]",
)
@click.option(
    "--node-ip",
    metavar="IP[,IP]",
    help="The node's address, or one of each family, the primary one first; '::' prefers the machine's "
    "IPv6 address; '' takes the machine's own.  [default: the last one, or the one on the route to the API "
    "server]",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    help="What runs containers.  [default: as last time, or oci as root where it works, else process]",
)
@click.option(
    "--static-pod-path",
    metavar="DIR",
    help="Run the manifests in this directory as static pods; '' runs none.  [default: the last directory, "
    "or none]",
)
@cni_option
@kubelet_config_option("--config", "--kubelet-config")
@node_options
@extension_option
@click.option("--detach", is_flag=True, help="Run in the background; return when the node is ready.")
@click.option("--progress-fd", type=int, default=-1, hidden=True)
def join(directory: DataDirectory, detach: bool, progress_fd: int, **chosen: Any) -> None:
    """Run a node of the cluster at URL on this machine; without URL, the node that has joined before."""
    progress = Progress(progress_fd)
    try:
        if chosen["url"] or progress_fd < 0:
            with prepared(directory):
                _prepare(directory, chosen, progress)
        arguments = ["--data-dir", str(directory.path)]
        if detach:
            detach_command("join", directory, arguments)
        elif sys.argv[1:] != ["join", *arguments] and progress_fd < 0:
            command = own_command("join", *arguments)
            os.execve(command[0], command, own_environment())
        else:
            with prepared(directory):
                settle_place(directory, "", progress)
                _run(directory, progress)
    except (DirectoryInUse, DirectoryUnusable, JoinRefused, Failure) as error:
        progress.failed(str(error))
        raise Failure(str(error)) from error


@contextmanager
def prepared(directory: DataDirectory) -> Iterator[None]:
    """Hold the directory, which is made if need be."""
    directory.create()
    with directory.locked():
        yield


def _prepare(directory: DataDirectory, chosen: Mapping[str, Any], progress: Progress) -> None:
    """Give the node its identity if it has none, and record the settings. Raises ``JoinRefused``."""
    if directory.store.exists() or (directory.path / SETTINGS).exists():
        raise Failure(f"{directory.path} is the data directory of a cluster; name another with --data-dir")
    last = joined_settings.read(directory)
    check_runtime(chosen["runtime"] or (last.runtime if last else ""))
    check_cni(chosen["cni_conf_dir"], chosen["runtime"] or (last.runtime if last else ""))
    if chosen["node_ip"] and (problem := node_ip_problem(chosen["node_ip"])):
        raise Failure(problem)
    options = chosen_node_options(chosen, last.node_options if last else NodeOptions())
    identity = NodeIdentity(directory)
    if directory.standing() is Standing.COPIED:
        raise Failure(
            f"{directory.path} is a copy, and a node has one identity: join with an empty directory instead"
        )
    if last is not None and identity.is_good():
        _check_name(last, chosen["node_name"])
        server, network = checked_url(chosen["url"]) if chosen["url"] else last.server, Networking()
    else:
        server, network = _establish(identity, chosen, last, progress)
    runtime = chosen["runtime"] or (last.runtime if last else "") or best_runtime(progress)
    if last is not None and last.runtime != runtime:
        end_other_runtime(directory, last.runtime, progress)
    path = chosen["static_pod_path"]
    joined_settings.write(
        directory,
        JoinedSettings(
            server=server,
            node_name=_node_name(chosen["node_name"], last),
            node_ip=given(chosen["node_ip"], last.node_ip if last else ""),
            addresses=last.addresses if last else (),
            cluster_cidr=network.pods or (last.cluster_cidr if last else CLUSTER_CIDR),
            node_masks=network.masks if network.pods or last is None else last.node_masks,
            network=network.mode or (last.network if last else VXLAN),
            runtime=runtime,
            cni_conf_dir=chosen_cni(chosen["cni_conf_dir"], last.cni_conf_dir if last else ""),
            node_options=options,
            extensions=chosen_extensions(chosen["extensions"], last.extensions if last else ()),
            static_pod_path=given(
                str(Path(path).expanduser().absolute()) if path else path,
                last.static_pod_path if last else "",
            ),
        ),
    )


def _establish(
    identity: NodeIdentity, chosen: Mapping[str, Any], last: JoinedSettings | None, progress: Progress
) -> tuple[str, Networking]:
    """Join the cluster with a token; return the URL of its API server and its network.

    Raises ``JoinRefused``.
    """
    if not chosen["url"]:
        if last is None:
            raise Failure("no node has joined from here: podling join URL --token TOKEN --ca-hash sha256:...")
        raise Failure(
            f"the certificate of node {last.node_name} has expired or is missing: delete the node (kubectl "
            f"delete node {last.node_name}) and join again with a new token"
        )
    url, token = checked_url(chosen["url"]), bootstrap_tokens.parse(chosen["token"].strip())
    if token is None:
        raise JoinRefused(
            "--token is no token: six small letters and digits, a dot, and sixteen more; 'podling token "
            "create --join' prints one on the cluster's machine"
        )
    if not cluster_info.is_hash(chosen["ca_hash"]):
        raise JoinRefused("--ca-hash is no hash: it begins with sha256: and has 64 hexadecimal digits")

    async def establish() -> tuple[str, Networking]:
        found = await discover(url, token, chosen["ca_hash"])
        progress("cluster", found.server)
        return found.server, await identity.establish(found, token, _node_name(chosen["node_name"], last))

    established = asyncio.run(establish())
    progress("certificate", f"system:node:{_node_name(chosen['node_name'], last)}")
    return established


def _node_name(option: str, last: JoinedSettings | None) -> str:
    return option.lower() or (last.node_name if last else node_names(1)[0])


def _check_name(last: JoinedSettings, option: str) -> None:
    if option and option.lower() != last.node_name:
        raise Failure(
            f"this machine has joined as {last.node_name}: remove that node with 'podling leave', or name "
            "another --data-dir"
        )


def given(option: str | None, last: str) -> str:
    return last if option is None else option


def end_other_runtime(directory: DataDirectory, before: str, progress: Progress) -> None:
    """End the pods that another runtime left running."""
    from podling.cluster.local_nodes import end_all_containers

    ended = asyncio.run(end_all_containers(directory, 10.0))
    progress("runtime", f"was {before}; stopped its {ended} pods")


def _run(directory: DataDirectory, progress: Progress) -> None:
    settings = joined_settings.read(directory)
    if settings is None:
        raise Failure("no node has joined from here: podling join URL --token TOKEN --ca-hash sha256:...")
    raise_open_files()
    begin()
    import uvloop

    from podling.cluster.joined.joined_node import JoinedNode
    from podling.cluster.start_failure import StartFailure

    node = JoinedNode(directory, settings, progress)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(node, directory, progress))
    except StartFailure as error:
        raise Failure(str(error)) from error


async def _serve(node: JoinedNode, directory: DataDirectory, progress: Progress) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await node.start()
    supervisor = Supervisor()
    supervisor.keep_running("log-rotation", OwnLog(directory.log).run)
    supervisor.keep_running("memory", Trimmer().run)
    try:
        problem = await node.ready(stop)
        ready = ["", "Ready. This machine is a node of the cluster."]
        progress.ready([NOT_READY.format(problem=problem)] if problem else ready)
        settle()
        await node.run_until(stop)
    finally:
        await supervisor.close()
        await node.stop()
