"""Observes the node's free resources, and evicts pods one at a time while they are short.

Every ten seconds the manager observes the node and sets its pressure conditions. Then it evicts the pods that
use more disk than their own limits, even if the node has enough. If there are none, and a threshold calls for
an eviction, it first frees what no pod needs (for disk: ended pods' containers, and images), then evicts the
pod that ranks first. The next observation waits until that pod has ended, at most half a minute.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Node, Pod, PodCondition
from podling.files.trees import TreeSize
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.eviction.eviction_ranking import ContainerUse, PodUse, explain, rank
from podling.kubelet.eviction.image_gc import ImageCollector
from podling.kubelet.eviction.local_storage import StorageMeters, StorageUse, disk_volumes, excess, is_limited
from podling.kubelet.node.node_pressure import (
    CONDITION_OF,
    DISK_PRESSURE,
    RESOURCE_OF,
    Observation,
    Pressure,
    Threshold,
    needs_no_eviction,
    observe_pressure,
    thresholds,
)
from podling.kubelet.node.node_usage import node_left
from podling.kubelet.pods.cleanup import remove_everything
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.pods.worker import PodWorker
from podling.kubelet.pods.worker_state import Finished, Syncing
from podling.kubelet.rounds import Rounds, reporting_runtime
from podling.kubelet.status.conditions import DISRUPTION_TARGET
from podling.kubelet.status.status import Verdict
from podling.kubelet.volumes.empty_dir import EmptyDir
from podling.machinery.pods import is_critical
from podling.runtime.base import ContainerStats
from podling.runtime.changes import Changes
from podling.runtime.failures import RuntimeFailure

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 10.0
CLEANUP_SECONDS = 30.0
HARD_GRACE_SECONDS = 1


class _Choice(Struct, frozen=True):
    """A threshold that calls for an eviction, with the observation."""

    threshold: Threshold
    observation: Observation


class EvictionManager:
    """Node-pressure eviction of one node.

    Args:
        changed: is called when the conditions change.
        changes: notes that a worker has come or gone, or the node has changed.
    """

    def __init__(
        self,
        services: PodServices,
        images: ImageCollector,
        workers: Mapping[str, PodWorker],
        node: Callable[[], Node],
        changed: Callable[[], None],
        changes: Changes,
    ) -> None:
        config = services.deps.config
        self._services = services
        self._deps = services.deps
        self._images = images
        self._workers = workers
        self._node = node
        self._changed = changed
        self._thresholds = thresholds(
            config.eviction_hard,
            config.eviction_soft,
            config.eviction_soft_grace_period,
            config.eviction_minimum_reclaim,
        )
        self._directories = services.directories
        self._meters = StorageMeters()
        self._pressure = Pressure()
        self.conditions: frozenset[str] = frozenset()
        """The node's present pressure conditions."""
        self._rounds = Rounds(INTERVAL_SECONDS, services.deps, changes)
        self._reporting = reporting_runtime(services.deps)

    async def run(self) -> None:
        """Observe and evict until cancelled."""
        settled = False
        with self._rounds.follow():
            while True:
                await self._rounds.next(settled=settled, within=self._seconds_to_next_use())
                settled = False
                try:
                    choice = await self._observe_node()
                    evicted = await self._evict_over_limits()
                    if choice is not None and not evicted:
                        evicted = await self._reclaim(choice)
                except (RuntimeFailure, OSError) as error:
                    logger.warning("the node's use cannot be measured: %s", error)
                    continue
                await asyncio.gather(*(worker.ended(CLEANUP_SECONDS) for worker in evicted))
                settled = not (evicted or self.conditions or self._pressure.met_since)

    def _seconds_to_next_use(self) -> float | None:
        """Return the time until the containers' use of memory changes, where the runtime knows it."""
        return self._reporting.seconds_to_next_use() if self._reporting is not None else None

    async def _evict_over_limits(self) -> list[PodWorker]:
        """Evict the pods that use more disk than their limits, and return their workers."""
        limited = [worker for worker in self._evictable() if is_limited(worker.record.pod)]
        if not limited:
            return []
        stats = await self._stats()
        evicted = []
        for worker in limited:
            pod = worker.record.pod
            use = await self._storage_use(pod, _layers(dict(_measured_containers(worker, stats))))
            found = excess(pod, use) if use is not None else None
            if found is not None:
                self._deps.recorder.event(pod, "Warning", "Evicted", found.message)
                self._services.metrics.evictions[found.signal] += 1
                worker.kill(Verdict("Evicted", found.message), HARD_GRACE_SECONDS)
                evicted.append(worker)
        self._meters.forget_unused()
        return evicted

    async def _stats(self) -> dict[str, ContainerStats]:
        """Return the use of all containers by their ID. Raises ``RuntimeFailure``."""
        return {found.container_id: found for found in await self._deps.runtime.stats()}

    async def _storage_use(self, pod: Pod, layers: Mapping[str, TreeSize]) -> StorageUse | None:
        """Return the disk use of a pod, None if it cannot be measured.

        ``layers`` are the sizes of its containers' writable layers.
        """
        try:
            return await blocking_for_pod(pod.metadata.uid or "", self._measure, pod, layers)
        except OSError as error:
            logger.warning("the files of pod %s cannot be measured: %s", pod.metadata.name, error)
            return None

    def _measure(self, pod: Pod, layers: Mapping[str, TreeSize]) -> StorageUse:
        uid = pod.metadata.uid or ""
        logs = self._directories.pod_logs(pod)
        written = {name: self._meters.size(logs / name) for name in layers}
        volumes = {
            name: self._meters.size(self._directories.volume(uid, EmptyDir.plugin_name, name))
            for name in disk_volumes(pod)
        }
        messages = self._meters.size(self._directories.containers(uid)).bytes
        return StorageUse(
            {name: layer.bytes + written[name].bytes for name, layer in layers.items()},
            {name: size.bytes for name, size in volumes.items()},
            {name: layer.inodes + written[name].inodes for name, layer in layers.items()},
            sum(size.inodes for size in volumes.values()),
            messages + self._directories.managed_bytes(uid),
        )

    def _evictable(self) -> list[PodWorker]:
        living = (worker for worker in self._workers.values() if isinstance(worker.state, Syncing))
        return [worker for worker in living if not is_critical(worker.record.pod)]

    async def _observe_node(self) -> _Choice | None:
        """Observe the node once, set its conditions, and return the most urgent threshold that is due."""
        if not self._thresholds:
            return None
        observed = await node_left(self._deps, self._node())
        now = clock.steady_now()
        self._pressure = observe_pressure(self._pressure, self._thresholds, observed, now)
        transition = timedelta(seconds=self._deps.config.eviction_pressure_transition_period)
        conditions = self._pressure.conditions(now, transition)
        if conditions != self.conditions:
            self.conditions = conditions
            self._changed()
        due = self._pressure.due(now)
        return _Choice(due[0], observed[due[0].signal]) if due else None

    async def _reclaim(self, choice: _Choice) -> list[PodWorker]:
        """Free what is short, and return the worker of the pod that was evicted, if one was."""
        resource = RESOURCE_OF[choice.threshold.signal]
        text = f"Attempting to reclaim {resource}"
        self._deps.recorder.event(self._node(), "Warning", "EvictionThresholdMet", text)
        if CONDITION_OF[choice.threshold.signal] == DISK_PRESSURE:
            await self._reclaim_disk()
            if needs_no_eviction(self._thresholds, await node_left(self._deps, self._node())):
                return []
        return await self._evict(choice)

    async def _reclaim_disk(self) -> None:
        """Remove ended pods' containers, then unused images."""
        ended = [worker for worker in self._workers.values() if isinstance(worker.state, Finished)]
        for worker in ended:
            observed = await self._services.observer.observe(worker.uid)
            if observed.containers:
                await remove_everything(self._services, worker.record.pod)
        await self._images.remove_unused()

    async def _evict(self, choice: _Choice) -> list[PodWorker]:
        uses = await self._uses(RESOURCE_OF[choice.threshold.signal])
        for use in rank(uses, choice.threshold.signal):
            worker = self._workers.get(use.pod.metadata.uid or "")
            if worker is None:
                continue
            self._end(worker, use, choice)
            return [worker]
        logger.warning("the node is short of %s, but no pod can be evicted", choice.threshold.signal)
        return []

    def _end(self, worker: PodWorker, use: PodUse, choice: _Choice) -> None:
        why = explain(use, choice.threshold, choice.observation)
        self._deps.recorder.annotated_event(use.pod, why.annotations, "Warning", "Evicted", why.message)
        self._services.metrics.evictions[choice.threshold.signal] += 1
        condition = PodCondition(
            type=DISRUPTION_TARGET, status="True", reason="TerminationByKubelet", message=why.message
        )
        grace = HARD_GRACE_SECONDS
        if choice.threshold.grace is not None:
            spec = use.pod.spec.termination_grace_period_seconds
            most = self._deps.config.eviction_max_pod_grace_period
            grace = min(most, spec if spec is not None else most)
        worker.kill(Verdict("Evicted", why.message, condition=condition), grace)

    async def _uses(self, resource: str) -> list[PodUse]:
        """Return the use of the evictable pods; disks are measured only for disk signals."""
        stats = await self._stats()
        uses = []
        for worker in self._evictable():
            pod = worker.record.allocated
            measured = dict(_measured_containers(worker, stats))
            storage: StorageUse | None = StorageUse()
            if resource not in ("memory", "pids"):
                storage = await self._storage_use(pod, _layers(measured))
            uses.append(_pod_use(pod, measured, storage))
        return uses


def _layers(measured: Mapping[str, ContainerStats]) -> dict[str, TreeSize]:
    """Return the writable layers of containers, by name."""
    return {
        name: TreeSize(found.writable_layer_bytes, found.writable_layer_inodes)
        for name, found in measured.items()
    }


def _pod_use(pod: Pod, measured: Mapping[str, ContainerStats], storage: StorageUse | None) -> PodUse:
    """Return a pod with its use; with none of it if its disks cannot be measured."""
    if storage is None:
        return PodUse(pod)
    containers = (
        ContainerUse(
            name,
            found.memory_working_set_bytes,
            storage.containers.get(name, found.writable_layer_bytes),
            found.processes,
            storage.inodes.get(name, 0),
        )
        for name, found in measured.items()
    )
    volumes = sum(storage.volumes.values()) + storage.managed
    return PodUse(pod, tuple(containers), volumes, storage.volume_inodes)


def _measured_containers(
    worker: PodWorker, stats: Mapping[str, ContainerStats]
) -> Iterator[tuple[str, ContainerStats]]:
    """Yield the running containers of a pod whose use is known, by name."""
    for container in worker.record.observed.running:
        if container.id in stats:
            yield container.name, stats[container.id]
