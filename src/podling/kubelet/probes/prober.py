"""Probes the running containers of all pods: one task per container and kind of probe.

A task begins when its container is first seen running and ends with it, so results always belong to one
container. Liveness and readiness wait until startup has succeeded, then begin at once. A result that passes
its threshold wakes the pod's worker, which alone decides on the consequences.

A container that ran before this kubelet started keeps its results from its status, so a restart of
the kubelet never makes a ready pod unready. Its first probes are spread over one period.

Over a runtime that reports its changes (``kubelet.rounds``), a probe that succeeded as before is made again
only after a change, or when the container's answers change by themselves: at the time at which the periodic
one would. A probe that takes time is made in each period, as its container may end meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple

from podling import clock, ids
from podling.api.core_v1 import Container, ContainerStatus, Pod, PodStatus
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.lives import note
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import field_path
from podling.kubelet.probes.probe_handlers import Answer, ProbeError, Subject, run_probe
from podling.kubelet.probes.probes import (
    ProbeKind,
    ProbeState,
    Thresholds,
    initial_state,
    is_settled,
    observe,
    probe_of,
    thresholds,
)
from podling.kubelet.rounds import Rounds, reporting_runtime
from podling.kubelet.status.probe_view import ProbeResult, ProbeView
from podling.machinery.pods import is_sidecar
from podling.runtime.base import Container as Observed
from podling.runtime.base import ContainerState
from podling.runtime.changes import Changes
from podling.runtime.failures import NotFound, RuntimeFailure
from podling.supervisor import Supervisor

TRIES = 3
"""The number of attempts to make a probe before this round is skipped."""
INSTANT_SECONDS = 1e-6
"""The seconds by which the times of a probe's begin and end may differ though it takes no time."""


class ProbeLabels(NamedTuple):
    """The labels of Kubernetes' metric ``prober_probe_total``."""

    probe_type: str
    result: str
    """``successful``, ``failed`` or ``unknown``."""
    container: str
    pod: str
    namespace: str
    pod_uid: str


@dataclass(eq=False, slots=True)
class _Watched:
    """One container under probes."""

    pod: Pod
    container: Container
    container_id: str
    pod_ip: str
    started_at: datetime
    adopted: bool
    states: dict[ProbeKind, ProbeState] = field(default_factory=dict)
    tasks: dict[ProbeKind, asyncio.Task[None]] = field(default_factory=dict)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    found_exited: set[ProbeKind] = field(default_factory=set)
    """Kinds of probe that met an exited container; the runtime reports the exit separately."""


