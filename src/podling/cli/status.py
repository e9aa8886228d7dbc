"""``podling status``: the cluster at a glance, whether it runs or not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podling import clock
from podling.cli.common_options import data_directory_option
from podling.cli.part_table import is_stopped, own_mib, part_rows, processes
from podling.client.base import Unreachable
from podling.client.http import HttpClient
from podling.cluster.directory import DataDirectory
from podling.cluster.joined import settings as joined_settings
from podling.cluster.joined.identity import NodeIdentity
from podling.cluster.joined.settings import JoinedSettings
from podling.cluster.processes.parts import API
from podling.cluster.processes.state_file import read_states
from podling.cluster.processes.states import problem
from podling.machinery.errors import ApiError

if TYPE_CHECKING:
    from podling.api.core_v1 import Node, Pod

NOT_RUNNING = 3


@click.command()
@data_directory_option
def status(directory: DataDirectory) -> None:
    """Show the cluster: process, nodes, pods. Exit code 3 when it does not run."""
    _line("data directory", str(directory.path))
    if (joined := joined_settings.read(directory)) is not None:
        _show_joined(directory, joined)
        return
    if not (directory.store.exists() or directory.settings().is_wound):
        _line("cluster", "there is none; start one: podling up")
        raise SystemExit(NOT_RUNNING)
    pid = directory.running_pid()
    if not pid:
        _line(
            "process", "not running; containers may be: 'podling up' adopts them, 'podling down' stops them"
        )
        raise SystemExit(NOT_RUNNING)
    api_problem = _show_processes(directory, pid)
    settings = directory.settings()
    _line("runtime", "none: the API server runs alone" if settings.api_only else settings.runtime)
    _line("kubeconfig", str(directory.kubeconfig))
    if api_problem:
        _line("API server", f"does not answer: {api_problem}")
        raise SystemExit(1)
    try:
        asyncio.run(_show_cluster(directory))
    except (ApiError, Unreachable, OSError) as error:
        _line("API server", f"does not answer: {error}")
        raise SystemExit(1) from error


def _show_joined(directory: DataDirectory, joined: JoinedSettings) -> None:
    """Show a node of another machine's cluster, with the rights of the node itself."""
    identity = NodeIdentity(directory)
    period = identity.client.period()
    _line("node of", joined.server)
    _line("certificate", f"until {period.ends:%Y-%m-%dT%H:%M:%SZ}" if period is not None else "missing")
    pid = directory.running_pid()
    if not pid:
        _line(
            "process", "not running; containers may be: 'podling join' adopts them, 'podling down' stops them"
        )
        raise SystemExit(NOT_RUNNING)
    _line("process", f"{pid}, {resident_mib(pid):.0f} MiB")
    _line("runtime", joined.runtime)
    try:
        asyncio.run(_show_own_node(HttpClient(joined.server, identity.client_context()), joined.node_name))
    except (ApiError, Unreachable, OSError) as error:
        _line("API server", f"does not answer: {error}")
        raise SystemExit(1) from error


async def _show_own_node(client: HttpClient, name: str) -> None:
    from podling.api.core_v1 import Node, Pod

    try:
        node = await client.get(Node, name)
        pods = (await client.list(Pod, field_selector=f"spec.nodeName={name}")).items
    finally:
        await client.close()
    _show_nodes([node])
    _show_pods(pods)


def _show_processes(directory: DataDirectory, pid: int) -> str:
    """Show the cluster's processes; return what is wrong with the API server's, if that is known."""
    found = read_states(directory.path)
    if found is None or found.supervisor != pid:
        memory = f", {resident_mib(pid):.0f} MiB" if Path(f"/proc/{pid}").exists() else ""
        _line("process", f"{pid}{memory}")
        return ""
    every = processes(found)
    stopped = ", stopped by a signal" if is_stopped(pid) else ""
    _line("process", f"{pid}, {sum(map(own_mib, every)):.0f} MiB in {len(every)} processes{stopped}")
    now, wall = clock.monotonic(), clock.now()
    for row in part_rows(found, now, wall):
        _line("part", row)
    return next((problem(each, now, wall) for each in found.parts if each.part.kind == API), "")


def resident_mib(pid: int) -> float:
    """Return a process' resident memory in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


async def _show_cluster(directory: DataDirectory) -> None:
    from podling.api.core_v1 import Node, Pod

    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        nodes = (await client.list(Node)).items
        pods = (await client.list(Pod)).items
    finally:
        await client.close()
    _line("API server", client.url)
    _show_nodes(nodes)
    _show_pods(pods)


def _show_nodes(nodes: Iterable[Node]) -> None:
    for node in nodes:
        ready = next((item for item in node.status.conditions if item.type == "Ready"), None)
        word = "Ready" if ready is not None and ready.status == "True" else "NotReady"
        addresses = ", ".join(item.address for item in node.status.addresses if item.type == "InternalIP")
        info = node.status.node_info
        _line("node", f"{node.metadata.name}  {word}  {addresses}  {info.container_runtime_version}")


def _show_pods(pods: Sequence[Pod]) -> None:
    from podling.apiserver.kinds.pod.pod_table import status_word

    words = Counter(status_word(pod) for pod in pods)
    counts = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    _line("pods", f"{len(pods)}" + (f": {counts}" if counts else ""))


def _line(title: str, text: str) -> None:
    click.echo(f"{click.style(f'{title:<15}', bold=True)} {text}")
