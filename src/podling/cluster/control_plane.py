"""The scheduler and the controllers of a cluster: one part of ``cluster``, or a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.client.base import Client
from podling.client.requests import User
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.components import Observer, run_components
from podling.cluster.directory import DataDirectory
from podling.cluster.enabled_extensions import added_controllers
from podling.cluster.scheduler_settings import scheduler_configuration
from podling.controllers.enabled_controllers import enabled_names
from podling.controllers.other_apis import OtherApis
from podling.controllers.registry import names_with
from podling.controllers.volumes.volume_folders import NoFolders, VolumeFolders
from podling.supervisor import Supervisor


class ControlPlane:
    """The loops over one data directory, in this process."""

    def __init__(self, directory: DataDirectory, settings: ClusterSettings, pki: Pki) -> None:
        self._directory = directory
        self._settings = settings
        self._pki = pki
        self._supervisor = Supervisor()
        self._count = 0
        """The number of controllers."""

    def start(
        self, client_for: Callable[[User], Client], others: OtherApis, observer: Observer | None = None
    ) -> asyncio.Task[None]:
        """Start the loops; return the task that ends with them."""
        simulated = self._settings.runtime == "sim"  # its pods write nothing
        folders = (NoFolders if simulated else VolumeFolders)(self._directory.volumes)
        signer, ca = RequestSigner(self._pki), self._pki.ca_pem.decode()
        ranges = self._settings.ranges()
        added = added_controllers(self._settings)
        self._count = len(self._names()) + len(added)
        work = partial(
            run_components,
            client_for,
            ca,
            folders,
            signer,
            others,
            observer,
            self._names(),
            ranges,
            self._settings.controller_options,
            scheduler_configuration(self._settings),
            added,
            self._settings.feature_gates,
        )
        return self._supervisor.keep_running("control-plane", work)

    @property
    def description(self) -> str:
        """The parts that run, for people."""
        return f"scheduler, {self._count} controllers"

    async def stop(self) -> None:
        await self._supervisor.close()

    def _names(self) -> tuple[str, ...]:
        existing = names_with(self._settings.feature_gates)
        return tuple(each for each in enabled_names(self._settings.controllers) if each in existing)
