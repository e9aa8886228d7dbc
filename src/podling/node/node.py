"""A node in this process: runtime, kubelet and the kubelet's server, over one client.

The kubelet's server listens before the kubelet registers its node, so the registered port is always open.
Stopping a node leaves its containers running; ``runtimes.end_all`` ends them when no process runs the node
any more.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from podling.api import core_v1
from podling.apiserver.auth.pki import Pki
from podling.client.base import Client, Unreachable
from podling.client.events import EventRecorder
from podling.client.requests import User
from podling.controllers.nodes.pod_blocks import PREFERRED_ANNOTATION
from podling.kubelet.config import KubeletConfig
from podling.kubelet.deps import KeepLease, KubeletDeps, Recorder
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.lives import LIVES, LifeRecorder
from podling.kubelet.server.server import KubeletServer
from podling.kubelet.server.server_access import ServerAccess
from podling.machinery.cluster_dns import dns_service_address
from podling.machinery.errors import ApiError
from podling.node.kubelet_settings import kubelet_settings
from podling.node.resolv_conf import resolv_conf_path
from podling.node.runtimes import NodePlan, as_bridge, make_runtime, pod_network, simulated_block
from podling.node.static_pods import complete_static_pod
from podling.runtime.base import RuntimeFailure
from podling.runtime.images.store import ImageStore
from podling.supervisor import Supervisor

if TYPE_CHECKING:
    from podling.kubelet.node_controllers import NodeControllerFactory
    from podling.network.blocks import Blocks
    from podling.network.pod_network import BridgeNetwork
    from podling.node.cni_networking import CniNetworking
    from podling.node.loopback_networking import LoopbackNetworking
    from podling.node.networking import NodeNetworking

LAST_PORT_SECONDS = 5.0
"""The time to look up the node's last port, where the API server may not answer."""

NODE_OFFSET_SECONDS = 0.008
"""The nodes of one process make their rounds one after the other, 250 of them within two seconds."""


