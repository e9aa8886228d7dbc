"""The kubelet: runs the pods bound to its node as their specs say.

    async with Supervisor() as supervisor:
        kubelet = Kubelet(deps)
        supervisor.keep_running("kubelet", kubelet.run)
        await kubelet.ready.wait()

It owns one worker per pod and wakes it when the pod or its containers change, or a delay ends. All state can
be rebuilt: after a restart the API lists the pods, the runtime lists the containers, and running containers
are taken over untouched. A lost event delays a pod until the next relist at most. An older observation never
replaces a newer one, because each worker takes its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import Node, Pod, Service
from podling.client.base import key_of
from podling.client.informer import Informer
from podling.kubelet.backoff import BackoffPolicy
from podling.kubelet.containers.container_spec import ContainerSpecs, NodeFacts
from podling.kubelet.containers.container_start import ContainerStarter
from podling.kubelet.containers.hooks import HookRunner
from podling.kubelet.containers.images import ImageManager
from podling.kubelet.containers.pod_files import PodFiles
from podling.kubelet.containers.service_links import service_variables
from podling.kubelet.containers.subordinate_ids import pool_from
from podling.kubelet.containers.termination import Killer
from podling.kubelet.containers.user_ids import Pool, default_pool
from podling.kubelet.containers.user_namespaces import UserNamespaces
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.kubelet.eviction.eviction_manager import EvictionManager
from podling.kubelet.eviction.image_gc import ImageCollector
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.log_rotation import LogRotation
from podling.kubelet.node.machine import Machine, read_machine, read_swap_areas
from podling.kubelet.node.node_agent import NodeAgent
from podling.kubelet.node.node_pressure import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from podling.kubelet.node.node_status import NodeHealth, capacity, internal_ips, node_addresses
from podling.kubelet.observation import Observer
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.pods.cpusets import CpusetReconciler
from podling.kubelet.pods.housekeeping import Housekeeper
from podling.kubelet.pods.mirror_pods import MirrorPods
from podling.kubelet.pods.pod_source import PodSource, PodView
from podling.kubelet.pods.pod_workers import PodWorkers
from podling.kubelet.pods.qos_cgroups import QosCgroups
from podling.kubelet.pods.resizer import Resizer
from podling.kubelet.pods.static_pods import StaticPods
from podling.kubelet.pods.static_url import UrlPods
from podling.kubelet.probes.prober import Prober
from podling.kubelet.reference_watches import ReferenceWatches
from podling.kubelet.rounds import Rounds
from podling.kubelet.shutdown.shutdown_manager import ShutdownManager
from podling.kubelet.shutdown.shutdown_state import ShutdownRecord
from podling.kubelet.status.status import Verdict
from podling.kubelet.status.status_manager import StatusManager
from podling.kubelet.swap import NodeMemory, swap_refusal
from podling.kubelet.timed_runtime import TimedRuntime
from podling.kubelet.topology.container_manager import ContainerManager
from podling.kubelet.topology.machine_topology import MachineTopology, read_topology
from podling.kubelet.topology.manager_settings import Settings, manager_settings, uses_topology
from podling.kubelet.volumes.volume_manager import VolumeManager
from podling.machinery.pods import is_static
from podling.machinery.quantity import value
from podling.runtime.base import ContainerEventType, UpdatesCgroups, UpdatesSandboxes
from podling.runtime.changes import Changes
from podling.runtime.failures import RuntimeFailure
from podling.supervisor import Supervisor, Work

logger = logging.getLogger(__name__)

RUNTIME_CHECK_SECONDS = 5.0
_WAKING_EVENTS = (ContainerEventType.EXITED, ContainerEventType.SANDBOX_STOPPED)
"""Events that wake a worker. Workers cause the other events themselves and already know of them."""


class Kubelet:
    """One node's kubelet. ``run`` works until cancelled and leaves containers running."""

    def __init__(self, deps: KubeletDeps) -> None:
        if isinstance(deps.runtime, UpdatesSandboxes):
            _check_swap(deps)
        timed = TimedRuntime(deps.runtime, deps.config.runtime_request_timeout)
        self._deps = deps = replace(deps, runtime=timed)
        self.ready = asyncio.Event()
        """Set once the node is Ready in the API and its pods are managed."""
        config = deps.config
        self._hostname = config.hostname or deps.node_name
        self._machine = deps.machine or read_machine(deps.root_dir)
        self._directories = Directories(deps.root_dir)
        self._metrics = KubeletMetrics()
        self._health = NodeHealth()
        self._changes = Changes()
        """Changes that do not come from the runtime: of the set of workers, and of the node in the API."""
        self._agent = NodeAgent(deps, self._machine, self._hostname, self._current_health, self._changes)
        self._workers = PodWorkers(
            config,
            self._machine,
            lambda: self._agent.node,
            lambda: self._eviction.conditions,
            lambda: self._shutdown.shutting_down,
            lambda: self._tiers.wake(),
            self._changes,
        )
        self._pods: Informer[Pod] = Informer(
            deps.client, Pod, field_selector=f"spec.nodeName={deps.node_name}"
        )
        self._nodes: Informer[Node] = Informer(
            deps.client, Node, field_selector=f"metadata.name={deps.node_name}"
        )
        self._known_services: Informer[Service] = Informer(deps.client, Service)
        self._addresses = internal_ips(node_addresses(self._machine, config, self._hostname))
        own_capacity = capacity(self._machine, config)
        self._memory = NodeMemory(value(own_capacity["memory"]), self._machine.swap)
        whole = {**own_capacity, **({"pid": str(self._machine.processes)} if self._machine.processes else {})}
        self._tiers = QosCgroups(deps, self._workers.granted_specs, whole, lambda: self._agent.node)
        self._cpusets = CpusetReconciler(deps, self._workers, self._has_read_sources)
        chosen = _manager_settings(deps, self._machine, own_capacity)
        self._assignments = ContainerManager(chosen, deps.root_dir, self._cpusets.wake)
        self._cpusets.begin(self._assignments)
        self._services = self._wire()
        self._workers.begin(self._services)
        self._housekeeper = Housekeeper(self._services, self._workers, self._has_read_sources, self._changes)
        self._log_rotation = LogRotation(
            deps.runtime,
            max_size_bytes=config.container_log_max_size_bytes,
            max_files=config.container_log_max_files,
            interval_seconds=config.container_log_monitor_interval,
        )
        self.pod_view: PodSource = PodView(
            deps.runtime,
            self._directories,
            self._workers.values,
            self._services.prober,
            self._services.volumes.paths,
            self._metrics,
        )
        """Read access to the node's pods."""
        self._images = ImageCollector(
            deps,
            lambda: (worker.record.pod for worker in self._workers.values()),
            lambda: self._agent.node,
            self._changes,
        )
        self._eviction = EvictionManager(
            self._services,
            self._images,
            self._workers,
            lambda: self._agent.node,
            self._agent.request_report,
            self._changes,
        )
        self._shutdown = ShutdownManager(
            config,
            deps.connect_logind,
            self._workers,
            lambda: self._agent.node,
            deps.recorder,
            self._agent.request_report,
            ShutdownRecord(deps.root_dir, self._metrics),
        )
        directory = config.static_pod_path
        self._static = (
            StaticPods(
                directory,
                deps.node_name,
                deps.complete_pod,
                self._set_static_files,
                config.file_check_frequency,
            )
            if directory is not None
            else None
        )
        self._static_url = (
            UrlPods(config, deps.node_name, deps.complete_pod, self._set_static_url, deps.fetch_manifest)
            if config.static_pod_url
            else None
        )
        self._files: Mapping[str, Pod] = {}
        self._from_url: Mapping[str, Pod] = {}
        self._mirrors = MirrorPods(
            deps.client, self._pods, self._static_pods, self._running_static_pods, lambda: self._agent.node
        )

    def _wire(self) -> PodServices:
        deps, directories = self._deps, self._directories
        hooks = HookRunner(deps.runtime, deps.recorder)
        killer = Killer(deps.runtime, deps.recorder, hooks)
        watches = ReferenceWatches(deps.client, self._workers.reference_changed)
        volumes = VolumeManager(deps, directories, watches)
        files = PodFiles(deps, directories)
        specs = ContainerSpecs(deps, directories, volumes, files, self._assignments)
        return PodServices(
            deps=deps,
            directories=directories,
            observer=Observer(deps.runtime),
            statuses=StatusManager(deps.client, self._metrics),
            prober=Prober(deps),
            images=ImageManager(deps),
            watches=watches,
            volumes=volumes,
            users=UserNamespaces(deps.runtime, directories, deps.config, _id_pool(deps)),
            files=files,
            starter=ContainerStarter(deps, specs, hooks, killer),
            killer=killer,
            backoff=BackoffPolicy(max_seconds=deps.config.crash_loop_back_off_max),
            node=self._node_facts,
            admit=self._workers.admit,
            assignments=self._assignments,
            resizer=Resizer(deps, self._metrics),
            metrics=self._metrics,
            refuse_resize=self._workers.refuse_resize,
            resources_changed=self._workers.resources_changed,
            service_links=self._service_links,
        )

    async def run(self) -> None:
        """Manage the node and its pods until cancelled."""
        self._services.prober.begin(clock.now())
        self._pods.add_handler(self._workers.added, self._workers.updated, self._workers.removed)
        self._nodes.add_handler(
            self._agent.node_updated,
            lambda _, new: self._agent.node_updated(new),
            lambda _: self._agent.node_deleted(),
        )
        try:
            async with Supervisor() as supervisor:
                await self._first_check_of_runtime()
                self._services.files.check_node_resolver()
                for name, work in self._tasks().items():
                    supervisor.keep_running(name, work)
        finally:
            await self._close()

    def _tasks(self) -> dict[str, Work]:
        tasks: dict[str, Work] = {
            "kubelet/events": self._runtime_events,
            "kubelet/node": self._agent.run,
            "kubelet/lease": self._agent.renew_lease,
            "kubelet/pods": self._pods.run,
            "kubelet/self": self._nodes.run,
            "kubelet/services": self._known_services.run,
            "kubelet/runtime": self._watch_runtime,
            "kubelet/eviction": self._eviction.run,
            "kubelet/images": self._images.run,
            "kubelet/housekeeping": self._housekeeper.run,
            "kubelet/log-rotation": self._log_rotation.run,
            "kubelet/ready": self._become_ready,
        }
        tasks["kubelet/mirrors"] = self._keep_mirrors
        if isinstance(self._deps.runtime, UpdatesCgroups):
            tasks["kubelet/tiers"] = self._tiers.run
        if self._assignments.is_active:
            tasks["kubelet/cpusets"] = self._cpusets.run
        if self._deps.node_controllers:
            tasks["kubelet/node-controllers"] = self._run_node_controllers
        if self._shutdown.is_enabled:
            tasks["kubelet/shutdown"] = self._shutdown.run
        if self._static is not None:
            tasks["kubelet/static"] = self._static.run
        if self._static_url is not None:
            tasks["kubelet/static-url"] = self._static_url.run
        return tasks

    async def _run_node_controllers(self) -> None:
        """Run the controllers of extensions once the node's pods are managed."""
        from podling.kubelet.containers.node_images import ManagedImages
        from podling.kubelet.node_controller_manager import NodeControllerManager
        from podling.kubelet.pods.pod_containers import WorkerContainers

        await self.ready.wait()
        containers = WorkerContainers(self._services, self._workers.get)
        images = ManagedImages(self._services.images)
        await NodeControllerManager(self._deps, self._deps.node_controllers, containers, images).run()

    async def _become_ready(self) -> None:
        await self._agent.ready.wait()
        await self._pods.synced()
        self.ready.set()

    async def _close(self) -> None:
        await self._workers.close()
        await self._services.watches.close()
        await self._services.prober.close()
        await self._services.statuses.close()

    # The node.

    def _node_facts(self) -> NodeFacts:
        return NodeFacts(
            host_ips=self._addresses,
            hostname=self._hostname,
            allocatable=self._agent.node.status.allocatable,
            memory=replace(
                self._memory, allocatable=value(self._agent.node.status.allocatable.get("memory", "0"))
            ),
        )

    def _current_health(self) -> NodeHealth:
        pressures = self._eviction.conditions
        return replace(
            self._health,
            memory_pressure=MEMORY_PRESSURE in pressures,
            disk_pressure=DISK_PRESSURE in pressures,
            pid_pressure=PID_PRESSURE in pressures,
            shutting_down=self._shutdown.shutting_down,
        )

    async def _check_runtime(self) -> None:
        try:
            health = NodeHealth(runtime=await self._deps.runtime.status())
        except RuntimeFailure as error:
            health = NodeHealth(runtime_error=f"container runtime is down: {error}")
        if health != self._health:
            self._health = health
            self._agent.request_report()

    async def _first_check_of_runtime(self) -> None:
        """Check the runtime before the node registers, so that its first status includes the runtime."""
        try:
            await self._check_runtime()
        except Exception:
            logger.exception("the runtime cannot be checked")

    async def _watch_runtime(self) -> None:
        rounds = Rounds(RUNTIME_CHECK_SECONDS, self._deps, Changes())
        with rounds.follow():
            while True:
                await rounds.next(settled=not self._health.runtime_error)
                await self._check_runtime()

    async def _runtime_events(self) -> None:
        """Wake workers on events of their containers. Without events the relist wakes them."""
        while True:
            try:
                async for event in self._deps.runtime.events():
                    worker = self._workers.get(event.pod_uid)
                    if worker is not None and event.type in _WAKING_EVENTS:
                        worker.wake()
            except RuntimeFailure as error:
                logger.warning("the runtime's event stream ended: %s", error)
            await clock.sleep(RUNTIME_CHECK_SECONDS)

    # Pods.

    def _has_read_sources(self) -> bool:
        """Return whether all sources of pods were read, so that a pod in none of them is gone."""
        return self._pods.has_synced and self._knows_static()

    def _knows_static(self) -> bool:
        return all(source is None or source.known for source in (self._static, self._static_url))

    def kill_pod(self, uid: str, verdict: Verdict, grace_seconds: int | None = None) -> None:
        """End a pod by the node's own decision: eviction, shutdown, preemption."""
        worker = self._workers.get(uid)
        if worker is not None:
            worker.kill(verdict, grace_seconds)

    async def _service_links(self, pod: Pod) -> Mapping[str, str]:
        """Return the variables of services. A static pod does not wait for an API server."""
        if not is_static(pod):
            await self._known_services.synced()
        return service_variables(pod, self._known_services.values())

    async def _keep_mirrors(self) -> None:
        await self._agent.ready.wait()
        await self._mirrors.run()

    def _static_pods(self) -> Iterable[Pod] | None:
        """Return the static pods that the node is to run, None until they are known."""
        return self._workers.static.values() if self._knows_static() else None

    def _running_static_pods(self) -> Iterable[Pod]:
        pods = (worker.record.pod for worker in self._workers.values())
        return (pod for pod in pods if is_static(pod))

    def _set_static_files(self, pods: Mapping[str, Pod]) -> None:
        self._files = pods
        self._set_static()

    def _set_static_url(self, pods: Mapping[str, Pod]) -> None:
        self._from_url = pods
        self._set_static()

    def _set_static(self) -> None:
        """Run the static pods of both sources; of two of one name that of the files counts."""
        names = {key_of(pod) for pod in self._files.values()}
        others = {uid: pod for uid, pod in self._from_url.items() if key_of(pod) not in names}
        self._workers.set_static({**self._files, **others})
        self._mirrors.changed()


