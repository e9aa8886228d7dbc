"""Rotation of container logs, so that no container's output fills the node's disk.

Kubernetes' container log manager (``pkg/kubelet/logs/container_log_manager.go``): a log above the size
limit is renamed to ``<log>.<time>`` and the runtime opens a new one; older ones are compressed to ``.gz``;
beyond the allowed number the oldest are deleted. ``plan_rotation`` decides from the file names alone.
"""

from __future__ import annotations

import glob
import gzip
import logging
import os
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from podling import clock
from podling.kubelet import labels
from podling.kubelet.blocking import blocking, blocking_for_pod
from podling.runtime.base import ContainerState, KeepsLogs, Runtime, RuntimeFailure

logger = logging.getLogger(__name__)

COMPRESSED = ".gz"
UNFINISHED = ".tmp"
TIME = "%Y%m%d-%H%M%S"


class RotationPlan(Struct, frozen=True):
    """File names: those to delete, those to compress, and the new name of the current log."""

    delete: tuple[str, ...]
    compress: tuple[str, ...]
    rename_to: str


def plan_rotation(log: str, beside: Sequence[str], now: datetime, max_files: int) -> RotationPlan:
    """Return the plan for a rotation of ``log``; ``beside`` are the names in its directory.

    The newest rotated file stays uncompressed, so that its present readers can finish.
    """
    rotated = sorted(name for name in beside if name.startswith(log + "."))
    leftovers = [name for name in rotated if name.endswith(UNFINISHED)]
    # A crash between compressing and deleting leaves both: the compressed one is complete.
    doubled = [name for name in rotated if name + COMPRESSED in rotated]
    kept = [name for name in rotated if name not in leftovers and name not in doubled]
    excess = kept[: max(0, len(kept) - (max_files - 2))]
    kept = kept[len(excess) :]
    return RotationPlan(
        delete=(*leftovers, *doubled, *excess),
        compress=tuple(name for name in kept if not name.endswith(COMPRESSED)),
        rename_to=f"{log}.{now.strftime(TIME)}",
    )


def remove_log_files(path: Path) -> None:
    """Remove a container's log with all its rotated files."""
    for rotated in path.parent.glob(glob.escape(path.name) + ".*"):
        rotated.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


class LogRotation:
    """Watches the sizes of running containers' logs.

    Args:
        max_size_bytes: containerLogMaxSize; negative switches rotation off.
        max_files: containerLogMaxFiles, the current file and the rotated ones together; at least 2.
        interval_seconds: containerLogMonitorInterval.
    """

    def __init__(
        self, runtime: Runtime, *, max_size_bytes: int, max_files: int, interval_seconds: float
    ) -> None:
        if max_files < 2:
            raise ValueError("containerLogMaxFiles must be at least 2")
        self._runtime = runtime
        self._max_size_bytes = max_size_bytes
        self._max_files = max_files
        self._interval_seconds = interval_seconds

    async def run(self) -> None:
        """Check logs periodically until cancelled. A runtime that keeps logs in memory limits them itself."""
        if isinstance(self._runtime, KeepsLogs) or self._max_size_bytes < 0:
            return
        while True:
            await clock.sleep(clock.aligned(self._interval_seconds))
            await self.rotate_all()

    async def rotate_all(self) -> None:
        """Rotate every log that is too large. A failure affects one log, which is tried again later."""
        listed = await self._runtime.list_containers()
        running = [each for each in listed if each.state is ContainerState.RUNNING and each.log_path]
        if not running:
            return
        # A call for all: a thread for each log would cost more than everything else on a node at rest.
        sizes = await blocking(_sizes, [each.log_path for each in running])
        for container in running:
            if sizes.get(container.log_path, 0) < self._max_size_bytes:
                continue
            path = Path(container.log_path)
            try:
                await self._rotate(container.labels.get(labels.POD_UID, ""), container.id, path)
            except (OSError, RuntimeFailure) as error:
                logger.warning("log %s of container %s was not rotated: %s", path, container.id, error)

    async def _rotate(self, pod_uid: str, container_id: str, path: Path) -> None:
        beside = await blocking_for_pod(pod_uid, os.listdir, path.parent)
        plan = plan_rotation(path.name, beside, clock.now(), self._max_files)
        await blocking_for_pod(pod_uid, _clean_up, path.parent, plan)
        aside = path.with_name(plan.rename_to)
        os.rename(path, aside)
        try:
            await self._runtime.reopen_log(container_id)
        except RuntimeFailure:
            os.rename(aside, path)  # the container still writes to this file
            raise


def _sizes(paths: Sequence[str]) -> dict[str, int]:
    """Return the sizes in bytes of the files that can be examined."""
    sizes = {}
    for path in paths:
        try:
            sizes[path] = os.stat(path).st_size
        except FileNotFoundError:
            pass  # an interrupted rotation: the runtime creates the file when it reopens the log
        except OSError as error:
            logger.warning("log %s was not examined: %s", path, error)
    return sizes


def _clean_up(directory: Path, plan: RotationPlan) -> None:
    for name in plan.delete:
        (directory / name).unlink(missing_ok=True)
    for name in plan.compress:
        whole, unfinished = directory / name, directory / f"{name}{COMPRESSED}{UNFINISHED}"
        with whole.open("rb") as source, gzip.open(unfinished, "wb") as sink:
            shutil.copyfileobj(source, sink)
        os.replace(unfinished, directory / f"{name}{COMPRESSED}")
        whole.unlink()
