"""Containers of the node's pods, for controllers of extensions: ``node_controllers.PodContainers``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from podling.kubelet.containers.init_actions import KillReason
from podling.kubelet.containers.termination import Order
from podling.kubelet.labels import CONTAINER_HASH, METADATA_ENVIRONMENT
from podling.kubelet.node_controllers import NodeContainer, StopFailed
from podling.kubelet.observation import PodObservation
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.pods.worker import PodWorker
from podling.kubelet.pods.worker_state import Syncing
from podling.runtime.base import Container as Observed
from podling.runtime.base import ContainerState
from podling.runtime.failures import RuntimeFailure


class WorkerContainers:
    """``PodContainers`` over the kubelet's workers.

    A container is stopped beside the passes of the pod's worker: one that waits for a hook or an image must
    not delay it. The worker sees the end, and starts the container. When the pod is to end, its worker takes
    over: it kills all containers within the pod's own grace period.
    """

    def __init__(self, services: PodServices, worker: Callable[[str], PodWorker | None]) -> None:
        self._services = services
        self._worker = worker

    async def of_pod(self, uid: str) -> Sequence[NodeContainer]:
        observed = await self._observe(uid)
        names = dict.fromkeys(each.name for each in observed.containers)
        newest = [found for name in names if (found := observed.newest(name)) is not None]
        return tuple(self._shown(each) for each in newest)

    async def stop(self, uid: str, container_id: str, *, grace_seconds: float, message: str) -> None:
        worker = self._worker(uid)
        if worker is None or not isinstance(worker.state, Syncing):
            raise StopFailed(f"pod {uid} does not run on this node")
        observed = await self._observe(uid)
        running = [each for each in observed.running if self._name_of(each) == container_id]
        if not running:
            return
        orders = [Order(running[0], KillReason.POD, message)]
        pod = worker.record.pod
        killing = asyncio.create_task(self._services.killer.kill(pod, orders, observed, grace_seconds))
        leaving = asyncio.create_task(worker.leaves.wait())
        try:
            await asyncio.wait([killing, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not killing.done():
                raise StopFailed(f"pod {uid} is to end")
            failure = killing.exception()
            if failure is not None:
                raise StopFailed(str(failure)) from failure
        finally:
            for task in (killing, leaving):
                task.cancel()
            await asyncio.gather(killing, leaving, return_exceptions=True)
            worker.wake()

    async def _observe(self, uid: str) -> PodObservation:
        try:
            return await self._services.observer.observe(uid)
        except RuntimeFailure as error:
            raise StopFailed(str(error)) from error

    def _name_of(self, found: Observed) -> str:
        return f"{self._services.deps.runtime.name}://{found.id}"

    def _shown(self, found: Observed) -> NodeContainer:
        return NodeContainer(
            name=found.name,
            id=self._name_of(found),
            is_running=found.state is ContainerState.RUNNING,
            has_exited=found.state is ContainerState.EXITED,
            restart_count=found.attempt,
            started_at=found.started_at,
            image=found.image,
            definition_hash=int(found.annotations.get(CONTAINER_HASH, "0"), 16),
            metadata_environment=_metadata_environment(found),
        )


def _metadata_environment(found: Observed) -> dict[str, str]:
    text = found.annotations.get(METADATA_ENVIRONMENT)
    return msgspec.json.decode(text, type=dict[str, str]) if text else {}
