"""Adds the keys of barriers, for which the containers of pods with launch priorities wait.

Upstream: ``container_launch_priority_controller.go``.
"""

from __future__ import annotations

from typing import ClassVar

from podling.api.core_v1 import ConfigMap, Pod
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import ApiError, is_already_exists, is_not_found, unless_gone
from podling_kruise.launchpriority.barrier import PRESENT, barrier_name, needs_barrier, next_step
from podling_kruise.names import LAUNCH_COMPLETED


class LaunchPriorityController(Controller):
    """One key for each pod with launch priorities whose containers are not all ready."""

    name: ClassVar[str] = "container-launch-priority-controller"
    workers: ClassVar[int] = 4

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.informers.informer(Pod)
        self._pods.add_handler(self._offer, lambda _, pod: self._offer(pod))

    def _offer(self, pod: Pod) -> None:
        if needs_barrier(pod):
            self.enqueue(pod)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None or not needs_barrier(pod):
            return AwaitChange()
        barrier = await self._barrier(pod)
        step = next_step(pod, barrier.data)
        with unless_gone():
            if step.key:
                data = {"data": {step.key: PRESENT}}
                await self.client.patch(ConfigMap, barrier.metadata.name or "", data, key.namespace)
            if step.is_last:
                note = {"uid": pod.metadata.uid, "annotations": {LAUNCH_COMPLETED: PRESENT}}
                await self.client.patch(Pod, key.name, {"metadata": note}, key.namespace)
        return AwaitChange()

    async def _barrier(self, pod: Pod) -> ConfigMap:
        """Return the pod's barrier, which goes with the pod."""
        metadata = pod.metadata
        name = barrier_name(metadata.name or "")
        try:
            return await self.client.get(ConfigMap, name, metadata.namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise
        owner = OwnerReference(api_version="v1", kind="Pod", name=metadata.name or "", uid=metadata.uid or "")
        made = ObjectMeta(name=name, namespace=metadata.namespace, owner_references=(owner,))
        try:
            return await self.client.create(ConfigMap(metadata=made))
        except ApiError as error:
            if not is_already_exists(error):
                raise
        return await self.client.get(ConfigMap, name, metadata.namespace)
