"""Writing the steps of in-place updates.

Each step is made from the pod as the informer shows it; if another writer was faster, again from the pod as
stored. A controller that ends between two steps finds the pod's own record and its revision, and goes on from
there.
Upstream: ``inplace_update.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, structs

from podling.api.core_v1 import Pod, PodCondition
from podling.client.base import Client, PatchType
from podling.machinery.errors import ApiError, is_conflict
from podling_kruise.common_types import Resources
from podling_kruise.inplace.completion import (
    DONE,
    STARTED,
    closes_gate,
    has_condition,
    unfinished,
    unfinished_containers,
    with_gate,
)
from podling_kruise.inplace.pod_plan import PodStep, has_readiness_gate, next_step, waits_for
from podling_kruise.inplace.update_state import (
    UpdateSpec,
    UpdateState,
    annotated,
    moment_of,
    pending_spec,
    spec_text,
    state_text,
    time_text,
    update_state,
)
from podling_kruise.lifecycle import is_of_revision
from podling_kruise.names import UPDATE_GRACE, UPDATE_STATE

TRIES = 5

Change = Callable[[Pod], Pod]
Marked = Callable[[Pod, str], Pod]


class Refreshed(Struct, frozen=True):
    """The pod after a look at it, and the time after which to look again."""

    pod: Pod
    seconds: float | None = None


class PodUpdates:
    """Updates pods in place. ``marked`` returns a pod with the labels of a revision."""

    def __init__(self, client: Client, marked: Marked) -> None:
        self._client = client
        self._marked = marked

    async def start(self, pod: Pod, spec: UpdateSpec, change: Change, now: datetime) -> Pod:
        """Close the readiness gate, then write the first step, or the record of the grace period.

        Args:
            change: what the workload changes of the pod with the same write.
        """
        if closes_gate(pod, spec):
            pod = await self._retried(pod, lambda held: self._write_condition(held, STARTED, now))
        return await self._retried(pod, lambda held: self._begin(held, spec, change, now))

    async def refresh(self, pod: Pod, now: datetime) -> Refreshed:
        """Bring a pod's update forward, and open its gate when that is done. Raises ``UnreadableRecord``."""
        looked = await self.advance(pod, now)
        return Refreshed(await self.finish(looked.pod, now), looked.seconds)

    async def advance(self, pod: Pod, now: datetime) -> Refreshed:
        """Bring a pod's update forward: end its grace period, or begin its next batch.

        Raises ``UnreadableRecord``.
        """
        if pending_spec(pod) is not None:
            return await self._end_grace(pod, now)
        state = update_state(pod)
        waits = state is None or not state.has_next_batch or unfinished_containers(pod, state)
        if waits or state is None or waits_for(pod, state):
            return Refreshed(pod)
        return Refreshed(await self._retried(pod, lambda held: self._next_batch(held, now)))

    async def finish(self, pod: Pod, now: datetime) -> Pod:
        """Open the readiness gate of a pod whose update is done. Raises ``UnreadableRecord``."""
        if not has_readiness_gate(pod) or has_condition(pod, DONE) or unfinished(pod):
            return pod
        return await self._retried(pod, lambda held: self._open(held, now))

    async def _begin(self, pod: Pod, spec: UpdateSpec, change: Change, now: datetime) -> Pod:
        state = UpdateState(
            revision=spec.revision,
            update_timestamp=time_text(now),
            update_env_from_metadata=spec.update_env_from_metadata,
            update_images=bool(spec.container_images),
            update_resources=bool(spec.container_resources),
        )
        changed = change(self._marked(pod, spec.revision))
        if spec.grace_seconds <= 0:
            step = next_step(annotated(changed, {UPDATE_GRACE: None}), spec, state, now)
            return await self._write(pod, step)
        record = {UPDATE_STATE: state_text(state), UPDATE_GRACE: spec_text(spec)}
        return await self._client.update(annotated(changed, record))

    async def _end_grace(self, pod: Pod, now: datetime) -> Refreshed:
        wait: float | None = None

        async def attempt(held: Pod) -> Pod:
            nonlocal wait
            spec, state = pending_spec(held), update_state(held)
            if spec is None:
                return held
            if state is None or not is_of_revision(held, spec.revision):
                return await self._client.update(annotated(held, {UPDATE_GRACE: None}))
            begun = moment_of(state.update_timestamp) or now
            left = timedelta(seconds=spec.grace_seconds) - (now - begun)
            if left > timedelta(0):
                wait = float(math.ceil(left / timedelta(seconds=1)))
                return held
            step = next_step(annotated(held, {UPDATE_GRACE: None}), spec, state, now)
            return await self._write(held, step)

        return Refreshed(await self._retried(pod, attempt), wait)

    async def _next_batch(self, pod: Pod, now: datetime) -> Pod:
        state = update_state(pod)
        if state is None or not state.has_next_batch:
            return pod
        spec = UpdateSpec(
            container_images=state.next_container_images,
            container_ref_metadata=state.next_container_ref_metadata,
            container_resources=state.next_container_resources,
            update_env_from_metadata=state.update_env_from_metadata,
        )
        return await self._write(pod, next_step(pod, spec, state, now))

    async def _write(self, old: Pod, step: PodStep) -> Pod:
        """Write a step. Resources go through ``pods/resize`` first; the record marks the step as done."""
        wanted = step.pod
        if step.resources:
            resized = await self._resize(old, step.resources)
            metadata = structs.replace(wanted.metadata, resource_version=resized.metadata.resource_version)
            containers = tuple(
                structs.replace(new, resources=now.resources)
                for new, now in zip(wanted.spec.containers, resized.spec.containers, strict=True)
            )
            spec = structs.replace(wanted.spec, containers=containers)
            wanted = structs.replace(wanted, metadata=metadata, spec=spec)
        return await self._client.update(wanted)

    async def _resize(self, pod: Pod, resources: Mapping[str, Resources]) -> Pod:
        containers = [
            {"name": name, "resources": {"limits": own.limits, "requests": own.requests}}
            for name, own in resources.items()
        ]
        patch: dict[str, Any] = {"spec": {"containers": containers}}
        metadata = pod.metadata
        return await self._client.patch(
            Pod,
            metadata.name or "",
            patch,
            metadata.namespace,
            patch_type=PatchType.STRATEGIC,
            subresource="resize",
        )

    async def _write_condition(self, pod: Pod, condition: PodCondition, now: datetime) -> Pod:
        return await self._client.update(with_gate(pod, condition, now), subresource="status")

    async def _open(self, pod: Pod, now: datetime) -> Pod:
        return pod if unfinished(pod) else await self._write_condition(pod, DONE, now)

    async def _retried(self, pod: Pod, attempt: Callable[[Pod], Any]) -> Pod:
        """Return what ``attempt`` makes of the pod; read it anew when another writer was faster."""
        held = pod
        for left in range(TRIES - 1, -1, -1):
            try:
                made: Pod = await attempt(held)
                return made
            except ApiError as error:
                if not is_conflict(error) or not left:
                    raise
            held = await self._client.get(Pod, pod.metadata.name or "", pod.metadata.namespace)
            if held.metadata.uid != pod.metadata.uid:
                return pod  # another pod of this name, which has events of its own
        return held
