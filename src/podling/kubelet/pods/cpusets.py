"""Keeps the CPUs of running containers as assigned: those that share leave the CPUs of others.

Runs whenever assignments change, and in any case once per ``cpuManagerReconcilePeriod``.
Upstream: ``reconcileState`` of ``pkg/kubelet/cm/cpumanager/cpu_manager.go``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from podling import clock
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.labels import POD_UID
from podling.kubelet.topology.container_manager import ContainerManager
from podling.runtime.base import Container, ContainerState, LinuxResources
from podling.runtime.failures import RuntimeFailure

logger = logging.getLogger(__name__)


class CpusetReconciler:
    """Compares the CPUs of all running containers with their assignments.

    Args:
        living: the UIDs of the node's pods.
        knows_pods: returns whether ``living`` is complete.
    """

    def __init__(self, deps: KubeletDeps, living: Collection[str], knows_pods: Callable[[], bool]) -> None:
        self._deps = deps
        self._living = living
        self._knows_pods = knows_pods
        self._assignments: ContainerManager | None = None
        self._wake = asyncio.Event()

    def begin(self, assignments: ContainerManager) -> None:
        """Set the source of the assignments, which itself wakes this reconciler."""
        self._assignments = assignments

    def wake(self) -> None:
        """Compare soon: assignments have changed."""
        self._wake.set()

    async def run(self) -> None:
        """Compare until cancelled."""
        while self._assignments is not None:
            self._wake.clear()
            try:
                await self._reconcile(self._assignments)
            except (RuntimeFailure, OSError) as error:
                logger.warning("the CPUs of containers could not be compared: %s", error)
            await clock.wait_for(self._wake, self._deps.config.cpu_manager_reconcile_period)

    async def _reconcile(self, assignments: ContainerManager) -> None:
        if self._knows_pods():
            for uid in assignments.pods - frozenset(self._living):
                assignments.release(uid)
        await assignments.save()
        for container in await self._deps.runtime.list_containers():
            uid = container.labels.get(POD_UID, "")
            if container.state is ContainerState.RUNNING and uid in self._living:
                await self._update(container, assignments.assigned(uid, container.name).cpus)

    async def _update(self, container: Container, cpus: str) -> None:
        if container.resources is None or cpus in ("", container.resources.cpuset_cpus):
            return
        try:
            await self._deps.runtime.update_resources(container.id, LinuxResources(cpuset_cpus=cpus))
        except RuntimeFailure as error:
            logger.warning("container %s could not be moved to the CPUs %s: %s", container.id, cpus, error)
