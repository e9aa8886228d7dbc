"""One pod's worker: the task that takes it from its first sync to the removal of its last traces.

The worker is woken when something may have changed (the pod, its containers, a probe, the end of a delay)
and then makes one pass: observe the runtime, decide the status, plan, carry out, observe again. When the
pod is to end, or to end sooner, a running pass is cancelled and another one made. Passes of one pod never
overlap, so nothing here needs a lock.

A pass that fails is repeated 10 to 15 s later. A pass without anything to do writes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from podling import clock, ids
from podling.api.core_v1 import Pod
from podling.client.base import Unreachable
from podling.kubelet.pods.actions import PodPlan, plan_pod
from podling.kubelet.pods.active_deadline import active_until, deadline_verdict
from podling.kubelet.pods.admission import Waiting, refusal_text
from podling.kubelet.pods.cleanup import (
    has_dead,
    release_resources,
    remove_dead,
    remove_everything,
)
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.pods.pod_record import PodRecord
from podling.kubelet.pods.pod_sync import Pass, PodSync, error_retry
from podling.kubelet.pods.resize import PODS_ADDED, PODS_REMOVED
from podling.kubelet.pods.worker_state import (
    Demand,
    Finished,
    State,
    Syncing,
    Terminated,
    Terminating,
    advance,
    remaining,
)
from podling.kubelet.reference_watches import VOLUMES
from podling.kubelet.status.phase import TERMINAL_PHASES
from podling.kubelet.status.status import Verdict, rejected_status
from podling.kubelet.volumes.volume_manager import shows_metadata
from podling.machinery.errors import ApiError
from podling.machinery.pod_references import Reference
from podling.machinery.pods import is_terminal
from podling.runtime.failures import RuntimeFailure

logger = logging.getLogger(__name__)

CLEAN_AFTER = timedelta(seconds=1)
"""The delay before ended containers are removed: removal must not hold up news of those just started."""


class PodWorker:
    """Manages one pod. ``run`` ends when the pod is gone from the API and from the node.

    Args:
        resumed: the pod was terminating already when this kubelet first saw it.
    """

    def __init__(
        self, pod: Pod, services: PodServices, done: Callable[[PodWorker], None], *, resumed: bool = False
    ) -> None:
        self.record = PodRecord(pod, services)
        self.uid = self.record.uid
        self.state: State = Syncing()
        self._services = services
        self._done = done
        self._resumed = resumed
        self._demand = Demand()
        self._sync = PodSync(services)
        self._wake = asyncio.Event()
        self._wake.set()
        self._ended = asyncio.Event()
        self.leaves = asyncio.Event()
        """Set once the pod is to end: its worker kills what runs."""
        self._pass: asyncio.Task[None] | None = None
        self._due: datetime | None = None
        """The time of the next pass without an event, as all times here on the steady clock."""
        self._refresh_at: datetime | None = None
        """The time of the next comparison of volumes with their sources; None: none is planned."""
        self._has_refreshed = False
        self._clean_at: datetime | None = None
        """The time when ended containers are removed; None if there are none to remove."""
        self._sources_changed = False
        """True if a source of the volumes has changed since they were last compared."""
        self._ending_since: datetime | None = None
        """The moment when the end was first demanded, from which its grace period counts."""
        self._shown: tuple[Mapping[str, str], Mapping[str, str]] | None = None
        self.admitted = False
        """True once the node has admitted the pod: it counts against the node's resources."""
        self._was_admitted = pod.status.start_time is not None
        """True if an earlier kubelet admitted the pod: it reported the start."""
        self.waits_for_preemption = False
        """True while preempted pods end: the pod is admitted after them."""
        self._rejected = False

    # Notifications.

    def update(self, pod: Pod) -> None:
        """Take in the pod's new object from the API."""
        self.record.pod = pod
        if self._pass is not None and self._sync.pulls_in_vain(pod):
            self._pass.cancel()
        self._apply_demand()

    def removed(self) -> None:
        """Take in that the pod is gone from the API."""
        self._demand = replace(self._demand, gone=True)
        self._apply_demand()

    @property
    def is_gone(self) -> bool:
        """Return whether the pod is gone from the API: its worker ends, even if the pod comes back."""
        return self._demand.gone

    @property
    def holds_resources(self) -> bool:
        """Return whether the pod was admitted and still counts against the node's resources.

        A pod that was deleted by force does not: the API may have bound another in its place already. Nor
        does one whose containers have ended, while its volumes are still in use.
        """
        if isinstance(self.state, Terminated | Finished) or self._rejected or self._demand.gone:
            return False
        if is_terminal(self.record.pod):
            return False
        return self.admitted or self._was_admitted or not isinstance(self.state, Syncing)

    @property
    def may_hold_resources(self) -> bool:
        """Return whether the pod holds resources, or is not decided about yet.

        After a restart the runtime may have containers of a pod that has no status yet.
        """
        return self.holds_resources or (self.record.verdict is None and isinstance(self.state, Syncing))

    def kill(self, verdict: Verdict, grace_override: int | None = None) -> None:
        """End the pod by the kubelet's decision (eviction, shutdown, preemption)."""
        self.record.verdict = verdict
        self._demand = replace(self._demand, verdict=verdict, grace_override=grace_override)
        self._apply_demand()

    async def ended(self, seconds: float | None) -> None:
        """Wait until no container runs and everything is released, at most ``seconds``."""
        await clock.wait_for(self._ended, seconds)

    def wake(self) -> None:
        """Make another pass: something may have changed."""
        self._wake.set()

    def reference_changed(self, use: str, reference: Reference) -> None:
        """Make another pass, which compares the volumes with their sources if they use what changed."""
        if use == VOLUMES:
            self._sources_changed = True
            self._services.volumes.note_change(self.record.pod, reference)
        self._wake.set()

    def report_probe(self) -> None:
        """Report a probe's new verdict at once, also while a pass (or the termination) takes long."""
        ending = isinstance(self.state, Terminating) and not (self.state.gone or self._rejected)
        if self._pass is not None and (ending or isinstance(self.state, Syncing)):
            self.record.decide_status(soon=True)
        self._wake.set()

    def _apply_demand(self) -> None:
        """Make another pass, and cancel a running one that the new demands supersede."""
        wanted = advance(self.state, self.record.pod, self._demand, clock.steady_now())
        if not isinstance(wanted, Syncing):
            self.leaves.set()
        if _supersedes(wanted, self.state):
            if self._ending_since is None:
                self._ending_since = clock.steady_now()
            if self._pass is not None:
                self._pass.cancel()
        self._wake.set()

    # Phases.

    async def run(self) -> None:
        """Manage the pod until it is gone. Cancelling leaves its containers untouched."""
        self._wake.set()
        while not (isinstance(self.state, Finished) and self.state.gone):
            await clock.wait_for(self._wake, self._seconds_to_wait())
            self._wake.clear()
            since = self._ending_since or clock.steady_now()
            self.state = advance(self.state, self.record.pod, self._demand, since, resumed=self._resumed)
            if not isinstance(self.state, Syncing):
                self.leaves.set()
            self._resumed = False
            await self._attempt()
        self._services.prober.forget(self.uid)
        self._done(self)

    def _seconds_to_wait(self) -> float | None:
        if self._due is None:
            return None
        return max(0.0, (self._due - clock.steady_now()).total_seconds())

    async def _attempt(self) -> None:
        """Make one pass; schedule another after a failure."""
        self._due = None
        task = self._pass = asyncio.create_task(self._step())
        try:
            await asyncio.wait([task])
        except BaseException:
            # Two passes of one pod must never run at once, even if this wait is interrupted.
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            self._pass = None
        if task.cancelled():
            self._wake.set()
            return
        error = task.exception()
        if error is None:
            return
        expected = isinstance(error, RuntimeFailure | ApiError | Unreachable | OSError)
        # An internal error in one pod must not stop the node's other pods: log it, and retry.
        logger.log(
            logging.WARNING if expected else logging.ERROR,
            "pod %s/%s: %s",
            self.record.pod.metadata.namespace,
            self.record.pod.metadata.name,
            error,
            exc_info=None if expected else error,
        )
        if isinstance(self.state, Terminating):
            text = f"error killing pod: {error}"
            self.record.record_event("Warning", "FailedKillPod", text)
        self._due = error_retry(clock.steady_now())

    async def _step(self) -> None:
        state = self.state
        if isinstance(state, Syncing):
            await self._sync_pod()
        elif isinstance(state, Terminating):
            await self._terminate(state)
        elif isinstance(state, Terminated):
            await self._clean_up(state)
        else:
            await self._after_end(state)

    # Running.

    async def _sync_pod(self) -> None:
        memory = self.record.memory
        await self._observe()
        now, steady = clock.now(), clock.steady_now()
        verdict = self._find_verdict(now)
        if verdict is not None:
            self.record.verdict = verdict
            self._demand = replace(self._demand, verdict=verdict)
            self._wake.set()
            return
        if self.waits_for_preemption:
            return
        memory.retry_at = None
        pod = self.record.grant()
        observed, resizes = self.record.observed, self.record.resizes
        resized = frozenset(self.record.resize_plan(pod).restart if resizes else ())
        probes = self._services.prober.view(self.uid)
        plan = plan_pod(pod, observed, memory.backoff.view(pod), now, probes, resized)
        self._sync.note(plan, pod, memory)
        # The verdict above and this status belong to one moment: a deadline passes for both or for none.
        status = self.record.decide_status(now, soon=True)
        if status.phase in TERMINAL_PHASES or (plan.kill_pod and not plan.create_sandbox):
            # Nothing is left to start: remaining containers (sidecars) end with the pod.
            self._demand = replace(self._demand, over=True)
            self._wake.set()
            return
        if resized:
            # The pod grows before its containers do.
            await self.record.carry_out_resize(pod)
        current = Pass(pod, observed, status, memory, self._report_progress)
        due = self._volumes_are_due(steady)
        if not plan.idle or plan.held:
            is_first = not self._has_refreshed
            await self._carry_out(plan, current)
            if is_first:
                self._plan_refresh()
            elif due:
                await self._refresh_volumes(current)
        else:
            ready = memory.volumes_ready
            if due:
                await self._refresh_volumes(current)
            if memory.volumes_ready == ready:
                # Nothing changed: the status decided above is final for this pass.
                self._services.statuses.flush(self.uid)
            else:
                self.record.decide_status()
        if resizes:
            await self.record.carry_out_resize(pod)
            self.record.decide_status()
        await self._clean(current.pod, steady)
        self._schedule(plan.wake_at, now, steady)

    async def _refresh_volumes(self, current: Pass) -> None:
        self._sources_changed = False
        await self._sync.set_up_volumes(current, refresh=True)
        self._plan_refresh()

    def _plan_refresh(self) -> None:
        """Schedule the next refresh of volumes: after the sync period, or when a failed one is due again."""
        frequency, now = self._services.deps.config.sync_frequency, clock.steady_now()
        wanted = self._services.volumes.refresh_at(self.uid, now, ids.uniform(frequency, 1.5 * frequency))
        if wanted is not None:
            wanted = max(wanted, now + timedelta(seconds=frequency))
        repeated = self._services.volumes.retry_at(self.uid)
        self._has_refreshed = True
        self._refresh_at = min((at for at in (wanted, repeated) if at is not None), default=None)

    async def _carry_out(self, plan: PodPlan, current: Pass) -> None:
        """Apply the plan, and report the result."""
        again = await self._sync.apply(plan, current)
        await self._observe()
        status = self.record.decide_status()
        if again or status.phase in TERMINAL_PHASES:
            self._wake.set()

    async def _clean(self, pod: Pod, now: datetime) -> None:
        """Remove ended containers a moment after their successors started."""
        if not has_dead(self.record.observed):
            self._clean_at = None
        elif self._clean_at is None:
            self._clean_at = now + CLEAN_AFTER
        elif now >= self._clean_at:
            self._clean_at = None
            await remove_dead(self._services, pod, self.record.observed)

    def _find_verdict(self, now: datetime) -> Verdict | None:
        """Return why the pod must not run on, if there is a reason."""
        if not self.admitted:
            if not self.record.observed.sandboxes and not self.record.status.start_time:
                rejection = self._services.admit(self.record.pod)
                self.waits_for_preemption = isinstance(rejection, Waiting)
                if isinstance(rejection, Waiting):
                    return None
                if rejection is not None:
                    self._reject(rejection, now)
                    return rejection
            else:
                self._adopt()
                self._services.resources_changed(PODS_ADDED)
            self.admitted = True
            # Containers of an earlier kubelet imply that the volumes are set up.
            self.record.memory.volumes_ready = bool(self.record.observed.containers)
        verdict = deadline_verdict(self.record.pod, self.record.status, now)
        if verdict is not None:
            self.record.record_event("Normal", verdict.reason, verdict.message)
        return verdict

    def _adopt(self) -> None:
        """Keep the CPUs and memory that an earlier kubelet assigned to the pod's containers."""
        running = {
            found.name: found.resources.cpuset_cpus
            for found in self.record.observed.running
            if found.resources is not None
        }
        pod = self.record.resize.granted(self.record.pod)
        self._services.assignments.adopt(pod, running)

    def _reject(self, rejection: Verdict, now: datetime) -> None:
        self._rejected = True
        self.record.record_event("Warning", rejection.reason, refusal_text(rejection))
        status = rejected_status(self.record.pod, self.record.pod.status, rejection, now)
        self._services.statuses.decide(self.record.pod, status, may_run=False)

    def _volumes_are_due(self, now: datetime) -> bool:
        """Return whether volumes are missing, or their sources may have changed."""
        labels, annotations = self.record.pod.metadata.labels, self.record.pod.metadata.annotations
        shown, self._shown = self._shown, (labels, annotations)
        at = self._refresh_at
        due = not self._has_refreshed or (at is not None and now >= at) or self._sources_changed
        changed = shown not in (None, self._shown) and shows_metadata(self.record.pod.spec)
        return due or not self.record.memory.volumes_ready or changed

    def _schedule(self, wake_at: datetime | None, now: datetime, steady: datetime) -> None:
        """Schedule the next pass without an event. ``now`` and ``steady`` are the same moment.

        Moments of the pod's status are on the wall clock, which may be set; the wait for them is not.
        """
        until = active_until(self.record.pod, self.record.status)
        shown = (steady + (moment - now) for moment in (wake_at, until) if moment is not None)
        deferred = self.record.resize.retry_at(steady)
        own = (self._refresh_at, self.record.memory.retry_at, deferred, self._clean_at)
        self._due = min((*shown, *(moment for moment in own if moment is not None)), default=None)

    async def _report_progress(self) -> None:
        """Report the state during a long pass."""
        await self._observe()
        self.record.decide_status(soon=True)

    # Terminating.

    async def _terminate(self, state: Terminating) -> None:
        services, pod = self._services, self.record.pod
        await self._observe()
        if pod.status.phase in TERMINAL_PHASES and not self.record.observed.running:
            # It had ended before this kubelet started: its final status is in the API already.
            await services.killer.kill_pod(pod, self.record.observed)
            self.state = Terminated(state.gone)
            self._wake.set()
            return
        silent = state.gone or self._rejected
        if not silent:
            self.record.decide_status(soon=True)
        services.prober.begin_termination(pod)
        await services.killer.kill_pod(pod, self.record.observed, remaining(state, clock.steady_now()))
        services.prober.forget(self.uid)
        await self._observe()
        if self.record.observed.running:
            names = ", ".join(found.name for found in self.record.observed.running)
            raise RuntimeFailure(f"containers still run after they were killed: {names}")
        if not silent:
            self.record.decide_status(ended=True)
        self.state = Terminated(state.gone)
        self._services.resources_changed(PODS_REMOVED)
        self._wake.set()

    async def _clean_up(self, state: Terminated) -> None:
        await release_resources(self._services, self.uid)
        self._services.statuses.allow_removal(self.uid)
        self.state = Finished(state.gone)
        self._ended.set()
        self._services.resources_changed(PODS_REMOVED)
        self._wake.set()

    async def _after_end(self, state: Finished) -> None:
        if state.gone or self.record.pod.metadata.deletion_timestamp is not None:
            await remove_everything(self._services, self.record.pod)
            return
        await self._observe()
        if self.record.observed.running:
            # The runtime failed to list them while the pod ended.
            await self._services.killer.kill_pod(self.record.pod, self.record.observed)
            await self._observe()

    async def _observe(self) -> None:
        await self.record.observe()
        if isinstance(self.state, Syncing):
            self.record.follow_probes(self.report_probe)


def _supersedes(wanted: State, current: State) -> bool:
    """Return whether ``wanted`` cancels a pass made for ``current``."""
    if isinstance(current, Terminating) and isinstance(wanted, Terminating):
        return wanted.grace < current.grace
    return isinstance(current, Syncing) and isinstance(wanted, Terminating)
