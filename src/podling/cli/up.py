"""``podling up``: start a cluster in this process, or in one of its own.

In the foreground the process shows each component as it starts, and runs until it is stopped. With
``--detach`` a child does the same with its output in the data directory's log; the parent shows the child's
progress, which comes through a pipe, and leaves once the cluster is ready. Either way the process that runs
the cluster shows its data directory in its command line, so that ``ps`` distinguishes clusters.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import structs

from podling.allocator import Trimmer
from podling.cli.common_options import Failure, checked_address, data_directory_option
from podling.cli.node_start import RUNTIMES, best_runtime, check_runtime, refuse_joined, settle_place
from podling.cli.options.admission_options import admission_options, chosen_admission_options
from podling.cli.options.clock_option import (
    chosen_clock,
    clock_option,
    leaping,
    loop_factory,
    while_time_passes,
)
from podling.cli.options.cluster_configuration import config_option
from podling.cli.options.controller_options import chosen_controller_options, controller_options
from podling.cli.options.extension_options import chosen_extensions, controllers_of, extension_option
from podling.cli.options.network_options import check_ranges, chosen_ranges, network_options
from podling.cli.options.node_options import chosen_node_options, kubelet_config_option, node_options
from podling.cli.options.scheduler_options import chosen_scheduler_options, scheduler_options
from podling.cli.starting.detached import Progress, detach_command
from podling.cli.starting.own_command import own_command, own_environment
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryInUse, DirectoryUnusable
from podling.cluster.garbage_collection import begin, settle
from podling.cluster.own_log import OwnLog
from podling.node.machine import node_names
from podling.rlimits import raise_open_files
from podling.streaming.aiohttp_start import import_aiohttp
from podling.supervisor import Supervisor

if TYPE_CHECKING:
    from podling.cluster.cluster import Cluster

DEFAULT_PORT = 6443
PROCESSES = ("one", "several")
API_WORKERS_MAX = 64
NOT_READY = "\nThe cluster runs, but not every node is Ready yet; 'podling status' says more."

T = TypeVar("T")


@click.command()
@data_directory_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"API server port; 0 picks a free one.  [default: the last one, or {DEFAULT_PORT}]",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="Also write the kubeconfig here, beside what is there.",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    help="What runs containers.  [default: oci as root where it works, else process]",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, 250),
    help="How many nodes to run in the process.  [default: the last number, or 1]",
)
@click.option(
    "--controllers",
    metavar="LIST",
    multiple=True,
    callback=lambda _context, _option, lists: ",".join(lists) if lists else None,
    help="Which controllers to run, as kube-controller-manager takes them: '*' all, 'foo' the "
    "controller named foo, '-foo' all but it, separated by commas.  [default: the last list, or '*']",
)
@click.option(
    "--api-only/--no-api-only",
    default=None,
    help="Run the API server and nothing else, for test suites that were written for envtest.  "
    "[default: as last time]",
)
@clock_option
@click.option(
    "--processes",
    type=click.Choice(PROCESSES),
    help="Run all parts in one process, or API server, control plane and nodes in several that are "
    "started again when they end.  [default: as last time, or one]",
)
@click.option(
    "--api-workers",
    type=click.IntRange(0, API_WORKERS_MAX),
    metavar="N",
    help="Run N further processes of the API server, which serve reads and watches on its port, beside "
    "--processes several.  [default: as last time, or 0]",
)
@click.option(
    "--advertise-address",
    metavar="IP",
    callback=lambda _context, _option, text: checked_address(text, "--advertise-address"),
    help="Serve other machines at this address of the machine, so that they can join: "
    "'podling token create --join'; '' serves this machine alone.  [default: as last time, or none]",
)
@click.option(
    "--static-pod-path",
    metavar="DIR",
    help="Run the manifests in this directory as static pods of the first node; '' runs none.  "
    "[default: the last directory, or none]",
)
@click.option(
    "--hostname-override",
    metavar="NAME",
    help="The name of the first node, for a new data directory.  [default: the last one, or the machine's]",
)
@extension_option
@network_options
@kubelet_config_option("--kubelet-config")
@node_options
@controller_options
@scheduler_options
@admission_options
@config_option
@click.option(
    "--set-aside-undecodable",
    is_flag=True,
    help="Move stored values that cannot be decoded into files below set-aside/ of the data directory.",
)
@click.option(
    "--new-store",
    is_flag=True,
    help="Begin a new cluster with an empty store. The old store is kept below set-aside/ of the data "
    "directory; the old cluster's containers are ended.",
)
@click.option(
    "--identity",
    default="",
    metavar="ID",
    help="For a data directory without identity.json: the cluster's identity, or 'new' for a copy.",
)
@click.option("--detach", is_flag=True, help="Run in the background; return when the cluster is ready.")
@click.option("--progress-fd", type=int, default=-1, hidden=True)
def up(
    directory: DataDirectory, kubeconfig: Path | None, detach: bool, progress_fd: int, **chosen: Any
) -> None:
    """Start a cluster, or adopt the containers of one that was killed."""
    _check_choice_of_parts(chosen)
    if not chosen["api_only"]:
        check_runtime(chosen["runtime"] or directory.settings().runtime)
    chosen_clock(chosen, directory.settings(), directory)
    extensions = chosen_extensions(chosen["extensions"], directory.settings().extensions)
    _check_controllers(chosen["controllers"], extensions)
    _check_ranges(chosen, directory)
    _check_hostname(chosen["hostname_override"], directory)
    last = directory.settings()
    options = chosen_node_options(chosen, last.node_options)
    chosen_controller_options(chosen, last.controller_options)
    chosen_scheduler_options(chosen, last, options)
    chosen_admission_options(chosen, last)
    _check_kubeconfig(kubeconfig)
    if detach:
        detach_command("up", directory)
        return
    if not any(argument.startswith("--data-dir") for argument in sys.argv):
        _name_directory_in_command_line(directory)
    begin()
    threading.Thread(target=import_aiohttp, name="import aiohttp", daemon=True).start()
    progress = Progress(progress_fd)
    try:
        directory.create()
        with directory.locked():
            refuse_joined(directory)
            if chosen["new_store"]:
                _retire_store(directory, progress)
            elif not directory.settings().is_wound:
                directory.check_store()
            last = directory.settings()
            settings = structs.replace(
                _settings(last, chosen, progress), clock=chosen_clock(chosen, last, directory)
            )
            settle_place(directory, chosen["identity"], progress)
            if last.runtime and last.runtime != settings.runtime:
                _end_other_runtime(directory, last, progress)
            _run(directory, settings, kubeconfig, progress, set_aside=chosen["set_aside_undecodable"])
    except (DirectoryInUse, DirectoryUnusable, Failure) as error:
        progress.failed(str(error))
        raise Failure(str(error)) from error


def _name_directory_in_command_line(directory: DataDirectory) -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "up"]
    command = own_command("up", "--data-dir", str(directory.path), *arguments)
    os.execve(command[0], command, own_environment())


def _settings(last: ClusterSettings, chosen: Mapping[str, Any], progress: Progress) -> ClusterSettings:
    """Return this run's settings: the user's options, else those of the last run, else the defaults."""
    port, static_pod_path = chosen["port"], chosen["static_pod_path"]
    if static_pod_path:
        static_pod_path = str(Path(static_pod_path).expanduser().absolute())
    api_only = _chosen(chosen["api_only"], last.api_only)
    runtime = chosen["runtime"] or last.runtime
    by_default = not chosen["runtime"] and (last.runtime_by_default or not last.runtime)
    if api_only:
        runtime = ""
        if chosen["api_only"] is None:
            progress("API only", "as last time; --no-api-only starts the other parts")
    elif not runtime:
        runtime = best_runtime(progress)
    elif by_default and runtime != "oci":
        _mention_better_runtime(runtime, progress)
    processes, api_workers = chosen_processes(chosen["processes"], chosen["api_workers"], last)
    options = chosen_node_options(chosen, last.node_options)
    return ClusterSettings(
        port=_chosen(port, last.port or DEFAULT_PORT),
        runtime=runtime,
        runtime_by_default=by_default and not api_only,
        nodes=_chosen(chosen["nodes"], last.nodes),
        controllers=_chosen(chosen["controllers"], last.controllers),
        extensions=chosen_extensions(chosen["extensions"], last.extensions),
        api_only=api_only,
        processes=processes,
        api_workers=api_workers,
        static_pod_path=_chosen(static_pod_path, last.static_pod_path),
        **chosen_ranges(chosen, last),
        advertise_address=_chosen(chosen["advertise_address"], last.advertise_address),
        hostname_override=_chosen(chosen["hostname_override"], last.hostname_override).lower(),
        node_options=options,
        controller_options=chosen_controller_options(chosen, last.controller_options),
        **chosen_scheduler_options(chosen, last, options),
        **chosen_admission_options(chosen, last),
    )


def chosen_processes(
    processes: str | None, api_workers: int | None, last: ClusterSettings
) -> tuple[str, int]:
    """Return the arrangement and the number of API workers, which only ``several`` processes have. Pure."""
    if processes == "one":
        return "one", 0
    workers = _chosen(api_workers, last.api_workers)
    return ("several" if workers else _chosen(processes, last.processes)), workers


def _chosen(option: T | None, last: T) -> T:
    """Return an option that was given, else the value of the last run."""
    return last if option is None else option


def _check_choice_of_parts(chosen: Mapping[str, Any]) -> None:
    """Refuse options of parts that do not run."""
    if chosen["api_workers"] and chosen["processes"] == "one":
        raise click.UsageError("--api-workers needs --processes several")
    if not chosen["api_only"]:
        return
    for option in ("runtime", "nodes", "controllers", "static_pod_path", "scheduler_config"):
        if chosen[option]:
            name = f"--{option.replace('_', '-')}"
            raise click.UsageError(f"{name} means nothing with --api-only, which runs no other part")


def _check_kubeconfig(path: Path | None) -> None:
    """Refuse a file that is no kubeconfig before anything starts."""
    if path is None:
        return
    from podling.cluster.kubeconfig import KubeconfigUnusable, check

    try:
        check(path)
    except KubeconfigUnusable as error:
        raise Failure(str(error)) from error


def _check_controllers(text: str | None, extensions: tuple[str, ...]) -> None:
    from podling.controllers.enabled_controllers import entries_of, problems

    added = controllers_of(extensions) if text else ()
    if found := problems(entries_of(text or ""), added):
        raise click.BadParameter("; ".join(found), param_hint="'--controllers'")


def _check_ranges(chosen: Mapping[str, Any], directory: DataDirectory) -> None:
    last = directory.settings()
    runtime = "" if chosen["api_only"] else chosen["runtime"] or last.runtime
    check_ranges(chosen, last, runtime, exists=directory.store.exists() and not chosen["new_store"])


def _check_hostname(name: str | None, directory: DataDirectory) -> None:
    """Refuse a name that no node can have, or another one than that of the nodes there are."""
    if name is None:
        return
    from podling.machinery.names import dns_subdomain_errors

    if name and (errors := dns_subdomain_errors(name.lower())):
        raise Failure(f"--hostname-override {name}: {'; '.join(errors)}")
    known = directory.node_names()
    if known and node_names(1, name)[0] not in known:
        raise Failure(
            f"the nodes of this cluster are {', '.join(known)}: --hostname-override names the node of a new "
            "data directory"
        )


def _retire_store(directory: DataDirectory, progress: Progress) -> None:
    try:
        kept = directory.retire_store()
    except OSError as error:
        raise Failure(f"{directory.store} cannot be moved: {error}") from error
    if kept:
        progress("store", f"the old one is kept in {kept}")


def _mention_better_runtime(runtime: str, progress: Progress) -> None:
    """Say that a poorer runtime is used although the best one works by now: pods run on it, so it stays."""
    from podling.runtime.oci.detect import choose, gather

    if choose(gather()).engine:
        better = "real containers work here now: --runtime oci"
        progress("runtime", f"{runtime}, as at the first start; {better} (ends the pods' processes)")


def _end_other_runtime(directory: DataDirectory, last: ClusterSettings, progress: Progress) -> None:
    """End the pods that another runtime left running before this one starts: no component would own them."""
    from podling.cluster.local_nodes import end_all_containers

    ended = asyncio.run(end_all_containers(directory, 10.0))
    progress("runtime", f"was {last.runtime}; stopped its {ended} pods")


def _run(
    directory: DataDirectory,
    settings: ClusterSettings,
    kubeconfig: Path | None,
    progress: Progress,
    *,
    set_aside: bool,
) -> None:
    raise_open_files()
    if settings.processes == "several":
        _run_several(directory, settings, kubeconfig, progress, set_aside=set_aside)
        return
    from podling.cluster.cluster import Cluster
    from podling.cluster.start_failure import StartFailure

    cluster = Cluster(directory, settings, progress, set_aside=set_aside)
    try:
        with asyncio.Runner(loop_factory=loop_factory(settings)) as runner:
            runner.run(_serve(cluster, kubeconfig, progress))
    except StartFailure as error:
        raise Failure(str(error)) from error


def _run_several(
    directory: DataDirectory,
    settings: ClusterSettings,
    kubeconfig: Path | None,
    progress: Progress,
    *,
    set_aside: bool,
) -> None:
    from podling.cluster.processes.arrangement import Arrangement, Outcome
    from podling.cluster.start_failure import StartFailure

    def on_start(outcome: Outcome) -> None:
        progress.ready(_next_steps(outcome.kubeconfig) if outcome.is_ready else [NOT_READY])

    try:
        Arrangement(directory, settings, progress, set_aside=set_aside, kubeconfig=kubeconfig).run(on_start)
    except StartFailure as error:
        raise Failure(str(error)) from error


async def _serve(cluster: Cluster, kubeconfig: Path | None, progress: Progress) -> None:
    async with leaping(cluster):
        await _serve_until_stopped(cluster, kubeconfig, progress)


async def _serve_until_stopped(cluster: Cluster, kubeconfig: Path | None, progress: Progress) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await while_time_passes(cluster.start())
    supervisor = Supervisor()
    supervisor.keep_running("log-rotation", OwnLog(cluster.directory.log).run)
    supervisor.keep_running("memory", Trimmer().run)
    try:
        written = cluster.write_kubeconfig(kubeconfig, supervisor)
        ready = await while_time_passes(cluster.nodes_ready(stop))
        progress.ready(_next_steps(written) if ready else [NOT_READY])
        settle()
        await cluster.run_until(stop)
    finally:
        await supervisor.close()
        await cluster.stop()


def _next_steps(kubeconfig: Path | str) -> list[str]:
    return ["", f"Ready. Next: export KUBECONFIG={kubeconfig}; kubectl get nodes"]
