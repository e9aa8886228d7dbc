"""Ending a node's containers without its runtime: the last resort of ``podling down``.

It calls neither conmon nor crun nor runc, whose hanging or absence may be the cause, and writes nothing, as
the disk may be full. Processes are found by their cgroup, and monitors and the OCI runtime by
the node's own directory among their arguments. Every step can be made again by the next call.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec

from podling import clock
from podling.files.trees import remove_tree
from podling.runtime.grace import own_grace
from podling.runtime.oci.cgroups import Cgroups
from podling.runtime.oci.processes import end, kill, wait_for_ends
from podling.runtime.oci.records import RECORD, ContainerRecord, R, SandboxRecord
from podling.runtime.oci.rootfs import unmount_everything_under

_TRIES = 20
_END_SECONDS = 0.5
"""Seconds that the kernel gets for one killed process, in each try."""


def end_by_force(cgroups: Cgroups, cgroup: str, root: Path, state: Path, grace_seconds: float) -> int:
    """End every process of the node and remove its mounts, cgroups and directories; returns how many pods
    it had. ``cgroup`` is the parent of the pods' cgroups. They are killed when the longest grace period of a
    pod among them is over, after ``grace_seconds`` at the latest.

    Raises ``OSError`` for what is left after all.
    """
    pods = {each.pod_uid for each in _records(root / "sandboxes", SandboxRecord) if not each.stopped}
    running = [
        own_grace(each.annotations, grace_seconds)
        for each in _records(root / "containers", ContainerRecord)
        if each.finished_at is None
    ]
    grace_seconds = max(running, default=grace_seconds)
    if grace_seconds > 0:
        inside = cgroups.processes(cgroup)
        kill(inside, signal.SIGTERM)
        _wait_together(inside, grace_seconds)
    # Monitors before what is left in the cgroups: a runtime that hangs under one would go on with making a
    # container. Killing a monitor kills its container, so that comes after the grace period.
    marker = os.fsencode(f"{state}/")
    end(lambda process: any(marker in part for part in process.arguments))
    for _ in range(_TRIES):
        if not cgroups.kill(cgroup):
            break
        wait_for_ends(cgroups.processes(cgroup), _END_SECONDS)
    for directory in (state, root):
        unmount_everything_under(directory)
    for directory in (state, root / "containers", root / "sandboxes"):
        remove_tree(directory)
    if not cgroups.remove(cgroup):
        raise OSError(f"processes in the cgroup {cgroup} do not end: {cgroups.processes(cgroup)}")
    return len(pods)


def _wait_together(pids: list[int], seconds: float) -> None:
    """Wait for all of them, no longer than ``seconds`` altogether."""
    deadline = clock.monotonic() + seconds
    for pid in pids:
        wait_for_ends([pid], max(0.0, deadline - clock.monotonic()))


def _records(folder: Path, kind: type[R]) -> list[R]:
    found = []
    for path in folder.glob(f"*/{RECORD}"):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=kind))
        except (OSError, msgspec.MsgspecError):
            continue
    return found
