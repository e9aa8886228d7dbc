"""Carries out the resize of one pod: grants it, updates the containers, and reports conditions and events.

A resize that is not granted is tried again every three minutes, and whenever another pod's end may have
freed resources. One that cannot be applied now (memory use above the new limit) is retried.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import Container, Pod, PodCondition
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.observation import PodObservation
from podling.kubelet.pods.resize import (
    DEFERRED,
    INFEASIBLE,
    PERIODIC,
    RESOURCES,
    Allocation,
    Pending,
    ResizePlan,
    Update,
    allocation_from_status,
    desired_resources,
    part_of,
    plan_resize,
    with_allocation,
)
from podling.kubelet.resources import pod_resources
from podling.kubelet.status import conditions as rules
from podling.kubelet.swap import NodeMemory
from podling.machinery.conditions import find
from podling.machinery.quantity import value
from podling.runtime.base import LinuxResources, UpdatesSandboxes
from podling.runtime.failures import RuntimeFailure

RETRY = timedelta(minutes=3)


class Resize(Struct, frozen=True):
    """The progress of one pod's resize. ``error`` says why the grant could not be applied yet."""

    allocation: Allocation
    pending: Pending | None = None
    in_progress: bool = False
    error: str = ""
    generation: int = 0
    """The generation of the spec that was granted."""
    before: Allocation = {}
    """The allocation before this one: it is in effect until the API has the new one."""

    @classmethod
    def from_pod(cls, pod: Pod) -> Resize:
        """Return the progress that an earlier kubelet reported."""
        progress = find(pod.status.conditions, rules.POD_RESIZE_IN_PROGRESS)
        pending = find(pod.status.conditions, rules.POD_RESIZE_PENDING)
        return cls(
            allocation_from_status(pod),
            pending=Pending(pending.reason, pending.message) if pending is not None else None,
            in_progress=progress is not None and progress.status == "True",
            error=progress.message if progress is not None else "",
            generation=progress.observed_generation if progress is not None else 0,
        )

    def granted(self, pod: Pod) -> Pod:
        return with_allocation(pod, self.allocation)

    def in_effect(self, pod: Pod) -> Pod:
        """Return the pod with the resources that its containers are to have now.

        A grant is in effect once ``pod``, as the API has it, shows it: else a kubelet that restarts would
        not know of it, and containers could keep resources that are not allocated to them.
        """
        return with_allocation(pod, self.allocation if self.is_reported(pod) else self.before)

    def is_reported(self, pod: Pod) -> bool:
        """Return whether the status of ``pod`` shows the grant."""
        shown = find(pod.status.conditions, rules.POD_RESIZE_IN_PROGRESS)
        return not self.in_progress or (shown is not None and shown.observed_generation == self.generation)

    def conditions(self) -> tuple[PodCondition, ...]:
        """Return the pod's conditions about the resize."""
        conditions = []
        if self.pending is not None:
            conditions.append(
                PodCondition(
                    type=rules.POD_RESIZE_PENDING,
                    status="True",
                    reason=self.pending.reason,
                    message=self.pending.message,
                )
            )
        if self.in_progress:
            conditions.append(
                PodCondition(
                    type=rules.POD_RESIZE_IN_PROGRESS,
                    status="True",
                    reason="Error" if self.error else "",
                    message=self.error,
                    observed_generation=self.generation,
                )
            )
        return tuple(conditions)

    def retry_at(self, now: datetime) -> datetime | None:
        """Return the time of the next try for a deferred resize."""
        return now + RETRY if self.pending is not None and self.pending.reason == DEFERRED else None


