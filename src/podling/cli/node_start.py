"""Steps before a node starts that ``up`` and ``join`` share: its runtime, and the place of its directory."""

from __future__ import annotations

import asyncio

from podling.cli.common_options import Failure
from podling.cli.starting.detached import Progress
from podling.cluster.directory import DataDirectory

RUNTIMES = ("oci", "process", "sim")


def refuse_joined(directory: DataDirectory) -> None:
    """Raise ``Failure`` for a directory of a node that has joined another machine's cluster."""
    from podling.cluster.joined import settings

    joined = settings.read(directory)
    if joined is not None:
        raise Failure(
            f"{directory.path} is the directory of node {joined.node_name} of the cluster at "
            f"{joined.server}: start it with 'podling join', remove it with 'podling leave', or name another "
            "--data-dir"
        )


def check_runtime(runtime: str) -> None:
    """Refuse a runtime that cannot work here before anything is made or remembered."""
    if runtime != "oci":
        return
    from podling.runtime.oci.detect import choose, gather

    choice = choose(gather())
    if choice.engine is None:
        raise Failure(
            f"containers cannot be run here: {'; '.join(choice.why)}; 'podling doctor' says what to do, "
            "--runtime process runs pods as plain processes"
        )


def best_runtime(progress: Progress) -> str:
    from podling.runtime.oci.detect import choose, gather

    choice = choose(gather())
    if choice.engine:
        return "oci"
    progress("runtime", f"process, because {choice.why[0]} ('podling doctor' says more)")
    return "process"


def settle_place(directory: DataDirectory, identity: str, progress: Progress) -> None:
    """Give a directory that was moved or copied its identity, or a new one its first."""
    from podling.cluster.relocation import settle as settle_directory
    from podling.runtime.base import RuntimeFailure
    from podling.store.base import StoreError

    try:
        done = asyncio.run(settle_directory(directory, identity))
    except (RuntimeFailure, StoreError, OSError) as error:
        raise Failure(str(error)) from error
    if done:
        progress("directory", done)
