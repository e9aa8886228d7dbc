"""The process of a node that has joined: the same node as beside its API server, over HTTPS.

What it needs of the cluster it keeps on disk: it starts without the API server, and adopts its containers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node as ApiNode
from podling.client.base import Unreachable
from podling.client.http import HttpClient
from podling.cluster.directory import DataDirectory
from podling.cluster.enabled_extensions import added_node_controllers
from podling.cluster.joined import settings as joined_settings
from podling.cluster.joined.identity import NodeIdentity
from podling.cluster.joined.settings import JoinedSettings, current_addresses, node_plan
from podling.cluster.lasting_tasks import LastingTasks, first_of, run_until
from podling.cluster.start_failure import start_failures
from podling.kubelet.version import KUBERNETES_VERSION
from podling.machinery.errors import ApiError
from podling.node.joining.certificate_manager import CertificateManager
from podling.node.node import Node, server_context
from podling.runtime.images.store import ImageStore
from podling.supervisor import Supervisor

READY_SECONDS = 60.0
"""Seconds that ``join`` waits for the node to be Ready."""
ABSENT_SECONDS = 10.0
"""Seconds that ``join`` waits for an API server that does not answer."""
ANSWER_SECONDS = 2.0
"""Seconds that the API server has to answer."""
LOOK_SECONDS = 0.5
NOT_READY = "it is not Ready yet"

USER_AGENT = f"kubelet/{KUBERNETES_VERSION}"
CONNECT_SECONDS = 5.0
"""The time to open a connection. The kernel repeats its first packet after ever longer waits, and a network
that is back should be noticed before."""

Progress = Callable[[str, str], None]


class JoinedNode:
    """The node of one data directory, in this process."""

    def __init__(self, directory: DataDirectory, settings: JoinedSettings, progress: Progress) -> None:
        self._directory = directory
        self._settings = structs.replace(settings, addresses=current_addresses(settings))
        self._progress = progress
        self._identity = NodeIdentity(directory)
        self._stack = AsyncExitStack()
        self._serves = asyncio.Event()
        """Set once the kubelet's server has a certificate."""
        self._node: Node
        self._client: HttpClient

    async def start(self) -> None:
        """Start the node. Raises ``StartFailure``; what had started is stopped again."""
        try:
            with start_failures():
                await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        settings, identity = self._settings, self._identity
        joined_settings.write(self._directory, settings)
        plan = node_plan(self._directory, settings)
        calling, serving = identity.client_context(), server_context(identity.authority)
        client = HttpClient(settings.server, calling, user_agent=USER_AGENT, connect_seconds=CONNECT_SECONDS)
        self._stack.push_async_callback(client.close)
        self._client = client
        if absence := await self._absence():
            self._progress("waiting", f"{absence}; pods run without it")
        supervisor = Supervisor()
        self._stack.push_async_callback(supervisor.close)

        async def renewed() -> None:
            calling.load_cert_chain(identity.client.path)
            await client.close()  # connections keep the certificate that they began with

        async def certified() -> None:
            serving.load_cert_chain(identity.server.path)
            self._serves.set()

        if identity.server.period() is not None:
            await certified()
        of_client = CertificateManager(client, plan.name, identity.client, (), renewed)
        of_server = CertificateManager(client, plan.name, identity.server, plan.addresses, certified)
        supervisor.keep_running("certificates/client", of_client.run, plan.name)
        supervisor.keep_running("certificates/serving", of_server.run, plan.name)
        controllers = added_node_controllers(settings.extensions)
        self._node = Node(plan, client, serving, ImageStore(self._directory.images), controllers)
        self._stack.push_async_callback(self._node.stop)
        await self._node.start()
        self._progress("node", f"{plan.name} on {plan.runtime}, {plan.address}")

    async def ready(self, stop: asyncio.Event) -> str:
        """Wait until the node is Ready and can be called, ``stop``, or too long.

        Return why it is not Ready; empty if it is.
        """
        ready, absent, _ = await first_of(
            self._running(), self._all_ready(), self._absent(), stop.wait(), seconds=READY_SECONDS
        )
        if not ready.done():
            return str(absent.result()) if absent.done() else NOT_READY
        self._progress("ready", self._settings.node_name)
        return ""

    async def _absent(self) -> str:
        """Wait until the API server has not answered for a while; return what happened instead."""
        answered = clock.monotonic()
        while True:
            absence = await self._absence()
            if not absence:
                answered = clock.monotonic()
            elif clock.monotonic() >= answered + ABSENT_SECONDS:
                return absence
            await clock.sleep(LOOK_SECONDS)

    async def _absence(self) -> str:
        """Return why the API server cannot be reached; empty if it answers."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._client.get(ApiNode, self._settings.node_name)
        except ApiError:
            pass  # it answers
        except (Unreachable, TimeoutError) as error:
            return f"the API server {self._settings.server} does not answer ({error or 'silence'})"
        return ""

    async def _all_ready(self) -> None:
        await self._node.ready()
        await self._serves.wait()

    async def run_until(self, stop: asyncio.Event) -> None:
        """Run until stopped. Raises the error of a component that should never end."""
        await run_until(stop, self._running())

    async def stop(self) -> None:
        """Let go of everything; containers run on."""
        await self._stack.aclose()

    def _running(self) -> LastingTasks:
        return {"the node": self._node.task} if self._node.task is not None else {}
