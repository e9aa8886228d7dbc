"""Stops containers of the node's pods, as ContainerRecreateRequests want it. The kubelet starts them again.

Every step is decided from the stored request and from what runs on the node, so a kubelet that is killed in
the middle goes on: a container with another ID than at the creation of the request has been recreated.
Upstream: ``pkg/daemon/containerrecreate``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from podling import clock
from podling.client.base import Key
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, RequeueAfter
from podling.clock import seconds_precision
from podling.kubelet.node_controllers import NodeContext, NodeController, StopFailed
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.recreate.recreate_rules import (
    Containers,
    Step,
    current_states,
    grace_seconds,
    in_turn,
    is_waiting,
    next_step,
    seconds_to_next_success,
    seconds_to_recreation,
    unready_problem,
    with_failure,
    with_mark,
)
from podling_kruise.recreate.types import (
    ACTIVE,
    COMPLETED,
    NODE_NAME,
    PENDING,
    POD_UID,
    RECREATING,
    ContainerRecreateRequest,
    RecreateState,
    RecreateStatus,
)

BY_POD = "pod"


class RecreateNodeController(NodeController):
    """One key for each pod with requests."""

    name: ClassVar[str] = "kruise-daemon-crr"
    workers: ClassVar[int] = 5
    backoff_seconds_max: ClassVar[float] = 50.0

    def __init__(self, context: NodeContext) -> None:
        super().__init__(context)
        self._containers = context.containers
        selector = f"{NODE_NAME}={context.node_name},{ACTIVE}=true"
        self._requests: Informer[ContainerRecreateRequest] = Informer(
            context.client,
            ContainerRecreateRequest,
            label_selector=selector,
            indexers={BY_POD: lambda request: (str(_pod_key(request)),)},
        )
        self._requests.add_handler(self._add, lambda _, new: self._add(new), self._add)

    def _add(self, request: ContainerRecreateRequest) -> None:
        self.queue.add(_pod_key(request))

    def informers(self) -> Iterator[Informer[Any]]:
        yield self._requests

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        waiting = in_turn(self._requests.by_index(BY_POD, str(key)))
        if not waiting:
            return AwaitChange()
        first, *others = waiting
        for each in others:
            if not each.status.phase:
                await self._write(each, {"phase": PENDING})
        request = await self._fresh(first)
        if request is None:
            return AwaitChange()
        if request.status.phase != RECREATING:
            request = await self._write(request, {"phase": RECREATING})
        left = seconds_to_recreation(request, clock.now())
        if left is None:
            return AwaitChange()
        return RequeueAfter(left) if left > 0 else await self._recreate(request)

    async def _fresh(self, request: ContainerRecreateRequest) -> ContainerRecreateRequest | None:
        """Return the request as it is stored: what this controller wrote last decides its next step."""
        metadata = request.metadata
        try:
            found = await self.client.get(ContainerRecreateRequest, metadata.name or "", metadata.namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise
        return found if found.metadata.uid == metadata.uid and is_waiting(found) else None

    async def _recreate(self, request: ContainerRecreateRequest) -> RequeueAfter | AwaitChange:
        problem = unready_problem(request)
        if problem:
            return await self._complete(request, problem)
        containers = await self._containers_of(request)
        states = current_states(request, containers, clock.now())
        if states != request.status.container_recreate_states:
            request = await self._write_states(request, states)
        step = next_step(request, states, containers)
        if step.is_complete:
            return await self._complete(request, "")
        if step.stop:
            await self._stop(request, states, step, containers[step.stop].id)
            return RequeueAfter(0.0)
        if step.states != states:
            request = await self._write_states(request, step.states)
        left = seconds_to_next_success(request, step.states, containers, clock.now())
        return AwaitChange() if left is None else RequeueAfter(left)

    async def _containers_of(self, request: ContainerRecreateRequest) -> Containers:
        uid = request.metadata.labels.get(POD_UID, "")
        return {each.name: each for each in await self._containers.of_pod(uid)}

    async def _stop(
        self,
        request: ContainerRecreateRequest,
        before: Sequence[RecreateState],
        step: Step,
        container_id: str,
    ) -> None:
        """Stop the container of a step, and write the states after it."""
        name, after = step.stop, step.states
        if request.spec.strategy.force_recreate:
            # A new container would be stopped, too, if this controller ended before it could write.
            request = await self._write_states(request, with_mark(before, name))
        message = f"Stopping container {name} by ContainerRecreateRequest {request.metadata.name}"
        uid = request.metadata.labels.get(POD_UID, "")
        grace = grace_seconds(request)
        try:
            await self._containers.stop(uid, container_id, grace_seconds=grace, message=message)
        except StopFailed as error:
            after = with_failure(after, name, error)
        await self._write_states(request, after)

    async def _write_states(
        self, request: ContainerRecreateRequest, states: Sequence[RecreateState]
    ) -> ContainerRecreateRequest:
        held = ContainerRecreateRequest(status=RecreateStatus(container_recreate_states=tuple(states)))
        return await self._write(request, codec.to_plain(held)["status"])

    async def _complete(self, request: ContainerRecreateRequest, message: str) -> RequeueAfter | AwaitChange:
        ended = codec.to_plain(RecreateStatus(completion_time=seconds_precision(clock.now())))
        await self._write(request, {**ended, "phase": COMPLETED, "message": message or None})
        return AwaitChange()

    async def _write(
        self, request: ContainerRecreateRequest, status: dict[str, Any]
    ) -> ContainerRecreateRequest:
        metadata = request.metadata
        return await self.client.patch(
            ContainerRecreateRequest,
            metadata.name or "",
            {"metadata": {"uid": metadata.uid}, "status": status},
            metadata.namespace,
            subresource="status",
        )


def _pod_key(request: ContainerRecreateRequest) -> Key:
    return Key(request.metadata.namespace or "", request.spec.pod_name)
