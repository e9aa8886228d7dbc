"""ContainerRecreateRequests beside the API server: deadlines, the pod's readiness, statuses, and ends.

Upstream: ``pkg/controller/containerrecreaterequest``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.clock import seconds_precision
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.pod_readiness import Entry, has_gate, with_entry, without_entry
from podling_kruise.recreate.lifetime_rules import (
    failure_of,
    grace_begun,
    holds_pod,
    is_ended,
    seconds_to_check,
    seconds_to_deletion,
    snapshot_of,
)
from podling_kruise.recreate.types import (
    ACTIVE,
    COMPLETED,
    POD_UID,
    RECREATING,
    UNREADY_ACQUIRED,
    ContainerRecreateRequest,
    RecreateStatus,
)

BY_UID = "pod-uid"


class RecreateController(Controller):
    """One key for each request."""

    name: ClassVar[str] = "containerrecreaterequest-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._requests = context.informers.informer(ContainerRecreateRequest)
        self._requests.add_indexer(BY_UID, _uid_of)
        self._requests.add_handler(self.enqueue, self.enqueue_new)
        self._pods = context.informers.informer(Pod)
        self._pods.add_handler(self._of_pod, self._of_changed_pod, self._of_pod)

    def _of_pod(self, pod: Pod) -> None:
        for request in self._requests.by_index(BY_UID, pod.metadata.uid or ""):
            if not is_ended(request):
                self.enqueue(request)

    def _of_changed_pod(self, old: Pod, new: Pod) -> None:
        before, after = (
            (each.metadata.deletion_timestamp, each.status.container_statuses) for each in (old, new)
        )
        if before != after:
            self._of_pod(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        request = self._requests.get(key)
        if request is None:
            return AwaitChange()
        pod = self._pods.get(Key(key.namespace, request.spec.pod_name))
        step = self._ended if is_ended(request) else self._going
        try:
            return await step(request, pod)
        except ApiError as error:
            if not is_not_found(error):
                raise
        return AwaitChange()  # the request or its pod is gone

    async def _going(self, request: ContainerRecreateRequest, pod: Pod | None) -> RequeueAfter | AwaitChange:
        now = clock.now()
        failure = failure_of(request, pod, now)
        if failure or pod is None:
            ended = codec.to_plain(RecreateStatus(completion_time=seconds_precision(now)))
            await self._write(request, {**ended, "phase": COMPLETED, "message": failure})
            return AwaitChange()
        if request.status.phase == RECREATING:
            snapshot = snapshot_of(request, pod)
            if snapshot != request.status.container_status_snapshot:
                held = RecreateStatus(container_status_snapshot=snapshot)
                await self._write(request, codec.to_plain(held))
            if request.spec.strategy.unready_grace_period_seconds is not None:
                await self._begin_grace(request, pod)
        left = seconds_to_check(request, now)
        return AwaitChange() if left is None else RequeueAfter(left)

    async def _begin_grace(self, request: ContainerRecreateRequest, pod: Pod) -> None:
        """Make the pod not ready, and note when that was. A pod without the gate stays ready."""
        now = clock.now()
        conditions = grace_begun(request, now)
        if conditions == request.status.conditions:
            return
        if has_gate(pod):
            await self._set_finalizer(request, wanted=True)
            await self._hold(pod, _entry(request), held=True)
        await self._write(request, codec.to_plain(RecreateStatus(conditions=conditions)))

    async def _ended(self, request: ContainerRecreateRequest, pod: Pod | None) -> RequeueAfter | AwaitChange:
        metadata = request.metadata
        if holds_pod(request):
            if pod is not None and pod.metadata.deletion_timestamp is None:
                await self._hold(pod, _entry(request), held=False)
            await self._set_finalizer(request, wanted=False)
        if metadata.deletion_timestamp is not None:
            return AwaitChange()
        if ACTIVE in metadata.labels:
            await self._patch(request, {"metadata": {"uid": metadata.uid, "labels": {ACTIVE: None}}})
            return AwaitChange()
        left = seconds_to_deletion(request, clock.now())
        if left is None or left > 0:
            return AwaitChange() if left is None else RequeueAfter(left)
        kind, name = ContainerRecreateRequest, metadata.name or ""
        await self.client.delete(kind, name, metadata.namespace, uid=metadata.uid or "")
        return AwaitChange()

    async def _hold(self, pod: Pod, entry: Entry, *, held: bool) -> None:
        """Hold the pod not ready, or let it go. A conflict is tried again with the newer pod."""
        change = with_entry if held else without_entry
        changed = change(pod, entry, clock.now())
        if changed is not pod:
            await self.client.update(changed, subresource="status")

    async def _set_finalizer(self, request: ContainerRecreateRequest, *, wanted: bool) -> None:
        metadata = request.metadata
        if (UNREADY_ACQUIRED in metadata.finalizers) is wanted:
            return
        others = [each for each in metadata.finalizers if each != UNREADY_ACQUIRED]
        finalizers = [*others, UNREADY_ACQUIRED] if wanted else others
        version = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        await self._patch(request, {"metadata": {**version, "finalizers": finalizers}})

    async def _patch(self, request: ContainerRecreateRequest, patch: dict[str, Any]) -> None:
        metadata = request.metadata
        await self.client.patch(ContainerRecreateRequest, metadata.name or "", patch, metadata.namespace)

    async def _write(self, request: ContainerRecreateRequest, status: dict[str, Any]) -> None:
        metadata = request.metadata
        await self.client.patch(
            ContainerRecreateRequest,
            metadata.name or "",
            {"metadata": {"uid": metadata.uid}, "status": status},
            metadata.namespace,
            subresource="status",
        )


def _uid_of(request: ContainerRecreateRequest) -> tuple[str, ...]:
    return (request.metadata.labels.get(POD_UID, ""),)


def _entry(request: ContainerRecreateRequest) -> Entry:
    key = key_of(request)
    return "ContainerRecreateRequest", f"{key.namespace}/{key.name}"
