"""The API server without its sockets: the stages of a request joined to a store.

``ApiServer`` is what a process embeds: tests and simulations use nothing more than it, the HTTP edge serves
it to the world. It also forgets: history is compacted by age, so that memory and disk stay bounded while
every watcher has minutes to come back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import Binding, ComponentStatus, Namespace, Service
from podling.apiserver.additions import NO_ADDITIONS, Additions, install
from podling.apiserver.admission.base import Chain, Plugin
from podling.apiserver.admission.policy_status import Kinds, PolicyStatus
from podling.apiserver.aggregation.api_services import Aggregation
from podling.apiserver.aggregation.backend import Backend
from podling.apiserver.aggregation.contents import OtherContents
from podling.apiserver.aggregation.registration import Registration
from podling.apiserver.arrivals import Arrivals
from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.authz import RbacAuthorizer
from podling.apiserver.auth.escalation import PrivilegeEscalation
from podling.apiserver.auth.node_references import NodeReferences
from podling.apiserver.auth.pki import KeyPair
from podling.apiserver.auth.rbac import RbacIndex
from podling.apiserver.auth.reviews import Reviews
from podling.apiserver.auth.tokens import Tokens
from podling.apiserver.backends.local_servers import LocalServers
from podling.apiserver.bootstrap import Endpoint, announce, bootstrap, keep
from podling.apiserver.compaction import Compaction
from podling.apiserver.compute.pool import Pool
from podling.apiserver.customresources.catalogue import Catalogue
from podling.apiserver.customresources.conversion import Conversion
from podling.apiserver.customresources.lifecycle import Lifecycle
from podling.apiserver.customresources.watches import CustomWatches
from podling.apiserver.default_service_cidr import COMPONENT as SERVICE_CIDR_COMPONENT
from podling.apiserver.default_service_cidr import DefaultServiceCIDR
from podling.apiserver.flowcontrol.bootstrap_controller import ConfigurationProducer
from podling.apiserver.flowcontrol.filter import PriorityAndFairness
from podling.apiserver.flowcontrol.flows import Flows
from podling.apiserver.http.health import Check
from podling.apiserver.http.metrics import Collector
from podling.apiserver.kinds.core.component_statuses import component_statuses
from podling.apiserver.kinds.registry import rules_for
from podling.apiserver.legacy_token_tracking import LegacyTokenTracking
from podling.apiserver.loop_pieces import LoopPieces
from podling.apiserver.plugin_support import PluginSupport
from podling.apiserver.registry.eviction import Evictions
from podling.apiserver.registry.internal_reads import StoredObjects
from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.remote_stages import RemoteStages
from podling.apiserver.registry.service_ip_allocator import first_address
from podling.apiserver.resource_metrics.api import ResourceMetrics
from podling.apiserver.resource_metrics.collector import Scrape
from podling.apiserver.service_repair import ADDRESS_COMPONENT, PORT_COMPONENT, ServiceRepair
from podling.apiserver.store_metrics import MeteredStore
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.local import LocalClient
from podling.client.requests import SYSTEM, Target, User, WriteOptions
from podling.client.task_metrics import SupervisedTasks
from podling.machinery.errors import ApiError
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.network_ranges import DEFAULT_RANGES, NetworkRanges
from podling.machinery.scheme import Resource, by_path, gated_resources, resource_of
from podling.store.base import Store
from podling.supervisor import Supervisor, Work

log = logging.getLogger(__name__)


class ApiServer:
    """An API server over ``store``. The caller closes the store.

    Args:
        plugins: the admission plugins, in order.
        endpoint: the server's address for pods.
        ranges: the addresses and node ports of Services; those that ``plugins`` have.
        signing_key: signs service account tokens (PEM); None makes a key for this process.
        static_tokens: bearer tokens and their users.
        front: the front-proxy certificate, presented to the servers behind APIServices, so that they trust
            the user in the headers.
        additions: kinds and objects beside the built-in ones.
        local_servers: the webhooks and aggregated API servers in this process; None: all are called over
            HTTPS.
        feature_gates: the gates that differ from their defaults (``machinery.feature_gates``).
    """

    def __init__(  # noqa: PLR0913 the parts of a server
        self,
        store: Store,
        plugins: Sequence[Plugin],
        endpoint: Endpoint | None = None,
        *,
        ranges: NetworkRanges = DEFAULT_RANGES,
        signing_key: bytes | None = None,
        static_tokens: Mapping[str, User] | None = None,
        front: KeyPair | None = None,
        additions: Additions = NO_ADDITIONS,
        local_servers: LocalServers | None = None,
        feature_gates: Mapping[str, bool] = NO_GATES,
    ) -> None:
        self.store = store
        self._additions = additions
        self.feature_gates = feature_gates
        self.objects = StoredObjects(store)
        self.authorizer = RbacAuthorizer(RbacIndex(store), NodeReferences(store), feature_gates)
        chain = Chain((*plugins, PrivilegeEscalation(self.authorizer)), self.objects)
        watches = CustomWatches()
        self.catalogue = Catalogue(store, rules_for, watches.end, gated_resources(feature_gates))
        conversion = Conversion(
            self.catalogue.definition_of, self.objects, additions.converters, local_servers
        )
        self._compaction = Compaction(store)
        metered = MeteredStore(store, self._compaction.note_write)
        self.collectors: list[Collector] = [
            metered,
            chain.metrics,
            SupervisedTasks(),
            *(each for each in plugins if isinstance(each, Collector)),
        ]
        """Metric collectors beside the one of the HTTP edge."""
        self.registry = Registry(
            metered, self.catalogue.rules_for, chain, self.authorizer, conversion, watches
        )
        self._recorders: dict[str, EventRecorder] = {}
        self._support = PluginSupport(
            store,
            self.catalogue,
            conversion,
            self.authorizer,
            self.client(),
            self._recorder,
            local_servers,
            feature_gates,
        )
        self._plugins = plugins
        for plugin in plugins:
            plugin.initialize(self._support)
        self.tokens = Tokens(self.objects, signing_key)
        self.collectors.append(self.tokens.legacy_uses)
        self.authenticator = Authenticator(self.tokens, static_tokens, self.objects)
        reviews = Reviews(self.authorizer, self.tokens, self.authenticator.token_user)
        self.registry.serve(reviews.handlers())
        self.registry.serve({
            ("", "serviceaccounts", "token"): self.tokens.request,
            ("", "pods", "eviction"): Evictions(self.registry, self.objects).evict,
            ("", "bindings", ""): self._bind,
        })  # fmt: skip
        self.flows = Flows(store)
        self.arrivals = Arrivals()
        """The requests to the HTTP servers in front of this one."""
        self.fairness = PriorityAndFairness(self.flows, store, self.arrivals)
        self.collectors.append(self.fairness.metrics)
        self.aggregation = Aggregation(self.client(), Backend(self.objects, front, local_servers))
        self.components: dict[str, Check] = {
            "scheduler": _not_here, "controller-manager": _not_here, "etcd-0": lambda: store.trouble
        }  # fmt: skip
        """Health checks for each part of the control plane."""
        statuses = partial(component_statuses, self.components)
        self.registry.reads.compute(resource_of(ComponentStatus), statuses)
        self._endpoint = endpoint or Endpoint(cluster_ip=first_address(ranges.services[0]))
        service_cidr = self._recorder(SERVICE_CIDR_COMPONENT)
        self._service_cidr = DefaultServiceCIDR(self.client(), service_cidr, ranges)
        repairs = self._recorder(ADDRESS_COMPONENT), self._recorder(PORT_COMPONENT)
        self._service_repair = ServiceRepair(self.client(), ranges, *repairs)
        self._token_tracking = LegacyTokenTracking(self.client())
        self._supervisor = Supervisor()
        self._pool: Pool | None = None
        self._loops: dict[str, asyncio.Task[None]] = {}
        """Background tasks by the names of their health checks."""

    async def start(self) -> None:
        """Fill a new cluster, and begin to forget history."""
        await self.authorizer.load()
        await self.catalogue.load()
        await self.write_now_or_later("bootstrap", partial(bootstrap, self.registry, self.feature_gates))
        await self.write_now_or_later("service-cidr", self._service_cidr.sync)
        await self.write_now_or_later("announcement", lambda: announce(self.registry, self._endpoint))
        await self.write_now_or_later("legacy-token-tracking", self._token_tracking.sync)
        client, kinds = self.client(), Kinds(self._support.by_path, self._support.resource)
        added = partial(install, self._additions, self.registry, Lifecycle(client, self.catalogue))
        await self.write_now_or_later("extensions", added)
        self._keep_running("compaction", self._compaction.run)
        self._keep_running("start-apiextensions-controllers", Lifecycle(client, self.catalogue).run)
        self._keep_running("validatingadmissionpolicy-status-controller", PolicyStatus(client, kinds).run)
        self._keep_running("apiservice-status-available-controller", self.aggregation.run)
        self._keep_running(
            "start-kubernetes-service-controller", partial(keep, self.registry, lambda: self._endpoint)
        )
        self._keep_running("start-kubernetes-service-cidr-controller", self._service_cidr.run)
        self._keep_running("start-service-ip-repair-controllers", self._service_repair.run)
        self._keep_running("start-legacy-token-tracking-controller", self._token_tracking.run)
        self._label_used_tokens(client)
        for name, recorder in self._recorders.items():
            self._supervisor.keep_running("apiserver/events", recorder.run, name)

    async def write_now_or_later(self, name: str, work: Work) -> None:
        """Run ``work``, which writes what a started server needs.

        A cluster that ran before starts without, as on a full disk; ``work`` then runs until it succeeds.
        """
        try:
            await work()
        except ApiError as error:
            if self.store.peek(resource_of(Namespace).key("", "default")) is None:
                raise
            log.warning("%s: %s", name, error)
            self._supervisor.keep_running(f"apiserver/{name}", work)

    def _recorder(self, component: str) -> EventRecorder:
        """Return the component's recorder of events; a started server writes them."""
        return self._recorders.setdefault(component, EventRecorder(self.client(), component))

    def _keep_running(self, name: str, work: Work) -> None:
        self._loops[name] = self._supervisor.keep_running(f"apiserver/{name}", work)

    def checks(self) -> dict[str, Check]:
        """Return the health checks of a started server: its store and its endless loops, under Kubernetes'
        names where it has one."""
        loops = {f"poststarthook/{name}": partial(self._trouble, name) for name in self._loops}
        return {"etcd": lambda: self.store.trouble, **loops}

    def _label_used_tokens(self, client: Client) -> None:
        """Write with ``client`` which tokens in Secrets are used, until the server stops."""
        label = partial(self.tokens.legacy_uses.run, client)
        self._supervisor.keep_running("apiserver/legacy-token-uses", label)

    def _trouble(self, name: str) -> str:
        return self._supervisor.trouble(f"apiserver/{name}") or _trouble(self._loops[name])

    def serve_resource_metrics(self, scrape: Scrape) -> None:
        """Serve ``metrics.k8s.io`` over kubelets, unless the user installs a server for it."""
        metrics = ResourceMetrics(self.objects, scrape)
        self.aggregation.serve_locally(metrics)
        self._supervisor.keep_running("apiserver/resource-metrics", metrics.run)

    def look_after(self, component: str, task: asyncio.Task[None]) -> None:
        """A part of the control plane runs here, as long as ``task`` does."""
        self.components[component] = partial(_trouble, task)

    def count(self, collector: Collector) -> None:
        """Show what another part of the process counts beside our own counts."""
        self.collectors.append(collector)

    def show_itself(self) -> None:
        """Keep what people look for in any cluster, until the server stops: APIServices for what it answers
        itself, and the flow schemas that its answers name."""
        shown = Registration(self.client(), self.catalogue, self.aggregation.local_versions)
        self._keep_running("apiservice-registration-controller", shown.run)
        producer = ConfigurationProducer(self.client(), self.flows)
        self._keep_running("priority-and-fairness-config-producer", producer.run)
        self._keep_running("priority-and-fairness-config-consumer", self.fairness.run)

    def start_workers(self) -> None:
        """Compute large writes in processes of their own; the first such write starts one.

        A loop with a wound clock computes them itself: the clock would not wait for other processes.
        """
        if self._pool is None and clock.wound_clock() is None:
            self._pool = Pool()
            self.count(self._pool)
            self.registry.compute_in(RemoteStages(self._pool, self.catalogue.definition_of))

    def measure_loop(self) -> None:
        """Count in the metrics how long pieces of work hold the event loop."""
        pieces = LoopPieces(self.arrivals)
        self.count(pieces)
        self._supervisor.keep_running("apiserver/loop-pieces", pieces.run)

    async def announce(self, address: str, port: int) -> None:
        """Make the Service ``kubernetes`` lead to this port, and to this address if pods can reach it."""
        found = Endpoint(self._endpoint.cluster_ip, port, address)
        self._endpoint = found if found.reachable else replace(self._endpoint, port=port)
        await self.write_now_or_later("announcement", lambda: announce(self.registry, self._endpoint))

    def cluster_addresses(self) -> tuple[str, ...]:
        """Return the addresses under which pods reach the server through the Service ``kubernetes``.

        The Service of an older data directory may have another address than a new one would get.
        """
        stored = self.objects.get(Service, "kubernetes", "default")
        kept = stored.spec.cluster_ips if stored is not None else ()
        return tuple(dict.fromkeys((self._endpoint.cluster_ip, *kept)))

    async def stop(self) -> None:
        for recorder in self._recorders.values():
            await recorder.close()
        await self._supervisor.close()
        if self._pool is not None:
            await self._pool.close()
        await self.aggregation.backend.close()
        self.fairness.close()
        self.flows.close()
        self.catalogue.close()
        self.authorizer.close()
        self.objects.close()
        for plugin in self._plugins:
            plugin.close()

    def discovered(self) -> tuple[Resource, ...]:
        """Return the resources beside the built-in ones, served here or by aggregated servers."""
        return (*self.catalogue.resources(), *self.aggregation.discovered())

    def other_contents(self, user: User) -> OtherContents:
        """Return a reader of the objects in aggregated servers, for a component in this process."""
        return OtherContents(self.aggregation, user)

    def client(self, user: User = SYSTEM) -> LocalClient:
        """Return a client inside this process, acting for ``user``."""
        return LocalClient(self.registry, user)

    async def _bind(self, target: Target, user: User, body: Binding, options: WriteOptions) -> object:
        """``POST bindings``: the old way to say ``pods/{name}/binding``."""
        pods = by_path("", "v1", "pods")
        assert pods is not None
        pod = Target(pods, target.namespace, body.metadata.name or "", "binding")
        return await self.registry.act(pod, user, body, options, reviewed=True)


def _not_here() -> str:
    return "it does not run in this process"


def _trouble(loop: asyncio.Task[None]) -> str:
    """Why a loop that never ends has ended; empty while it runs."""
    if not loop.done():
        return ""
    return "it was cancelled" if loop.cancelled() else str(loop.exception() or "it has ended")
