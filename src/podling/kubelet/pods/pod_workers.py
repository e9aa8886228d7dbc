"""The node's pods and their workers: their sources, their admission, and preemption for critical pods.

Pods come from two sources: the API server, and files (static pods). The API's mirrors of static pods have
no worker; they only receive the status. A pod of the API is identified by its UID, so a new pod of the
same name has its own worker while the old one is still terminating.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node, Pod, PodSpec
from podling.client.base import Key, key_of
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.machine import Machine
from podling.kubelet.node.node_pressure import pressure_refusal
from podling.kubelet.pods.admission import Occupant, Waiting, admit, occupant
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.pods.preemption import PREEMPTED, Candidate, victims
from podling.kubelet.pods.resize import (
    DEFERRED,
    POD_UPDATED,
    Pending,
    desired_resources,
    resize_operations,
    resize_refusal,
)
from podling.kubelet.pods.static_pods import SEEN_ANNOTATION
from podling.kubelet.pods.worker import PodWorker
from podling.kubelet.pods.worker_state import Syncing
from podling.kubelet.shutdown.shutdown_plan import REJECTED
from podling.kubelet.status.conditions import POD_RESIZE_IN_PROGRESS
from podling.kubelet.status.status import Verdict
from podling.machinery.conditions import find
from podling.machinery.pod_references import Reference
from podling.machinery.pods import (
    MIRROR_ANNOTATION,
    SOURCE_ANNOTATION,
    is_critical,
    is_mirror,
    is_static,
)
from podling.runtime.changes import Changes
from podling.supervisor import Supervisor

PREEMPTION_GRACE_SECONDS = 0


class PodWorkers(Mapping[str, PodWorker]):
    """The workers of one node, by pod UID.

    Args:
        node: returns the node as it is now.
        pressures: returns the node's pressure conditions.
        shutting_down: returns whether the node shuts down.
        changed: is called when the resources that the pods hold may have changed.
        changes: notes that a worker has come or gone.
    """

    def __init__(
        self,
        config: KubeletConfig,
        machine: Machine,
        node: Callable[[], Node],
        pressures: Callable[[], frozenset[str]],
        shutting_down: Callable[[], bool],
        changed: Callable[[], None] = lambda: None,
        changes: Changes | None = None,
    ) -> None:
        self._config = config
        self._machine = machine
        self._node = node
        self._pressures = pressures
        self._shutting_down = shutting_down
        self._changed = changed
        self._changes = changes or Changes()
        self._workers: dict[str, PodWorker] = {}
        self._supervisor = Supervisor()
        self._services: PodServices | None = None
        self.static: Mapping[str, Pod] = {}
        """The static pods that the node is to run, by UID."""
        self._mirrors: dict[Key, Pod] = {}
        self._returned: dict[str, Pod] = {}
        """The pods that were gone from the API and are in it again, while their workers still end them."""

    def begin(self, services: PodServices) -> None:
        """Set the services of all workers made from now on."""
        self._services = services

    def __getitem__(self, uid: str) -> PodWorker:
        return self._workers[uid]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._workers))

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def _bound(self) -> PodServices:
        if self._services is None:
            raise RuntimeError("the workers have nothing to work with yet")
        return self._services

    async def close(self) -> None:
        """Stop the workers; containers run on."""
        self.static = {}
        await self._supervisor.close()
        self._supervisor = Supervisor()
        self._workers.clear()
        self._returned.clear()

    # From the API server.

    def added(self, pod: Pod) -> None:
        if is_mirror(pod):
            self._mirrors[key_of(pod)] = pod
            self._match_mirror(key_of(pod))
            return
        self._bound.statuses.update_pod(pod)
        pod = with_source(pod)
        uid = pod.metadata.uid or ""
        worker = self._workers.get(uid)
        if worker is None:
            self._start(pod, resumed=pod.metadata.deletion_timestamp is not None)
        elif worker.is_gone:
            self._returned[uid] = pod
        else:
            worker.update(pod)

    def updated(self, old: Pod, new: Pod) -> None:
        worker = self._workers.get(new.metadata.uid or "")
        if is_mirror(new) or worker is None or worker.is_gone:
            self.added(new)
            return
        self._bound.statuses.update_pod(new)
        self._count_resizes(worker, old, new)
        if concerns_worker(old, new):
            worker.update(with_source(new))
        else:
            worker.record.pod = with_source(new)

    def _count_resizes(self, worker: PodWorker, old: Pod, new: Pod) -> None:
        before, after = desired_resources(old.spec), desired_resources(new.spec)
        if before != after:
            worker.record.retry_trigger = POD_UPDATED
            self._bound.metrics.requested_resizes.update(resize_operations(before, after))

    def removed(self, pod: Pod) -> None:
        if is_mirror(pod):
            self._mirrors.pop(key_of(pod), None)
            return
        uid = pod.metadata.uid or ""
        self._returned.pop(uid, None)
        self._bound.statuses.forget(uid)
        worker = self._workers.get(uid)
        if worker is not None:
            worker.removed()

    def reference_changed(self, uid: str, use: str, reference: Reference) -> None:
        """Make a pass over the pod: a ConfigMap or Secret that it uses has come, changed or gone."""
        worker = self._workers.get(uid)
        if worker is not None:
            worker.reference_changed(use, reference)

    def _match_mirror(self, key: Key) -> None:
        """Let the mirror pod of this name receive the status of the static pod that it mirrors.

        The name counts as well as the hash: any client that may create pods can write any hash.
        """
        mirror = self._mirrors.get(key)
        if mirror is None:
            return
        uid = mirror.metadata.annotations[MIRROR_ANNOTATION]
        worker = self._workers.get(uid)
        if worker is not None and is_static(worker.record.pod) and key_of(worker.record.pod) == key:
            self._bound.statuses.update_mirror(uid, mirror)

    # From files.

    def set_static(self, pods: Mapping[str, Pod]) -> None:
        """Run these static pods; those that are not among them end with their grace period."""
        self.static = pods
        for uid, worker in list(self._workers.items()):
            pod = worker.record.pod
            if not is_static(pod) or pod.metadata.deletion_timestamp is not None:
                continue
            if uid not in pods:
                self._end_static(worker)
                continue
            changed = _with_manifest(pod, pods[uid])
            if concerns_worker(pod, changed):
                worker.update(changed)
        self._start_static()

    def _start_static(self) -> None:
        """Start the static pods that do not run, each after the last one of its name has ended."""
        running = {_full_name(worker.record.pod) for worker in self._workers.values()}
        for uid, pod in self.static.items():
            if uid not in self._workers and _full_name(pod) not in running:
                self._start(pod, resumed=False)
                self._match_mirror(key_of(pod))

    def _end_static(self, worker: PodWorker) -> None:
        pod = worker.record.pod
        grace = pod.spec.termination_grace_period_seconds
        metadata = structs.replace(
            pod.metadata, deletion_timestamp=clock.now(), deletion_grace_period_seconds=grace
        )
        worker.update(structs.replace(pod, metadata=metadata))
        self._supervisor.keep_running("kubelet/static-pod", partial(_remove_ended, worker), worker.uid)

    # Workers.

    def _start(self, pod: Pod, *, resumed: bool) -> None:
        uid = pod.metadata.uid or ""
        worker = PodWorker(pod, self._bound, self._drop_worker, resumed=resumed)
        self._workers[uid] = worker
        self._changes.note()
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        self._supervisor.keep_running("kubelet/pod", worker.run, name)

    def _drop_worker(self, worker: PodWorker) -> None:
        self._workers.pop(worker.uid, None)
        self._changes.note()
        self._changed()
        self._bound.statuses.forget(worker.uid)
        if is_static(worker.record.pod):
            self._start_static()
        if worker.uid in self._returned:
            self.added(self._returned.pop(worker.uid))
        if worker.uid in self._workers:
            self._bound.metrics.restarted_pods[is_static(worker.record.pod)] += 1

    # Resources.

    def admit(self, pod: Pod) -> Verdict | Waiting | None:
        """Return None if the node admits ``pod``, else the reason, or that preempted pods must end first."""
        verdict = self._decide(pod)
        if verdict is None:
            self._changed()
        return verdict

    def _refuse(self, pod: Pod, others: Sequence[Occupant]) -> Verdict | None:
        """Return None if the node admits ``pod`` beside ``others`` as it is now, else the reason."""
        if self._shutting_down():
            return REJECTED
        pressed = pressure_refusal(pod, self._pressures())
        if pressed:
            return Verdict("Evicted", f"Pod was rejected: {pressed}")
        return admit(pod, self._node(), others, self._config, self._machine)

    def _decide(self, pod: Pod) -> Verdict | Waiting | None:
        verdict = self._refuse(pod, self._others(pod))
        if verdict is None:
            refusal = self._bound.assignments.admit(pod)
            return Verdict(refusal.reason, f"Pod was rejected: {refusal}") if refusal is not None else None
        return Waiting() if self._preempt(pod, verdict) else verdict

    def _preempt(self, pod: Pod, verdict: Verdict) -> bool:
        """Preempt pods for a critical pod that lacks resources; return whether that frees enough."""
        if not verdict.reason.startswith("OutOf") or not is_critical(pod):
            return False
        workers = [w for w in self._workers.values() if w.uid != pod.metadata.uid and w.holds_resources]
        candidates = [Candidate(worker.record.pod, worker.record.occupant) for worker in workers]
        chosen = victims(occupant(pod), self._node(), candidates)
        for victim in chosen:
            worker = self._workers[victim.metadata.uid or ""]
            if isinstance(worker.state, Syncing):
                self._bound.metrics.preemptions[verdict.reason.removeprefix("OutOf")] += 1
                worker.record.record_event("Warning", PREEMPTED.reason, PREEMPTED.message)
                worker.kill(PREEMPTED, PREEMPTION_GRACE_SECONDS)
        return bool(chosen)

    def refuse_resize(self, pod: Pod) -> Pending | None:
        """Return None if the node grants the resources that ``pod`` now wants, else the reason.

        Deferred resizes that come before it have the first claim on what is free. A critical pod preempts
        others for its resize too, which waits for their end.
        """
        worker = self._workers[pod.metadata.uid or ""]
        order = worker.record.resize_order()
        claims = {uid: each.record.occupant for uid, each in self._workers.items() if each.may_hold_resources}
        deferred = [each for each in self._workers.values() if each.record.resize_deferred]
        ahead = [each for each in deferred if each is not worker and each.record.resize_order() < order]
        for each in sorted(ahead, key=lambda each: each.record.resize_order()):
            if self._refusal(each, claims) is None:
                claims[each.uid] = occupant(each.record.pod)
        refusal = self._refusal(worker, claims)
        if refusal is not None and refusal.reason == DEFERRED:
            verdict = self._refuse(worker.record.pod, self._others(pod))
            if verdict is not None:
                self._preempt(worker.record.pod, verdict)
        return refusal

    def _refusal(self, worker: PodWorker, claims: Mapping[str, Occupant]) -> Pending | None:
        others = [claim for uid, claim in claims.items() if uid != worker.uid]
        pod, allocation = worker.record.pod, worker.record.resize.allocation
        return resize_refusal(pod, allocation, self._node(), self._config, self._refuse(pod, others))

    def _others(self, pod: Pod) -> list[Occupant]:
        workers = self._workers.values()
        return [w.record.occupant for w in workers if w.uid != pod.metadata.uid and w.holds_resources]

    def granted_specs(self) -> list[PodSpec]:
        """Return the pods that hold resources, with the resources granted to them."""
        workers = [worker for worker in self._workers.values() if worker.holds_resources]
        return [worker.record.resize.granted(worker.record.pod).spec for worker in workers]

    def resources_changed(self, trigger: str) -> None:
        """Wake the pods that wait for resources, deferred resizes in their order: some may be free now."""
        self._changed()
        for worker in self._workers.values():
            if worker.waits_for_preemption:
                worker.wake()
        waiting = [worker for worker in self._workers.values() if worker.record.resize_deferred]
        for worker in sorted(waiting, key=lambda worker: worker.record.resize_order()):
            worker.record.retry_trigger = trigger
            worker.wake()


async def _remove_ended(worker: PodWorker) -> None:
    """Mark a static pod as removed once it has ended: the API server has no object to delete."""
    await worker.ended(None)
    worker.removed()


def with_source(pod: Pod) -> Pod:
    """Return a pod of the API that cannot pass for a static one, regardless of its annotations.

    Kubernetes writes the source of every pod (``pkg/kubelet/config/config.go``): static pods are critical,
    and tolerate every NoExecute taint.
    """
    if pod.metadata.annotations.get(SOURCE_ANNOTATION, "api") == "api":
        return pod
    annotations = {**pod.metadata.annotations, SOURCE_ANNOTATION: "api"}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, annotations=annotations))


def concerns_worker(old: Pod, new: Pod) -> bool:
    """Return whether a change is more than the kubelet's own status update.

    A worker waits for its own report of a resize.
    """
    if old.spec != new.spec or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp:
        return True
    before, after = old.metadata, new.metadata
    if (
        before.deletion_grace_period_seconds != after.deletion_grace_period_seconds
        or before.labels != after.labels
        or before.annotations != after.annotations
        or before.generation != after.generation
    ):
        return True
    if _resize_of(old) != _resize_of(new):
        return True
    gates = {gate.condition_type for gate in new.spec.readiness_gates}
    if gates:
        return _gated(old, gates) != _gated(new, gates)
    return old.status.phase != new.status.phase


def _resize_of(pod: Pod) -> int | None:
    """Return the generation to which the pod is resized, according to its status; None: it is not."""
    found = find(pod.status.conditions, POD_RESIZE_IN_PROGRESS)
    return found.observed_generation if found is not None else None


def _with_manifest(pod: Pod, manifest: Pod) -> Pod:
    """Return a static pod changed by a manifest with the same UID (``checkAndUpdatePod``)."""
    annotations = dict(manifest.metadata.annotations)
    annotations[SEEN_ANNOTATION] = pod.metadata.annotations[SEEN_ANNOTATION]
    metadata = structs.replace(pod.metadata, labels=manifest.metadata.labels, annotations=annotations)
    return structs.replace(pod, metadata=metadata, spec=manifest.spec)


def _full_name(pod: Pod) -> tuple[bool, str | None, str | None]:
    """Return the name by which static pods replace one another, apart from the API's pods."""
    return is_static(pod), pod.metadata.namespace, pod.metadata.name


def _gated(pod: Pod, gates: set[str]) -> dict[str, str]:
    return {found.type: found.status for found in pod.status.conditions if found.type in gates}