class Prober:
    """All probes of one node."""

    def __init__(self, deps: KubeletDeps) -> None:
        self._deps = deps
        self._runtime = deps.runtime
        self._reporting = reporting_runtime(deps)
        self._recorder = deps.recorder
        self._supervisor = Supervisor()
        self._pods: dict[str, dict[str, _Watched]] = {}
        self._counts: dict[str, Counter[ProbeLabels]] = {}
        self._began: datetime | None = None

    def begin(self, now: datetime) -> None:
        """Set the kubelet's start: containers that ran before keep their old results."""
        self._began = now

    def follow(self, pod: Pod, observed: PodObservation, before: PodStatus, wake: Callable[[], None]) -> None:
        """Probe exactly the pod's running containers; called whenever the pod was observed."""
        uid = pod.metadata.uid or ""
        watched = self._pods.setdefault(uid, {})
        running = {found.id: found for found in observed.running}
        for container_id in [found for found in watched if found not in running]:
            _cancel(watched.pop(container_id))
        spec = {c.name: c for c in (*pod.spec.init_containers, *pod.spec.containers)}
        for found in running.values():
            container = spec.get(found.name)
            if found.id in watched:
                watched[found.id].pod = pod
            elif container is not None and _has_probes(container):
                ips = observed.sandbox.ips if observed.sandbox is not None else ()
                if pod.spec.host_network and before.host_ip:
                    ips = (before.host_ip,)
                watched[found.id] = self._start(pod, container, found, ips, before, wake)

    def _start(
        self,
        pod: Pod,
        container: Container,
        found: Observed,
        ips: tuple[str, ...],
        before: PodStatus,
        wake: Callable[[], None],
    ) -> _Watched:
        started_at = found.started_at or clock.now()
        old = _status_of(before, found)
        # A container in the reported status was probed before, even if it started as this kubelet did.
        began = self._began
        adopted = began is not None and (started_at < began or (started_at == began and old is not None))
        watched = _Watched(pod, container, found.id, ips[0] if ips else "", started_at, adopted)
        old = old if adopted else None
        for kind in ProbeKind:
            if probe_of(container, kind) is None:
                continue
            watched.states[kind] = initial_state(kind, _carried_verdict(kind, old))
            if not watched.states[kind].resting:
                work = partial(self._probe, watched, kind, wake)
                subject = f"{pod.metadata.namespace}/{pod.metadata.name}/{container.name}"
                watched.tasks[kind] = self._supervisor.keep_running("kubelet/probe", work, subject)
        startup = watched.states.get(ProbeKind.STARTUP)
        if startup is None or startup.result is ProbeResult.SUCCESS:
            watched.started.set()
        return watched

    async def _probe(self, watched: _Watched, kind: ProbeKind, wake: Callable[[], None]) -> None:
        """Probe one container until the verdict is final or the task is cancelled."""
        probe = probe_of(watched.container, kind)
        if probe is None:
            return
        numbers = thresholds(probe)
        if watched.adopted:
            await clock.sleep(ids.uniform(0, numbers.period))
        if kind is not ProbeKind.STARTUP:
            await watched.started.wait()
        age = (clock.now() - watched.started_at).total_seconds()  # negative after the clock was set back
        await clock.sleep(numbers.initial_delay - max(0.0, age))
        rounds = Rounds(numbers.period, self._deps, Changes())
        due = clock.monotonic()
        with rounds.follow():
            while True:
                answer = await self._probe_once(watched, kind, numbers.timeout)
                self._count(watched, kind, answer)
                if answer is not None:
                    self._take_in(watched, kind, numbers, answer, wake)
                if watched.states[kind].resting:
                    return
                is_instant = clock.monotonic() - due < INSTANT_SECONDS
                repeats = answer is not None and is_instant and is_settled(watched.states[kind])
                if self._reporting is not None and repeats:
                    await rounds.next(within=self._reporting.seconds_to_next_answer(watched.container_id))
                    due = clock.monotonic()
                else:
                    due = max(due + numbers.period, clock.monotonic())
                    await clock.sleep(due - clock.monotonic())

    def _take_in(
        self,
        watched: _Watched,
        kind: ProbeKind,
        numbers: Thresholds,
        answer: Answer,
        wake: Callable[[], None],
    ) -> None:
        """Count an answer, and let the pod's worker know of another verdict."""
        before = watched.states[kind]
        found = ProbeResult.SUCCESS if answer.success else ProbeResult.FAILURE
        after = watched.states[kind] = observe(before, numbers, found)
        if after.result is before.result:
            return
        self._note(watched, kind, after.result)
        if kind is ProbeKind.STARTUP and after.result is ProbeResult.SUCCESS:
            watched.started.set()
        wake()

    async def _probe_once(self, watched: _Watched, kind: ProbeKind, timeout_seconds: float) -> Answer | None:
        """Return one answer, None if the probe could not be made; record an event unless it is a success."""
        probe = probe_of(watched.container, kind)
        if probe is None:
            return None
        subject = Subject(watched.container, watched.container_id, watched.pod_ip)
        failure = ""
        for _ in range(TRIES):
            try:
                answer = await run_probe(self._runtime, subject, probe, timeout_seconds)
            except ProbeError as error:
                failure = str(error)
                continue
            if not answer.success and await self._just_ended(watched, kind):
                return None
            if answer.warning:
                self._warn(watched, "ProbeWarning", f"{kind.value} probe warning: {answer.output}")
            elif not answer.success:
                self._warn(watched, "Unhealthy", f"{kind.value} probe failed: {answer.output}")
            return answer
        if await self._just_ended(watched, kind):
            return None
        text = f"{kind.value} probe errored and resulted in unknown state: {failure}"
        self._warn(watched, "Unhealthy", text)
        return None

    async def _just_ended(self, watched: _Watched, kind: ProbeKind) -> bool:
        """Return whether the container ended during the probe or just before, so the failure has no meaning.

        That holds for one answer. If the runtime still lists the container as running at the next probe, the
        listing is wrong, and the probe counts.
        """
        if kind in watched.found_exited:
            return False
        try:
            found = await self._runtime.container_status(watched.container_id)
        except NotFound:
            pass
        except RuntimeFailure:
            return False
        else:
            if found.state is ContainerState.RUNNING:
                return False
        watched.found_exited.add(kind)
        return True

    def _count(self, watched: _Watched, kind: ProbeKind, answer: Answer | None) -> None:
        metadata = watched.pod.metadata
        uid, result = metadata.uid or "", "unknown"
        if answer is not None:
            result = "successful" if answer.success else "failed"
        name, namespace = metadata.name or "", metadata.namespace or ""
        labels = ProbeLabels(kind.value, result, watched.container.name, name, namespace, uid)
        self._counts.setdefault(uid, Counter())[labels] += 1

    def counts(self) -> Iterator[tuple[ProbeLabels, int]]:
        """Return the number of probes of the present pods, by labels."""
        for counts in self._counts.values():
            yield from counts.items()

    def _note(self, watched: _Watched, kind: ProbeKind, verdict: ProbeResult) -> None:
        name, text = watched.container.name, verdict.name.capitalize()
        note(self._recorder, watched.pod, "probe", kind.value.lower(), container=name, text=text)

    def _warn(self, watched: _Watched, reason: str, message: str) -> None:
        path = field_path(watched.pod.spec, watched.container.name)
        self._recorder.event(watched.pod, "Warning", reason, message, field_path=path)

    def view(self, uid: str) -> ProbeView:
        """Return the pod's results."""
        results: dict[ProbeKind, dict[str, ProbeResult]] = {kind: {} for kind in ProbeKind}
        for container_id, watched in self._pods.get(uid, {}).items():
            for kind, state in watched.states.items():
                results[kind][container_id] = state.result
        return ProbeView(
            startup=results[ProbeKind.STARTUP],
            liveness=results[ProbeKind.LIVENESS],
            readiness=results[ProbeKind.READINESS],
        )

    def begin_termination(self, pod: Pod) -> None:
        """Stop killing the regular containers of a terminating pod for failed probes.

        Readiness probes continue, and sidecars keep all their probes, for they work until the end.
        """
        lasting = {c.name for c in pod.spec.init_containers if is_sidecar(c)}
        for watched in self._pods.get(pod.metadata.uid or "", {}).values():
            if watched.container.name in lasting:
                continue
            for kind in (ProbeKind.LIVENESS, ProbeKind.STARTUP):
                task = watched.tasks.pop(kind, None)
                if task is not None:
                    task.cancel()
                    watched.states[kind] = initial_state(kind, ProbeResult.SUCCESS)

    def forget(self, uid: str) -> None:
        """Stop the probes of a pod whose containers are gone."""
        self._counts.pop(uid, None)
        for watched in self._pods.pop(uid, {}).values():
            _cancel(watched)

    async def close(self) -> None:
        await self._supervisor.close()
        self._supervisor = Supervisor()
        self._pods.clear()


def _cancel(watched: _Watched) -> None:
    for task in watched.tasks.values():
        task.cancel()


def _has_probes(container: Container) -> bool:
    return any(probe_of(container, kind) is not None for kind in ProbeKind)


def _status_of(status: PodStatus, found: Observed) -> ContainerStatus | None:
    """Return the status that was reported of exactly this container, if any."""
    held: Iterable[ContainerStatus] = (*status.container_statuses, *status.init_container_statuses)
    return next((item for item in held if (item.container_id or "").endswith(f"://{found.id}")), None)


def _carried_verdict(kind: ProbeKind, old: ContainerStatus | None) -> ProbeResult | None:
    if old is None:
        return None
    if kind is ProbeKind.STARTUP:
        return ProbeResult.SUCCESS if old.started else None
    if kind is ProbeKind.READINESS:
        return ProbeResult.SUCCESS if old.ready else None
    return None
