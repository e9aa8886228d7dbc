"""A control plane in memory: the real API server over the memory store, with no sockets and no waiting.

    async with memory_cluster() as cluster:
        await cluster.client.create(Pod(metadata=ObjectMeta(name="a", namespace="default"), ...))

Run it on the virtual-time loop (``podling.sim.loop.run``; Podling's own tests are on it already) and
hours pass in milliseconds: ``await cluster.advance(minutes=5)``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from podling import clock
from podling.apiserver.admission.base import Plugin
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.registry.registry import Registry
from podling.apiserver.server import ApiServer
from podling.client.local import LocalClient
from podling.client.requests import User
from podling.extensions.additions import additions_from
from podling.extensions.extension import Extension
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.network_ranges import DEFAULT_RANGES, NetworkRanges
from podling.store.memory import MemoryStore


class ControlPlane:
    """An API server in memory and a client that may do everything."""

    def __init__(self, server: ApiServer, store: MemoryStore) -> None:
        self.server = server
        self.store = store
        self.client: LocalClient = server.client()

    @property
    def backend(self) -> Registry:
        return self.server.registry

    def client_for(self, user: User) -> LocalClient:
        """Return a client that acts for a user with fewer rights."""
        return self.server.client(user)

    async def advance(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass for everything that runs on this loop."""
        await clock.sleep(hours * 3600 + minutes * 60 + seconds)


@asynccontextmanager
async def memory_cluster(
    plugins: Sequence[Plugin] | None = None,
    ranges: NetworkRanges = DEFAULT_RANGES,
    extensions: Sequence[Extension] = (),
    feature_gates: Mapping[str, bool] = NO_GATES,
) -> AsyncIterator[ControlPlane]:
    """A fresh cluster that ends with the block.

    ``plugins``: admission (default: what a cluster has, but for what needs controllers).
    ``ranges``: the addresses and node ports of Services.
    ``extensions``: add their kinds, objects and admission plugins; ``running`` runs their controllers.
    ``feature_gates``: the gates that differ from their defaults.
    """
    store = MemoryStore()
    added = [plugin for each in extensions for plugin in each.admission_plugins()]
    chosen = plugins_without_controllers(ranges, added) if plugins is None else plugins
    additions = additions_from(extensions)
    server = ApiServer(store, chosen, ranges=ranges, additions=additions, feature_gates=feature_gates)
    await server.start()
    try:
        yield ControlPlane(server, store)
    finally:
        await server.stop()
        await store.close()
