"""The times of the last graceful shutdown, kept in a file so that the next kubelet can show them.

The file is Kubernetes' (``graceful_node_shutdown_state``): JSON with ``startTime`` and ``endTime``, Go's zero
time for one that has not come. A damaged file counts as none.
Upstream: ``pkg/kubelet/nodeshutdown/storage.go``.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.kubelet.blocking import blocking
from podling.kubelet.kubelet_metrics import KubeletMetrics

logger = logging.getLogger(__name__)

FILE_NAME = "graceful_node_shutdown_state"
NEVER = datetime(1, 1, 1, tzinfo=UTC)


class ShutdownTimes(Struct, frozen=True, rename="camel"):
    """The beginning and the end of the last shutdown; ``NEVER`` for what has not been."""

    start_time: datetime = NEVER
    end_time: datetime = NEVER


def read_times(folder: Path) -> ShutdownTimes:
    """Return the times in the kubelet's directory."""
    try:
        return msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=ShutdownTimes)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return ShutdownTimes()


def write_times(folder: Path, times: ShutdownTimes) -> None:
    """Replace the times as a whole. Raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".{FILE_NAME}.new"
    new.write_bytes(msgspec.json.encode(times))
    os.replace(new, folder / FILE_NAME)


def seconds_of(moment: datetime) -> float | None:
    """Return the seconds since 1970, as metrics show them; None for ``NEVER``."""
    return None if moment.astimezone(UTC) == NEVER else moment.timestamp()


class ShutdownRecord:
    """Keeps the times of one node's shutdowns, in the kubelet's directory and among its metrics."""

    def __init__(self, folder: Path, metrics: KubeletMetrics) -> None:
        self._folder = folder
        self._metrics = metrics
        self._times = ShutdownTimes()

    async def load(self) -> None:
        """Show the times that an earlier kubelet kept."""
        self._show(await blocking(read_times, self._folder))

    async def begin(self) -> None:
        await self._keep(ShutdownTimes(start_time=clock.now()))

    async def end(self) -> None:
        await self._keep(replace(self._times, end_time=clock.now()))

    def _show(self, times: ShutdownTimes) -> None:
        self._times = times
        self._metrics.shutdown_started = seconds_of(times.start_time)
        self._metrics.shutdown_ended = seconds_of(times.end_time)

    async def _keep(self, times: ShutdownTimes) -> None:
        """Show the times and write them; a full disk must not keep pods from ending."""
        self._show(times)
        try:
            await blocking(write_times, self._folder, times)
        except OSError as error:
            logger.warning("the times of the shutdown cannot be kept: %s", error)
