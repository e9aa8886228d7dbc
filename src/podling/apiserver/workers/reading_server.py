"""An API server over a replica: all that reads need, and none of the loops that write."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any

from podling import clock
from podling.api.core_v1 import Node
from podling.apiserver.http.health import Check
from podling.apiserver.resource_metrics.api import ResourceMetrics
from podling.apiserver.server import ApiServer
from podling.apiserver.workers.following import Follower
from podling.client.base import Client
from podling.machinery import errors
from podling.store.replica import Replica

KEEP_UP_SECONDS = 1.0


class ReadingApiServer(ApiServer):
    """``ApiServer`` of a worker. Its ``store`` is a ``Replica``, which ``follower`` feeds.

    What is derived from stored objects (roles, definitions, flow schemas, APIServices) follows the replica.
    """

    def follow(self, replica: Replica, follower: Follower, writer: Client) -> None:
        """Begin to follow the writer, and to write by way of it which tokens in Secrets are used."""
        self._replica, self._follower = replica, follower
        replica.replaced = self._load_again
        self._keep_running("store-follower", follower.run)
        self._label_used_tokens(writer)

    async def start(self) -> None:
        """Wait for the first snapshot, and read from it what requests need."""
        await self._replica.reached(0)
        await self._load()
        self.aggregation.serve_locally(ResourceMetrics(self.objects, _read_by_the_writer))
        self._keep_running("apiservice-discovery-controller", partial(self.aggregation.run, writes=False))
        self._keep_running("priority-and-fairness-config-consumer", self.fairness.run)
        self._keep_running("keep-up", self._keep_up)

    async def announce(self, address: str, port: int) -> None:
        """Do nothing: the writer keeps the Service ``kubernetes``."""

    def checks(self) -> dict[str, Check]:
        """Return the health checks: the writer, as far as this process is concerned, and its own loops."""
        return {**super().checks(), "etcd": lambda: self._follower.trouble, "informer-sync": self._unsynced}

    def _unsynced(self) -> str:
        return "" if self._replica.is_complete else "no snapshot of the writer's store has been received yet"

    async def _load(self) -> None:
        await self.authorizer.load()
        await self.catalogue.load()
        await self.flows.follow()

    def _load_again(self) -> None:
        """Read everything from a new snapshot, before any request can see that the old one has gone."""
        _finish(self._load())

    async def _keep_up(self) -> None:
        """Take in changes also without requests, so that nothing falls too far behind."""
        while True:
            await clock.sleep(KEEP_UP_SECONDS)
            self.authorizer.index.catch_up()
            self.authorizer.references.catch_up()
            self.catalogue.resources()
            self.flows.catch_up()


def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits: reads of a replica come from memory."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("a read of a replica waits")


async def _read_by_the_writer(node: Node) -> str:
    """Requests for metrics go to the writer, which reads the kubelets."""
    raise errors.internal(f"the kubelet of {node.metadata.name} is read by another process")