class Node:
    """One node, started and stopped as a whole.

    Args:
        context: of the kubelet's server (``server_context``).
        controllers: those of extensions, which run beside the kubelet.
        keep_lease: renews the node's lease in place of the kubelet (``KubeletDeps``).
    """

    def __init__(
        self,
        plan: NodePlan,
        client: Client,
        context: ssl.SSLContext,
        images: ImageStore,
        controllers: Mapping[str, NodeControllerFactory] | None = None,
        keep_lease: KeepLease | None = None,
    ) -> None:
        self.plan = plan
        self._keep_lease = keep_lease
        self._controllers = controllers or {}
        self.task: asyncio.Task[None] | None = None
        self._client = client
        self._context = context
        self._images = images
        self._stack = AsyncExitStack()
        self._kubelet: Kubelet | None = None
        self._annotations: dict[str, str] = {}
        """Those with which the node registers, also when its object was deleted."""

    @staticmethod
    def user(name: str) -> User:
        """Return the API user of the node's kubelet."""
        return User(f"system:node:{name}", ("system:nodes", "system:authenticated"))

    async def start(self) -> None:
        """Start runtime, server and kubelet.

        Raises ``RuntimeFailure`` if containers cannot run, ``ConfigurationRefused``.
        """
        plan = self.plan
        plan.root.mkdir(parents=True, exist_ok=True, mode=0o711)
        network = pod_network(plan)
        runtime = make_runtime(plan, self._images, network)
        await runtime.start()
        self._stack.push_async_callback(runtime.close)
        recorder = EventRecorder(self._client, "kubelet", plan.name)
        recording = Supervisor()
        self._stack.push_async_callback(recording.close)
        recording.keep_running("events", recorder.run, plan.name)
        self._stack.push_async_callback(recorder.close)
        settings = kubelet_settings(plan.options)
        wanted_port = settings.pop("port", 0)
        initial = structs.replace(KubeletConfig(), **settings)
        server, port = await self._listen(self._context, initial, wanted_port)
        self._stack.push_async_callback(server.close)
        own_network = as_bridge(network)
        self._prefer_own_blocks(own_network)
        config = KubeletConfig(
            cgroup_root=f"/podling-{plan.identity}",
            node_addresses=plan.addresses,
            node_annotations=self._annotations,
            network_unavailable=own_network is not None,
            port=port,
            write_files=plan.runtime != "sim",
            static_pod_path=plan.static_pod_path,
            cluster_dns=await self._cluster_dns(own_network),
            resolv_conf=resolv_conf_path(),
            rounds_offset=plan.index * NODE_OFFSET_SECONDS,
        )
        if plan.static_pod_path is not None:
            settings.pop("static_pod_path", None)
        config = structs.replace(config, **settings)
        server.show(config)
        folder = plan.root / "kubelet"
        keeping: Recorder = LifeRecorder(recorder, folder / LIVES) if config.write_files else recorder
        deps = KubeletDeps(
            self._client,
            runtime,
            keeping,
            folder,
            plan.name,
            config,
            complete_static_pod,
            node_controllers=self._controllers,
            keep_lease=self._keep_lease,
        )
        self._make_kubelet(server, deps)
        running = Supervisor()
        self._stack.push_async_callback(running.close)
        work = partial(self._run_kubelet, server, deps)
        self.task = running.keep_running("kubelet", work, plan.name)
        self._start_networking(own_network, recorder, has_plugins=network is not None and not own_network)

    def _start_networking(
        self, network: BridgeNetwork | None, recorder: EventRecorder, *, has_plugins: bool
    ) -> None:
        """Start the loops that lead to Services and between pods; a simulated node has none.

        Args:
            has_plugins: the pods have the network of CNI plugins, which leads to other pods by itself.
        """
        networking: NodeNetworking | LoopbackNetworking | CniNetworking
        if network is not None:
            from podling.node.networking import NodeNetworking

            networking = NodeNetworking(self.plan, self._client, network, recorder, self._prefer)
        elif has_plugins:
            from podling.node.cni_networking import CniNetworking

            networking = CniNetworking(self.plan, self._client, recorder)
        elif self.plan.runtime == "process":
            from podling.network.loopback.added_addresses import AddedAddresses
            from podling.node.loopback_networking import LoopbackNetworking

            added = AddedAddresses(self.plan.service_addresses) if AddedAddresses.are_possible() else None
            networking = LoopbackNetworking(self.plan, self._client, recorder, added)
        else:
            return
        self._stack.push_async_callback(networking.close)
        networking.start()

    async def _cluster_dns(self, network: BridgeNetwork | None) -> tuple[str, ...]:
        """Return the servers in the ``resolv.conf`` of pods; none where pods have no network of their own.

        Where no Service can be found, pods reach the node's DNS server directly.
        """
        if network is None:
            return ()
        try:
            first = await self._client.get(core_v1.Service, "kubernetes", "default")
            return (dns_service_address(first.spec.cluster_ip),)
        except (ApiError, Unreachable, ValueError):
            with suppress(RuntimeFailure):  # else no pod starts, for this reason
                return (str(network.gateway),)
        return ()

    def _prefer_own_blocks(self, network: BridgeNetwork | None) -> None:
        """Register the node with the blocks of pod addresses that its network has chosen, if it has."""
        if self.plan.runtime == "sim":
            self._annotations[PREFERRED_ANNOTATION] = str(simulated_block(self.plan))
        with suppress(RuntimeFailure):  # the network's status says why it has none
            if network is not None:
                self._prefer(network.blocks)

    def _prefer(self, blocks: Blocks) -> None:
        found = [str(block) for block in (blocks.ipv4, blocks.ipv6) if block is not None]
        self._annotations[PREFERRED_ANNOTATION] = ",".join(found)

    async def _listen(
        self, context: ssl.SSLContext, config: KubeletConfig, wanted: int
    ) -> tuple[KubeletServer, int]:
        """Start the kubelet's server, on the wanted port or that which the API server knows, if it is free.

        On a full disk another port could not be written into the Node, and exec would not reach the node.
        """
        access = ServerAccess(self._client, config, self.plan.name, self.user(self.plan.name).name)
        for port in (wanted or await self._last_port() or self.plan.port, 0):
            server = KubeletServer(context, access, config, host=self.plan.address, port=port)
            try:
                return server, await server.listen()
            except OSError:
                await server.close()
                if not port:
                    raise
        raise AssertionError("port 0 is any free port")

    async def _last_port(self) -> int:
        try:
            async with asyncio.timeout(LAST_PORT_SECONDS):
                found = await self._client.get(core_v1.Node, self.plan.name)
        except (ApiError, Unreachable, TimeoutError):
            return 0
        endpoint = found.status.daemon_endpoints and found.status.daemon_endpoints.kubelet_endpoint
        return endpoint.port if endpoint else 0

    def _make_kubelet(self, server: KubeletServer, deps: KubeletDeps) -> Kubelet:
        self._kubelet = Kubelet(deps)
        server.serve(self._kubelet.pod_view)
        return self._kubelet

    async def _run_kubelet(self, server: KubeletServer, deps: KubeletDeps) -> None:
        """Run the kubelet. After a failure replace it by a new one, like a restart of its process."""
        kubelet = self._kubelet or self._make_kubelet(server, deps)
        try:
            await kubelet.run()
        except Exception:
            self._make_kubelet(server, deps)
            raise

    async def ready(self) -> None:
        """Wait until the node is Ready."""
        if self._kubelet:
            await self._kubelet.ready.wait()

    async def stop(self) -> None:
        await self._stack.aclose()


def local_server_context(plan: NodePlan, pki: Pki) -> ssl.SSLContext:
    """Return the context of the kubelet's server of a node beside the cluster's authority."""
    context = server_context(pki.ca.certificate)
    pair = pki.node_server(plan.name, plan.addresses)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def server_context(authority: Path) -> ssl.SSLContext:
    """Return a context for the kubelet's server, as yet without a certificate.

    Clients may show certificates of the authority in this file.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority))
    context.verify_mode = ssl.CERT_OPTIONAL
    return context
