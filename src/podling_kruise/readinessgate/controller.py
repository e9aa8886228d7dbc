"""Opens the readiness gate of new pods. Upstream: ``pkg/controller/podreadiness``."""

from __future__ import annotations

from typing import ClassVar

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import unless_gone
from podling_kruise.pod_readiness import needs_condition, with_open_gate


class PodReadinessController(Controller):
    """One key for each pod whose gate has no condition yet."""

    name: ClassVar[str] = "pod-readiness-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.informers.informer(Pod)
        self._pods.add_handler(self._offer, lambda _, pod: self._offer(pod))

    def _offer(self, pod: Pod) -> None:
        if needs_condition(pod):
            self.enqueue(pod)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        pod = self._pods.get(key)
        if pod is not None and needs_condition(pod):
            with unless_gone():
                await self.client.update(with_open_gate(pod, clock.now()), subresource="status")
        return AwaitChange()
