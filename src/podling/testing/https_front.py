"""The HTTPS side of a test's cluster: its API server and its kubelets on loopback, as clients know them.

Simulated kubelets have no sockets. The first request for a pod's logs or for exec opens one for its node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import DaemonEndpoint, Node, NodeAddress, NodeDaemonEndpoints
from podling.apiserver.app import HttpServer
from podling.apiserver.auth.pki import KeyPair
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.proxy.streams import Body, HttpsNodeConnector, StreamRequests
from podling.apiserver.serving import Serving
from podling.client.local import LocalClient
from podling.kubelet.server.server import KubeletServer
from podling.kubelet.server.server_access import ServerAccess
from podling.machinery.errors import service_unavailable
from podling.sim.connection import RequestFault
from podling.sim.simulated_cluster import SimulatedCluster
from podling.sim.simulated_node import SimulatedNode, node_user
from podling.testing.credentials import LOOPBACK, Credentials


class Front(Struct, frozen=True):
    """Address and certificates of the API server; what is None is that of the process' credentials.

    ``client_ca`` signs the certificates of clients, beside the cluster's own authority.
    """

    host: str = LOOPBACK
    port: int = 0
    certificate: KeyPair | None = None
    client_ca: KeyPair | None = None


class FaultyServer(HttpServer):
    """The API server on a socket; ``faults`` decide requests of clients, the first that fits."""

    faults: list[RequestFault]

    async def _resource(self, request: HttpRequest, route: Any) -> web.StreamResponse:
        fault = next((each for each in self.faults if each.decides(route.verb, route.parsed.target)), None)
        if fault is None:
            return await super()._resource(request, route)
        if fault.seconds:
            await clock.machine_sleep(fault.seconds)
        if fault.error is None:
            return await super()._resource(request, route)
        if fault.carried_out:
            await super()._resource(request, route)
        raise fault.error()


class SimulatedKubelets(HttpsNodeConnector):
    """The API server's client for simulated kubelets, whose servers begin to listen at the first request."""

    def __init__(self, cluster: SimulatedCluster, keys: Credentials) -> None:
        super().__init__(keys.pki.ca, keys.kubelet_client)
        self._cluster = cluster
        self._keys = keys
        self._servers: dict[str, tuple[KubeletServer, int]] = {}

    async def request(
        self,
        node: Node,
        method: str,
        path: str,
        query: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> Body:
        return await super().request(await self._served(node), method, path, query, body, headers)

    async def pass_upgrade(
        self, node: Node, path: str, query: str, request: HttpRequest
    ) -> web.StreamResponse:
        return await super().pass_upgrade(await self._served(node), path, query, request)

    async def close(self) -> None:
        await super().close()
        for server, _ in self._servers.values():
            await server.close()

    async def _served(self, node: Node) -> Node:
        """Return the node with the address of its kubelet's server. Raises 503 where no kubelet runs."""
        name = node.metadata.name or ""
        simulated = self._cluster.nodes.get(name)
        source = None if simulated is None else simulated.pod_view
        if simulated is None or source is None:
            raise service_unavailable(f"node {name}: dial tcp: connect: connection refused")
        if name not in self._servers:
            server = self._server(simulated)
            self._servers[name] = server, await server.listen()
        server, port = self._servers[name]
        server.serve(source)
        status = replace(
            node.status,
            addresses=(NodeAddress(type="InternalIP", address=LOOPBACK),),
            daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=port)),
        )
        return replace(node, status=status)

    def _server(self, node: SimulatedNode) -> KubeletServer:
        own, config = node_user(node.name), node.settings.config
        access = ServerAccess(LocalClient(node.connection, own), config, node.name, own.name)
        return KubeletServer(self._keys.kubelet_context, access, config, host=LOOPBACK)


async def serve(cluster: SimulatedCluster, keys: Credentials, front: Front) -> FaultyServer:
    """Serve a running cluster; the server's ``stop`` closes every socket. Raises ``OSError``."""
    api = cluster.server
    streams = StreamRequests(api.registry, api.objects, SimulatedKubelets(cluster, keys))
    serving = Serving(
        host=front.host,
        port=front.port,
        certificate=front.certificate or keys.server,
        client_ca=front.client_ca or keys.pki.ca,
        checks=api.checks(),
    )
    server = FaultyServer(api, api.authenticator, serving, streams)
    server.faults = []
    await server.start()
    return server