def _check_swap(deps: KubeletDeps) -> None:
    """Raise ``RuntimeFailure`` if the machine has swap and the configuration does not allow it."""
    refusal = swap_refusal(deps.config, read_swap_areas(deps.swaps))
    if refusal:
        raise RuntimeFailure(refusal)


def _id_pool(deps: KubeletDeps) -> Pool:
    """Return the blocks of IDs of pods with users of their own.

    Raises ``RuntimeFailure`` if the machine gives the kubelet IDs that cannot be divided among pods.
    """
    count = deps.config.user_namespaces_ids_per_pod
    if not deps.config.write_files:
        return default_pool(count)
    try:
        return pool_from(deps.read_subordinate_ids(), count, deps.config.max_pods)
    except ValueError as error:
        raise RuntimeFailure(str(error)) from error


def _manager_settings(deps: KubeletDeps, machine: Machine, capacity: Mapping[str, str]) -> Settings:
    """Return the settings of the CPU, memory and topology managers.

    Raises ``RuntimeFailure`` if they are wrong or do not fit the machine, whose topology is read only if a
    manager uses it.
    """
    topology = deps.topology or MachineTopology({})
    if deps.topology is None and uses_topology(deps.config):
        topology = read_topology(frozenset(os.sched_getaffinity(0)), machine.memory)
    try:
        return manager_settings(deps.config, topology, capacity)
    except ValueError as error:
        raise RuntimeFailure(str(error)) from error
