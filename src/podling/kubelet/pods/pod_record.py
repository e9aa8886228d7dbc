"""The state of one pod that its worker keeps: object, observation, memory and resources.

Observing the runtime, granting resources and deciding the status belong together here, so that the
worker only steps through the phases. Nothing here decides what to do with the pod.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Pod, PodSpec, PodStatus
from podling.kubelet.backoff import BackoffTable
from podling.kubelet.containers.termination_messages import termination_message
from podling.kubelet.lives import note_changes
from podling.kubelet.observation import PodObservation
from podling.kubelet.pods.active_deadline import deadline_verdict
from podling.kubelet.pods.admission import occupant
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.pods.pod_sync import error_retry
from podling.kubelet.pods.resize import (
    DEFERRED,
    PERIODIC,
    POD_RESIZED,
    ResizePlan,
    desired_resources,
    retry_order,
)
from podling.kubelet.pods.resizer import Resize
from podling.kubelet.status.conditions import POD_RESIZE_PENDING, READY_TO_START_GATE
from podling.kubelet.status.container_statuses import ContainerFacts
from podling.kubelet.status.pod_sizes import PodSizes, pod_sizes
from podling.kubelet.status.status import PodFacts, Verdict, pod_status
from podling.kubelet.status.status_merge import terminated_status
from podling.kubelet.status.worker_memory import PodMemory
from podling.kubelet.swap import NodeMemory
from podling.machinery.conditions import find
from podling.machinery.feature_gates import is_enabled
from podling.machinery.pods import qos_class
from podling.runtime.base import ContainerState


class PodRecord:
    """State of one pod. ``pod`` is the API's object, ``observed`` the newest observation of the runtime."""

    def __init__(self, pod: Pod, services: PodServices) -> None:
        self.pod = pod
        self.uid = pod.metadata.uid or ""
        self.observed = PodObservation(self.uid)
        self.memory = PodMemory(BackoffTable(services.backoff))
        self.resize = Resize.from_pod(pod)
        self.occupant = occupant(self.resize.granted(pod))
        """The pod's claim on its node: what was granted to it."""
        self.retry_trigger = PERIODIC
        """The cause of the next try of a deferred resize."""
        self.verdict: Verdict | None = None
        """The kubelet's own decision against the pod: rejected, evicted, past its deadline."""
        self._services = services
        self._sizes = (pod.spec, pod_sizes(pod.spec, services.deps.config))

    @property
    def status(self) -> PodStatus:
        """Return the newest status decided, or the API's."""
        return self._services.statuses.status(self.uid) or self.pod.status

    async def observe(self) -> None:
        """Observe the runtime, and read termination messages. Raises ``RuntimeFailure``."""
        self.observed = observed = await self._services.observer.observe(self.uid)
        self.memory.observe(observed)
        for container in observed.containers:
            if container.state is ContainerState.EXITED and container.id not in self.memory.messages:
                spec = self.pod.spec
                count = len(spec.containers) + len(spec.init_containers) + len(spec.ephemeral_containers)
                message = await termination_message(self._services.deps.runtime, container, count)
                self.memory.messages[container.id] = message

    def follow_probes(self, wake: Callable[[], None]) -> None:
        """Probe the containers that run now."""
        self._services.prober.follow(self.pod, self.observed, self.status, wake)

    def decide_status(
        self, now: datetime | None = None, *, soon: bool = False, ended: bool = False
    ) -> PodStatus:
        """Decide the status and pass it to the status manager. ``ended``: no container runs any more.

        ``now`` is the present if not given.

        The last status of an evicted pod follows from how its containers ended (``SyncTerminatingPod``): one
        whose containers all ended well has succeeded. That of a pod past its deadline is Failed regardless.
        """
        services, memory = self._services, self.memory
        pod = self.resize.granted(self.pod)
        left, now = self.resize_plan(pod), now or clock.now()
        facts = PodFacts(
            containers=ContainerFacts(
                prefix=services.deps.runtime.name,
                waiting=memory.waiting,
                messages=memory.messages,
                restarting_all=memory.restarting_all,
                stale=frozenset((*left.restart, *(update.name for update in left.updates))),
            ),
            host_ips=services.node().host_ips,
            terminal=ended,
            volumes_ready=memory.volumes_ready,
            verdict=(None if ended else self.verdict) or deadline_verdict(pod, self.status, now),
            sizes=self._sizes_of(pod.spec),
            resize=self.resize.conditions(),
            pending_images=tuple(sorted(memory.pending_images.intersection(memory.waiting))),
            shows_ready_to_start=is_enabled(READY_TO_START_GATE, services.deps.config.feature_gates),
        )
        probes = services.prober.view(self.uid)
        status = pod_status(pod, self.observed, probes, self.status, facts, now)
        if ended:
            status = terminated_status(pod, status)
        note_changes(services.deps.recorder, pod, self.status, status)
        services.statuses.decide(pod, status, may_run=not ended, soon=soon)
        return status

    # Resources.

    def _sizes_of(self, granted: PodSpec) -> PodSizes:
        known, sizes = self._sizes
        if granted is not known:
            sizes = sizes if granted == known else pod_sizes(granted, self._services.deps.config)
            self._sizes = (granted, sizes)
        return sizes

    @property
    def allocated(self) -> Pod:
        """Return the pod with the resources that were allocated to it, and the newest status."""
        return structs.replace(self.resize.granted(self.pod), status=self.status)

    def grant(self) -> Pod:
        """Grant a changed spec, or not; return the pod with the resources in effect."""
        pod = self.pod
        if desired_resources(pod.spec) != self.resize.allocation:
            refusal = self._services.refuse_resize(pod)
            self.resize = self._services.resizer.grant(pod, self.resize, refusal, self.retry_trigger)
            self.retry_trigger = PERIODIC
        elif self.resize.pending is not None:
            self.resize = self._services.resizer.grant(pod, self.resize, None)
        granted = self.resize.granted(pod)
        taken = occupant(granted)
        if taken != self.occupant:
            self.occupant = taken
            self._services.resources_changed(POD_RESIZED)
        return self.resize.in_effect(pod)

    @property
    def resizes(self) -> bool:
        """Return whether granted resources are to be applied now."""
        return self.resize.in_progress and self.resize.is_reported(self.pod)

    def resize_plan(self, granted: Pod) -> ResizePlan:
        """Return the remaining steps of a resize in progress."""
        if not self.resize.in_progress:
            return ResizePlan()
        return self._services.resizer.plan(granted, self.observed, self._node_memory)

    async def carry_out_resize(self, granted: Pod) -> None:
        """Apply the granted resources to the running containers."""
        resizer = self._services.resizer
        self.resize = await resizer.carry_out(granted, self.observed, self.resize, self._node_memory)
        if self.resize.error:
            self.memory.retry(error_retry(clock.steady_now()))
        await self.observe()

    @property
    def resize_deferred(self) -> bool:
        """Return whether a resize waits for free resources."""
        pending = self.resize.pending
        return pending is not None and pending.reason == DEFERRED

    def resize_order(self) -> tuple[bool, int, bool, bool, datetime | None]:
        """Return the sort key of the pod among those whose resize is deferred."""
        pending = find(self.status.conditions, POD_RESIZE_PENDING)
        since = pending.last_transition_time if pending is not None else None
        return retry_order(self.pod, self.resize.allocation, qos_class(self.pod.spec), since)

    @property
    def _node_memory(self) -> NodeMemory:
        return self._services.node().memory

    def record_event(self, type_: str, reason: str, message: str) -> None:
        """Record an event about the pod."""
        self._services.deps.recorder.event(self.pod, type_, reason, message)
