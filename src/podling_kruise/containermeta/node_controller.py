"""Records the running containers of workloads' pods, and restarts those with an old environment.

Only pods whose containers read labels or annotations are recorded. Every step follows from the stored pod and
from what runs, so a kubelet that ends in the middle goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from podling.api.core_v1 import Pod
from podling.client.base import Key, key_of
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.owner_references import controller_of
from podling.controllers.workloads.pod_control import together
from podling.kubelet.node_controllers import NodeContainer, NodeContext, NodeController
from podling.machinery.errors import unless_gone
from podling_kruise.inplace.runtime_containers import (
    reads_metadata,
    records_of,
    records_text,
    stale_containers,
)
from podling_kruise.names import GROUP, RUNTIME_CONTAINERS_META
from podling_kruise.sidecarset.annotations import SET_HASH

DELAY_SECONDS = 1.0
"""Time after a change of a pod in which the kubelet sees it, too."""
GRACE_SECONDS = 30


class ContainerMetaNodeController(NodeController):
    """One key for each pod of a workload that has variables from metadata."""

    name: ClassVar[str] = "kruise-daemon-containermeta"
    workers: ClassVar[int] = 5
    backoff_seconds_max: ClassVar[float] = 50.0

    def __init__(self, context: NodeContext) -> None:
        super().__init__(context)
        self._containers = context.containers
        self._pods: Informer[Pod] = Informer(
            context.client, Pod, field_selector=f"spec.nodeName={context.node_name}"
        )
        self._pods.add_handler(self._offer, lambda _, new: self._offer(new))

    def _offer(self, pod: Pod) -> None:
        if is_recorded(pod):
            self.queue.add_after(key_of(pod), DELAY_SECONDS)

    def informers(self) -> Iterator[Informer[Any]]:
        yield self._pods

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        pod = self._pods.get(key)
        if pod is None or not is_recorded(pod):
            return AwaitChange()
        found = await self._containers.of_pod(pod.metadata.uid or "")
        text = records_text(records_of(pod, found))
        if text != pod.metadata.annotations.get(RUNTIME_CONTAINERS_META):
            await self._record(pod, text)
        failure = await together([self._stop(pod, each) for each in stale_containers(pod, found)])
        if failure is not None:
            raise failure
        return AwaitChange()

    async def _record(self, pod: Pod, text: str) -> None:
        metadata = pod.metadata
        patch = {"metadata": {"uid": metadata.uid, "annotations": {RUNTIME_CONTAINERS_META: text}}}
        with unless_gone():
            await self.client.patch(Pod, metadata.name or "", patch, metadata.namespace, subresource="status")

    async def _stop(self, pod: Pod, container: NodeContainer) -> None:
        grace = pod.spec.termination_grace_period_seconds
        message = f"Stopping containerID {container.id} by container meta restarter"
        await self._containers.stop(
            pod.metadata.uid or "",
            container.id,
            grace_seconds=GRACE_SECONDS if grace is None else grace,
            message=message,
        )


def is_recorded(pod: Pod) -> bool:
    """Return whether the pod's containers are recorded: it is a workload's, or has sidecars."""
    if pod.metadata.deletion_timestamp is not None or not pod.status.container_statuses:
        return False
    owner = controller_of(pod)
    is_ours = owner is not None and owner.api_version.partition("/")[0] == GROUP
    return (is_ours or SET_HASH in pod.metadata.annotations) and reads_metadata(pod)
