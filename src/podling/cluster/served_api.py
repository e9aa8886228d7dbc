"""The API server of a cluster with its store and its sockets: a part of ``cluster``, or a process of its own.

It also writes what leads to it: the settings with its port, and the administrator's kubeconfig.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from podling.api.core_v1 import ConfigMap
from podling.apiserver.admission.base import Plugin
from podling.apiserver.admission.configuration.files import ConfigurationRefused
from podling.apiserver.admission.registry import default_plugins, plugins_without_controllers
from podling.apiserver.aggregation.authentication import FRONT, publish
from podling.apiserver.app import HttpServer
from podling.apiserver.auth import joining
from podling.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from podling.apiserver.auth.pki import Pki
from podling.apiserver.http.health import Check
from podling.apiserver.proxy.node_pages import resource_metrics_of
from podling.apiserver.proxy.streams import HttpsNodeConnector, StreamRequests
from podling.apiserver.registry.stored_values import set_aside, undecodable
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.cluster.admission_settings import admission_configuration
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.enabled_extensions import added_plugins, additions_of
from podling.cluster.start_failure import StartFailure
from podling.controllers.endpoints.cluster_dns import make_service
from podling.kubelet.node.machine import primary_address
from podling.machinery import cluster_info
from podling.store.base import Store
from podling.store.memory import MemoryStore
from podling.store.shared_revision import SharedRevision
from podling.store.sqlite import SqliteStore
from podling.streaming.shared_socket import SharedSocket
from podling.supervisor import Supervisor

Progress = Callable[[str, str], None]
"""Receives each finished step, with a detail for people."""

LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = "0.0.0.0"


class Sharing(Struct, frozen=True):
    """The things that the API server shares with other processes.

    The supervisor keeps the socket for HTTPS, where connections wait while the server is started again. With
    ``revision`` there are API workers, which accept the connections and read the revision of the store.
    """

    listening: SharedSocket
    revision: SharedRevision | None = None

    def applied_to(self, serving: Serving) -> Serving:
        """Return the settings of the server with the socket."""
        if self.revision is not None:
            return structs.replace(serving, listening=self.listening, accepts=False)
        return structs.replace(serving, listening=self.listening.of(0))


class ServedApi:
    """The API server over one data directory, in this process.

    Args:
        progress: receives the store and the server as they start.
        set_aside: move stored values that cannot be decoded out of the store, instead of refusing to start.
        parts: the checks of readiness of parts in other processes, by name.
        sharing: where the server is a process of its own; None in one process.
    """

    def __init__(
        self,
        directory: DataDirectory,
        settings: ClusterSettings,
        pki: Pki,
        progress: Progress,
        *,
        set_aside: bool = False,
        parts: Mapping[str, Check] | None = None,
        sharing: Sharing | None = None,
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.port = settings.port
        self._pki = pki
        self._progress = progress
        self._set_aside = set_aside
        self._parts = parts or {}
        self._sharing = sharing
        self.http: HttpServer
        """The started server."""
        self._stack = AsyncExitStack()

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    @property
    def advertised_url(self) -> str:
        """The URL for other machines; empty where they are not to reach the server."""
        return advertised_url(self.settings, self.port)

    @property
    def name(self) -> str:
        """The name of this cluster in kubeconfig contexts."""
        return "podling" if self.directory.path.name == "podling" else f"podling-{self.directory.id}"

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
        from podling.cluster.kubeconfig import KubeconfigUnusable, merge_into

        try:
            merge_into(copy, content)
        except KubeconfigUnusable as error:
            raise StartFailure(str(error)) from error
        return copy

    def write_kubeconfig_now_or_later(self, copy: Path | None, supervisor: Supervisor) -> Path:
        """Write the kubeconfig as ``write_kubeconfig`` does; on a full disk ``supervisor`` does it later."""
        try:
            return self.write_kubeconfig(copy)
        except OSError as error:
            self._progress("kubeconfig", f"could not be written: {error.strerror or error}")

        async def write_later() -> None:
            self.write_kubeconfig(copy)

        supervisor.keep_running("kubeconfig", write_later)
        return copy or self.directory.kubeconfig

    async def start(self) -> ApiServer:
        """Open the store and serve it. What had started before an error is stopped by ``stop``."""
        store = self._open_store()
        self._stack.push_async_callback(store.close)
        self._progress("store", f"revision {store.revision}")
        await self._check_values(store)
        api = ApiServer(
            store,
            plugins_of(self.settings),
            ranges=self.settings.ranges(),
            signing_key=self._pki.service_account_key(),
            front=self._pki.client(FRONT, FRONT),
            additions=additions_of(self.settings),
            feature_gates=self.settings.feature_gates,
        )
        await api.start()
        published = partial(publish, api.client(), self._pki.ca_pem.decode())
        await api.write_now_or_later("authentication-configuration", published)
        connector = HttpsNodeConnector(self._pki.ca, self._pki.kubelet_client())
        api.serve_resource_metrics(resource_metrics_of(connector))
        api.show_itself()
        self._stack.push_async_callback(api.stop)
        streams = StreamRequests(api.registry, api.objects, connector)
        serving = structs.replace(serving_of(self.settings, self._pki, api), ready_checks=self._parts)
        if self._sharing is not None:
            serving = self._sharing.applied_to(serving)
        self.http = server = HttpServer(api, api.authenticator, serving, streams)
        with port_failures(self.settings.port):
            await server.start()
        self._stack.push_async_callback(server.stop)
        self.port = server.port
        # Pods that are processes reach the server at the loopback address, which no endpoint can have.
        own = LOOPBACK if self.settings.runtime == "process" else primary_address()
        await api.announce(self.settings.advertise_address or own, self.port)
        if self.settings.runtime == "oci" and not self.settings.cni_conf_dir:
            await make_service(api.client())  # its nodes have DNS servers
        await api.write_now_or_later("cluster-info", partial(self._publish_information, api))
        recorded = structs.replace(self.settings, port=self.port, identity=self.directory.id)
        self.directory.remember(recorded)
        self._progress("API server", self.url)
        return api

    def _open_store(self) -> Store:
        """Return the store; one in memory where time is wound, which would wait for no disk."""
        if self.settings.is_wound:
            return MemoryStore()
        store = SqliteStore(self.directory.store)
        if self._sharing is not None and self._sharing.revision is not None:
            store.publish_revision(self._sharing.revision.publish)
        return store

    async def _publish_information(self, api: ApiServer) -> None:
        """Let nodes of other machines join if they may reach the server, and only then."""
        client = api.client()
        if self.settings.advertise_address:
            text = cluster_info.content(self.advertised_url, self._pki.ca_pem)
            settings = self.settings
            configuration = cluster_info.configuration(
                self.advertised_url,
                settings.cluster_cidr,
                settings.service_cluster_ip_range,
                settings.network,
                settings.node_masks,
            )
            await joining.publish(client, text, configuration)
        elif api.objects.get(ConfigMap, cluster_info.NAME, cluster_info.NAMESPACE) is not None:
            await joining.withdraw(client)

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

    async def stop(self) -> None:
        """Stop serving, then close the store."""
        await self._stack.aclose()


def hosts_of(settings: ClusterSettings) -> tuple[str, ...]:
    """Return the addresses to listen at: pods of real containers reach the server at any address, other
    machines at the advertised one."""
    advertised = settings.advertise_address
    if settings.runtime != "oci":
        return (LOOPBACK, advertised) if advertised else (LOOPBACK,)
    return (EVERY_ADDRESS, advertised) if ":" in advertised else (EVERY_ADDRESS,)


def advertised_url(settings: ClusterSettings, port: int) -> str:
    """Return the URL of the API server for other machines; empty where they are not to reach it."""
    address = settings.advertise_address
    if not address:
        return ""
    return f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}"


def plugins_of(settings: ClusterSettings) -> Sequence[Plugin]:
    """Return the admission plugins of the cluster. Raises ``StartFailure``."""
    try:
        configuration = admission_configuration(settings)
    except ConfigurationRefused as error:
        raise StartFailure(str(error)) from error
    make = plugins_without_controllers if settings.api_only else default_plugins
    return make(settings.ranges(), added_plugins(settings), configuration)


def serving_of(settings: ClusterSettings, pki: Pki, api: ApiServer) -> Serving:
    """Return address, certificates and checks of the server."""
    advertised = (settings.advertise_address,) if settings.advertise_address else ()
    served = (primary_address(), LOOPBACK, *advertised, *api.cluster_addresses())
    host, *also = hosts_of(settings)
    return Serving(
        host=host,
        also=tuple(also),
        port=settings.port,
        certificate=pki.server("apiserver", served),
        client_ca=pki.ca,
        checks=api.checks(),
        flags=flags_of(settings),
    )


def flags_of(settings: ClusterSettings) -> dict[str, str]:
    """Return the options of ``podling up`` that concern the API server, and their values."""
    return {
        "admission-control-config-file": settings.admission_control_config_file,
        "advertise-address": settings.advertise_address,
        "api-workers": str(settings.api_workers),
        "feature-gates": settings.node_options.feature_gates,
        "port": str(settings.port),
        "service-cluster-ip-range": settings.service_cluster_ip_range,
        "service-node-port-range": settings.service_node_port_range,
    }


@contextmanager
def port_failures(port: int) -> Iterator[None]:
    """Raise ``StartFailure`` in place of the error of an address that is in use."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise StartFailure(
                "the advertised address is none of this machine's: --advertise-address"
            ) from error
        if error.errno == errno.EADDRINUSE:
            advice = "choose another: podling up --port N (0 picks a free one)"
            raise StartFailure(f"port {port} is in use; {advice}") from error
        raise
