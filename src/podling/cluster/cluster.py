"""The cluster: store, API server, scheduler, controllers and nodes, started in the order they need.

The control plane's components call the API server in process; kubectl, other clients and (through the
kubelets' own servers) log and exec streams use TLS. Stopping closes everything in the reverse order and
leaves containers running: ``podling down`` ends those.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from msgspec import structs

from podling.apiserver.admission.registry import default_plugins, plugins_without_controllers
from podling.apiserver.aggregation.authentication import FRONT, publish
from podling.apiserver.app import HttpServer, Serving
from podling.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from podling.apiserver.auth.pki import Pki, PkiDamaged
from podling.apiserver.auth.signing import RequestSigner
from podling.apiserver.proxy.streams import HttpsNodeConnector, StreamRequests
from podling.apiserver.registry.stored_values import set_aside, undecodable
from podling.apiserver.server import ApiServer
from podling.client.base import Client
from podling.client.local import LocalClient
from podling.client.request_counts import CountedBackend
from podling.client.requests import Backend
from podling.cluster.components import CONTROLLER_MANAGER, run_components
from podling.cluster.directory import ClusterSettings, DataDirectory
from podling.cluster.kubeconfig import KubeconfigUnusable, merge_into
from podling.cluster.local_nodes import node_plans
from podling.controllers.enabled_controllers import enabled_names
from podling.controllers.volumes.volume_folders import NoFolders, VolumeFolders
from podling.machinery.errors import ApiError
from podling.node.machine import primary_address
from podling.node.node import Node
from podling.runtime.base import RuntimeFailure
from podling.runtime.images.store import ImageStore
from podling.store.base import Store, StoreError
from podling.store.sqlite import SqliteStore
from podling.supervisor import Supervisor

Progress = Callable[[str, str], None]
"""Receives each finished step, with a detail for people."""

LOOPBACK = "127.0.0.1"

READY_SECONDS = 60.0
"""Seconds that ``up`` waits for its nodes to be Ready."""


class StartFailure(Exception):
    """The cluster cannot start; the text is one line that says what to do."""


class Cluster:
    """One cluster over one data directory, in this process.

    Args:
        progress: receives each component as it starts.
        set_aside: move stored values that cannot be decoded out of the store, instead of refusing to start.
    """

    def __init__(
        self,
        directory: DataDirectory,
        settings: ClusterSettings,
        progress: Progress,
        *,
        set_aside: bool = False,
    ) -> None:
        self.directory = directory
        self.settings = settings
        self._progress = progress
        self._set_aside = set_aside
        self._pki = Pki(directory.pki)
        self._stack = AsyncExitStack()
        self._nodes: list[Node] = []
        self._components: asyncio.Task[None] | None = None
        self.port = settings.port

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    async def start(self) -> None:
        """Start everything. Raises ``StartFailure``; what had started is stopped again."""
        try:
            server = await self._start_api()
            counted = CountedBackend(server.registry, lambda: f"{LOOPBACK}:{self.port}")
            server.count(counted)
            if not self.settings.api_only:
                self._start_components(server, counted)
                await self._start_nodes(counted)
        except RuntimeFailure as error:
            await self.stop()
            raise StartFailure(f"{error}; 'podling doctor' says what to do") from error
        except (ApiError, StoreError, PkiDamaged, OSError) as error:
            await self.stop()
            raise StartFailure(str(error)) from error
        except BaseException:
            await self.stop()
            raise

    async def nodes_ready(self, stop: asyncio.Event) -> bool:
        """Wait until every node is Ready, ``stop``, or too long; return whether they are Ready.

        A node may be unable to become Ready for now, as on a full disk, where its status cannot be written.
        """
        ready = asyncio.create_task(self._all_ready())
        stopped = asyncio.create_task(stop.wait())
        watched = [ready, stopped, *self._running()]
        await asyncio.wait(watched, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        self._raise_failures()
        stopped.cancel()
        if ready.done():
            self._progress("ready", ", ".join(node.plan.name for node in self._nodes) or "without nodes")
            return True
        ready.cancel()
        return False

    async def _all_ready(self) -> None:
        await asyncio.gather(*(node.ready() for node in self._nodes))

    async def run_until(self, stop: asyncio.Event) -> None:
        """Run until stopped. Raises the error of a component that should never end."""
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([stopped, *self._running()], return_when=asyncio.FIRST_COMPLETED)
            self._raise_failures()
        finally:
            stopped.cancel()

    async def stop(self) -> None:
        """Let go of everything; containers run on."""
        await self._stack.aclose()

    def write_kubeconfig(self, copy: Path | None) -> Path:
        """Write the administrator's kubeconfig; with ``copy`` also there. Returns the path to use.

        Raises ``StartFailure`` when ``copy`` is a file of another kind.
        """
        content = kubeconfig(
            self.url, self._pki.ca_pem, self._pki.admin(), user=f"admin@{self.name}", name=self.name
        )
        write_kubeconfig(self.directory.kubeconfig, content)
        if copy is None:
            return self.directory.kubeconfig
        try:
            merge_into(copy, content)
        except KubeconfigUnusable as error:
            raise StartFailure(str(error)) from error
        return copy

    @property
    def name(self) -> str:
        """The name of this cluster in kubeconfig contexts."""
        return "podling" if self.directory.path.name == "podling" else f"podling-{self.directory.id}"

    async def _start_api(self) -> ApiServer:
        store = SqliteStore(self.directory.store)
        self._stack.push_async_callback(store.close)
        self._progress("store", f"revision {store.revision}")
        await self._check_values(store)
        api = ApiServer(
            store,
            plugins_without_controllers() if self.settings.api_only else default_plugins(),
            signing_key=self._pki.service_account_key(),
            front=self._pki.client(FRONT, FRONT),
        )
        await api.start()
        published = partial(publish, api.client(), self._pki.ca_pem.decode())
        await api.write_now_or_later("authentication-configuration", published)
        api.show_itself()
        self._stack.push_async_callback(api.stop)
        connector = HttpsNodeConnector(self._pki.ca, self._pki.kubelet_client())
        streams = StreamRequests(api.registry, api.objects, connector)
        served = (primary_address(), LOOPBACK, *api.cluster_addresses())
        serving = Serving(
            host="0.0.0.0" if self.settings.runtime == "oci" else LOOPBACK,
            port=self.settings.port,
            certificate=self._pki.server("apiserver", served),
            client_ca=self._pki.ca,
            checks=api.checks(),
        )
        server = HttpServer(api, api.authenticator, serving, streams)
        try:
            await server.start()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                advice = "choose another: podling up --port N (0 picks a free one)"
                raise StartFailure(f"port {self.settings.port} is in use; {advice}") from error
            raise
        self._stack.push_async_callback(server.stop)
        self.port = server.port
        await api.announce(primary_address(), self.port)
        recorded = structs.replace(self.settings, port=self.port, identity=self.directory.id)
        self.directory.remember(recorded)
        self._progress("API server", self.url)
        return api

    async def _check_values(self, store: Store) -> None:
        """Raise ``StartFailure`` if a stored value cannot be decoded, unless such are to be set aside."""
        found = await undecodable(store)
        if not found:
            return
        if self._set_aside:
            folder = self.directory.set_aside
            await set_aside(store, found, folder)
            self._progress("set aside", f"{', '.join(each.key for each in found)}; kept in {folder}")
            return
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise StartFailure(
            f"{self.directory.store}: the value of {found[0].key}{others} cannot be decoded: {found[0].why}; "
            "restore a backup, or start without, keeping the bytes in a file: "
            "'podling up --set-aside-undecodable'"
        )

    def _start_components(self, api: ApiServer, backend: Backend) -> None:
        simulated = self.settings.runtime == "sim"  # its pods write nothing
        folders = (NoFolders if simulated else VolumeFolders)(self.directory.volumes)
        signer, ca = RequestSigner(self._pki), self._pki.ca_pem.decode()
        clients, others = partial(LocalClient, backend), api.other_contents(CONTROLLER_MANAGER)
        names = enabled_names(self.settings.controllers)
        supervisor = Supervisor()
        self._stack.push_async_callback(supervisor.close)
        self._components = supervisor.keep_running(
            "control-plane", partial(run_components, clients, ca, folders, signer, others, api, names)
        )
        self._progress("control plane", f"scheduler, {len(names)} controllers")

    async def _start_nodes(self, backend: Backend) -> None:
        images = ImageStore(self.directory.images)
        for plan in node_plans(self.directory, self.settings):
            client: Client = LocalClient(backend, Node.user(plan.name))
            node = Node(plan, client, self._pki, images)
            await node.start()
            self._stack.push_async_callback(node.stop)
            self._nodes.append(node)
            self._progress("node", f"{plan.name} on {plan.runtime}")

    def _running(self) -> list[asyncio.Task[None]]:
        tasks = [node.task for node in self._nodes if node.task]
        return [*tasks, self._components] if self._components else tasks

    def _raise_failures(self) -> None:
        for task in self._running():
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error