class Resizer:
    """Resizes the pods of one node."""

    def __init__(self, deps: KubeletDeps, metrics: KubeletMetrics) -> None:
        self._deps = deps
        self._metrics = metrics

    def grant(self, pod: Pod, resize: Resize, refusal: Pending | None, trigger: str = PERIODIC) -> Resize:
        """Grant a change of the spec, unless ``refusal`` says why the node does not grant it.

        ``trigger`` is what has led to this try.
        """
        if desired_resources(pod.spec) == resize.allocation:
            return replace(resize, pending=None)
        if refusal is not None:
            known = resize.pending
            if known is None or (known.reason, known.message) != (refusal.reason, refusal.message):
                text = resize_message(refusal.reason, pod, pod.metadata.generation, refusal.message)
                self._record_event(pod, "Warning", f"Resize{refusal.reason}", text)
                if refusal.reason == INFEASIBLE:
                    self._metrics.infeasible_resizes[refusal.detail] += 1
            return replace(resize, pending=refusal)
        if resize.pending is not None and resize.pending.reason == DEFERRED:
            self._metrics.deferred_accepted[trigger] += 1
        generation = pod.metadata.generation
        self._record_event(pod, "Normal", "ResizeStarted", resize_message("started", pod, generation))
        before = resize.allocation if resize.is_reported(pod) else resize.before
        return Resize(desired_resources(pod.spec), in_progress=True, generation=generation, before=before)

    def plan(self, pod: Pod, observed: PodObservation, node: NodeMemory) -> ResizePlan:
        return plan_resize(pod, observed, self._deps.config, node)

    async def carry_out(self, pod: Pod, observed: PodObservation, resize: Resize, node: NodeMemory) -> Resize:
        """Apply the granted resources to the running containers. ``pod`` is the pod as granted."""
        plan = self.plan(pod, observed, node)
        start = clock.monotonic()
        try:
            await self._update(pod, observed, plan)
        except RuntimeFailure as error:
            self._metrics.resize_milliseconds.observe("false", (clock.monotonic() - start) * 1000)
            if str(error) != resize.error:
                text = resize_message("error", pod, resize.generation, str(error))
                self._record_event(pod, "Warning", "ResizeError", text)
            return replace(resize, in_progress=True, error=str(error))
        self._metrics.resize_milliseconds.observe("true", (clock.monotonic() - start) * 1000)
        if plan.restart:
            return replace(resize, error="")
        text = resize_message("completed", pod, resize.generation)
        self._record_event(pod, "Normal", "ResizeCompleted", text)
        return replace(resize, in_progress=False, error="")

    async def _update(self, pod: Pod, observed: PodObservation, plan: ResizePlan) -> None:
        """Update for each resource the containers that shrink, then the pod, then the containers that grow.

        A pod's limit never is below those of its containers: version 1 of cgroups refuses such a quota. The
        pod shrinks after the restarts of containers that shrink by them, and grows before.
        """
        target = pod_resources(pod.spec, self._deps.config)
        shrinks = pod_memory_shrinks(pod, target, plan)
        await self._check_memory(plan.updates, observed, target.memory_limit if shrinks else None)
        for resource in RESOURCES:
            updates = [update for update in plan.updates if update.resource == resource]
            await self._update_containers(update for update in updates if not update.grows)
            if resource not in plan.shrink_by_restart:
                await self._update_pod(observed, part_of(target, resource))
            await self._update_containers(update for update in updates if update.grows)

    async def _update_containers(self, updates: Iterable[Update]) -> None:
        for update in updates:
            await self._deps.runtime.update_resources(update.container_id, update.resources)

    async def _update_pod(self, observed: PodObservation, limits: LinuxResources) -> None:
        runtime = self._deps.runtime
        if observed.sandbox is not None and isinstance(runtime, UpdatesSandboxes):
            await runtime.update_sandbox_resources(observed.sandbox.id, limits)

    async def _check_memory(
        self, updates: tuple[Update, ...], observed: PodObservation, pod_limit: int | None
    ) -> None:
        """Raise if a new memory limit is not above the use: setting it would kill a container."""
        shrinking = {u.container_id: u for u in updates if u.memory_limit is not None}
        if not shrinking and pod_limit is None:
            return
        own = {container.id for container in observed.running}
        stats = [found for found in await self._deps.runtime.stats() if found.container_id in own]
        used = sum(found.memory_bytes for found in stats)
        if pod_limit is not None and used >= pod_limit:
            raise RuntimeFailure(
                f"attempting to set pod memory limit ({pod_limit}) below current usage ({used})"
            )
        for found in stats:
            update = shrinking.get(found.container_id)
            limit = update.memory_limit if update is not None else None
            if limit is not None and found.memory_bytes >= limit:
                raise RuntimeFailure(
                    f"attempting to set container memory limit ({limit}) below current usage "
                    f"({found.memory_bytes})"
                )

    def _record_event(self, pod: Pod, type_: str, reason: str, message: str) -> None:
        self._deps.recorder.event(pod, type_, reason, message)


def pod_memory_shrinks(pod: Pod, target: LinuxResources, plan: ResizePlan) -> bool:
    """Return whether the memory limit of the pod as a whole may shrink now; use includes the page cache."""
    if target.memory_limit is None or "memory" in plan.shrink_by_restart:
        return False
    if any(update.memory_limit is not None for update in plan.updates):
        return True
    shown = pod.status.resources.limits.get("memory") if pod.status.resources is not None else None
    return shown is not None and target.memory_limit < value(shown)


def resize_message(what: str, pod: Pod, generation: int, error: str = "") -> str:
    """Return the text of an event about a resize to the resources of ``pod`` (``podResizeMessage``)."""
    summary = {
        "initContainers": [_own(container) for container in pod.spec.init_containers],
        "containers": [_own(container) for container in pod.spec.containers],
        "generation": generation,
        "error": error,
    }
    given = {key: value for key, value in summary.items() if value or key == "generation"}
    return f"Pod resize {what}: {msgspec.json.encode(given).decode()}"


def _own(container: Container) -> dict[str, object]:
    return {"name": container.name, "resources": msgspec.to_builtins(container.resources)}
