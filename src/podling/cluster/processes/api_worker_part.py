"""The process of an API worker: HTTPS beside the API server's own process, from a replica of its store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from msgspec import structs

from podling.apiserver.aggregation.authentication import FRONT
from podling.apiserver.auth.pki import Pki
from podling.apiserver.proxy.streams import HttpsNodeConnector
from podling.apiserver.serving import Serving
from podling.apiserver.workers.reading_server import ReadingApiServer
from podling.apiserver.workers.worker import ApiWorker, WriterPlaces
from podling.cluster.enabled_extensions import additions_of
from podling.cluster.processes.part_checks import part_checks
from podling.cluster.processes.parts import API_WORKER
from podling.cluster.processes.reports import Started
from podling.cluster.processes.surroundings import Surroundings
from podling.cluster.served_api import plugins_of, serving_of
from podling.store.replica import Replica


class ApiWorkerPart:
    """An API worker, in this process."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        directory = surroundings.directory
        places = WriterPlaces(directory.socket, directory.inside, directory.revision)
        self._pki = Pki(directory.pki)
        self._worker = ApiWorker(surroundings.part.name, places, self._new_api, self._new_connector)

    async def start(self) -> Started:
        """Serve HTTPS once the writer answers."""
        await self._worker.start(self._serving)
        self._surroundings.reporter.step("API worker", self._surroundings.part.name)
        return Started()

    async def ready(self) -> None:
        """Return at once: a worker that has started is ready."""

    def tasks(self) -> Mapping[str, asyncio.Task[None]]:
        return {}

    async def stop(self) -> None:
        await self._worker.stop()

    def _new_api(self, replica: Replica) -> ReadingApiServer:
        return ReadingApiServer(
            replica,
            plugins_of(self._surroundings.settings),
            ranges=self._surroundings.settings.ranges(),
            signing_key=self._pki.service_account_key(),
            front=self._pki.client(FRONT, FRONT),
            additions=additions_of(self._surroundings.settings),
            feature_gates=self._surroundings.settings.feature_gates,
        )

    def _new_connector(self) -> HttpsNodeConnector:
        return HttpsNodeConnector(self._pki.ca, self._pki.kubelet_client())

    def _serving(self, api: ReadingApiServer) -> Serving:
        found = self._surroundings
        assert found.listening is not None, "the supervisor listens where there are API workers"
        listening = found.listening.of(found.part.number)
        return structs.replace(
            serving_of(found.settings, self._pki, api),
            listening=listening,
            ready_checks=part_checks(found.states, own=(API_WORKER,)),
        )
