"""The process of nodes: kubelets, their servers and their runtimes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

from podling.apiserver.auth.pki import Pki
from podling.client.component_reports import ComponentReports
from podling.client.local import LocalClient
from podling.client.socket_backend import SocketBackend
from podling.cluster.enabled_extensions import added_node_controllers
from podling.cluster.local_nodes import node_plans
from podling.cluster.processes.part_backend import part_backend
from podling.cluster.processes.reports import Started
from podling.cluster.processes.surroundings import Surroundings
from podling.node.node import Node, local_server_context
from podling.runtime.images.store import ImageStore


class NodePart:
    """Some of the cluster's nodes, in this process."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._stack = AsyncExitStack()
        self._nodes: list[Node] = []

    async def start(self) -> Started:
        """Start the nodes once the API server answers."""
        found = self._surroundings
        reports = ComponentReports(found.part.name)
        backend = SocketBackend(found.directory.socket, reports)
        await self._stack.enter_async_context(backend)
        await backend.connected()
        counted, pki = part_backend(backend, found.directory, reports), Pki(found.directory.pki)
        images = ImageStore(found.directory.images)
        controllers = added_node_controllers(found.settings.extensions)
        for plan in node_plans(found.directory, found.settings):
            if plan.name not in found.part.nodes:
                continue
            client, context = LocalClient(counted, Node.user(plan.name)), local_server_context(plan, pki)
            node = Node(plan, client, context, images, controllers)
            self._stack.push_async_callback(node.stop)
            await node.start()
            self._nodes.append(node)
            found.reporter.step("node", f"{plan.name} on {plan.runtime}")
        return Started()

    async def ready(self) -> None:
        """Wait until every node is Ready."""
        await asyncio.gather(*(node.ready() for node in self._nodes))

    def tasks(self) -> Mapping[str, asyncio.Task[None]]:
        return {node.plan.name: node.task for node in self._nodes if node.task is not None}

    async def stop(self) -> None:
        await self._stack.aclose()
