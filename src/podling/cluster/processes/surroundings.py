"""The form of a part in its process, and all that it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.processes.parts import Part
from podling.cluster.processes.reports import Reporter, Started
from podling.cluster.processes.state_file import StateFile
from podling.streaming.shared_socket import SharedSocket


class Surroundings(Struct, frozen=True, kw_only=True):
    """The cluster of a part's process, and its way to the supervisor."""

    part: Part
    directory: DataDirectory
    settings: ClusterSettings
    reporter: Reporter
    states: StateFile
    set_aside: bool = False
    listening: SharedSocket | None = None
    """The socket for HTTPS that the API workers accept from; None without workers."""
    kubeconfig: Path | None = None
    """A further place for the administrator's kubeconfig."""


class RunningPart(Protocol):
    """The component, or components, of a part."""

    async def start(self) -> Started:
        """Start to serve. Raises ``StartFailure`` and the errors that ``start_failures`` knows."""
        ...

    async def ready(self) -> None:
        """Wait until what the part runs is Ready."""
        ...

    def tasks(self) -> Mapping[str, asyncio.Task[None]]:
        """Return the tasks that never end as long as all is well, by name."""
        ...

    async def stop(self) -> None: ...
