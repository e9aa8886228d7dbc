"""Evicting pods from nodes whose NoExecute taints they do not put up with.

Flow: a change of a node's NoExecute taints, or of a pod's node or tolerations, makes the pod's fate be
decided again. A pod that does not tolerate every taint goes at once; one that tolerates them for a time
goes when the shortest of its tolerations runs out; one that tolerates them for ever stays.

A deadline, once set, stands until the pod is out of danger: neither a second taint nor the first being
swapped for another moves it, nor the end of the Node object. Upstream: ``pkg/controller/tainteviction``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar, assert_never

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Node, ObjectReference, Pod, Taint
from podling.client.base import Key, key_of
from podling.client.events import EventRecorder
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.nodes.pod_disruption import disrupted, end_pod
from podling.controllers.nodes.taints import NO_EXECUTE, least_toleration_seconds, matching_tolerations
from podling.controllers.pod_index import BY_NODE, index_pods_by_node
from podling.machinery.histograms import Histogram, counters, histograms
from podling.machinery.moments import shifted

REASON = "DeletionByTaintManager"
MESSAGE = "Taint manager: deleting due to NoExecute taint"
DELETION_SECONDS = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)


class Stay(Struct, frozen=True):
    """The pod may stay; a deadline it had is void."""


class Leave(Struct, frozen=True):
    """The pod must be gone at ``at``."""

    at: datetime


Fate = Stay | Leave


def decide(pod: Pod, taints: tuple[Taint, ...], deadline: datetime | None, now: datetime) -> Fate:
    """Return the decision about a pod on a node with these NoExecute taints.

    Args:
        deadline: set before, or None.
    """
    if not taints:
        return Stay()
    used = matching_tolerations(taints, pod.spec.tolerations)
    if used is None:
        return Leave(now)
    seconds = least_toleration_seconds(used)
    if seconds is None:
        return Stay()
    return Leave(deadline if deadline is not None else shifted(now, seconds))


def no_execute(node: Node | None) -> tuple[Taint, ...]:
    """Return the node's taints that evict; none for a node that is gone."""
    return tuple(taint for taint in node.spec.taints if taint.effect == NO_EXECUTE) if node else ()


class TaintEvictionController(Controller):
    """The keys are pods."""

    name: ClassVar[str] = "taint-eviction-controller"
    workers: ClassVar[int] = 8

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder: EventRecorder = context.recorder("taint-eviction-controller")
        self._nodes = context.informers.informer(Node)
        self._pods = context.informers.informer(Pod)
        index_pods_by_node(self._pods)
        self._deadlines: dict[Key, tuple[str, datetime]] = {}  # with the pod's UID
        self._deletions = Histogram(DELETION_SECONDS)
        self._nodes.add_handler(self._node_added, self._node_changed)
        self._pods.add_handler(self._pod_added, self._pod_changed, self._pod_gone)

    def _node_added(self, node: Node) -> None:
        if no_execute(node):
            self._enqueue_pods(node)

    def _node_changed(self, old: Node, new: Node) -> None:
        if no_execute(old) != no_execute(new):
            self._enqueue_pods(new)

    def _enqueue_pods(self, node: Node) -> None:
        for pod in self._pods.by_index(BY_NODE, node.metadata.name or ""):
            self.enqueue(pod)

    def _pod_added(self, pod: Pod) -> None:
        if no_execute(self._nodes.get(Key("", pod.spec.node_name or ""))):
            self.enqueue(pod)

    def _pod_changed(self, old: Pod, new: Pod) -> None:
        if old.spec.node_name != new.spec.node_name or old.spec.tolerations != new.spec.tolerations:
            self.enqueue(new)

    def _pod_gone(self, pod: Pod) -> None:
        if key_of(pod) in self._deadlines:
            self.enqueue(pod)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        pod, now = self._pods.get(key), clock.steady_now()
        known = self._deadlines.get(key)
        if known is not None and (pod is None or pod.metadata.uid != known[0]):
            self._cancel(key)
            known = None
        if pod is None or not pod.spec.node_name:
            return AwaitChange()
        fate = self._fate(pod, known[1] if known is not None else None, now)
        match fate:
            case Stay():
                self._cancel(key)
                return AwaitChange()
            case Leave(at=at) if at > now:
                self._deadlines[key] = (pod.metadata.uid or "", at)
                return RequeueAfter((at - now) / timedelta(seconds=1))
            case Leave(at=at):
                if known is not None and known[1] > now:
                    self._cancel(key)
                await self._evict(key, pod, at)
                return AwaitChange()
            case _:
                assert_never(fate)

    def _fate(self, pod: Pod, deadline: datetime | None, now: datetime) -> Fate:
        node = self._nodes.get(Key("", pod.spec.node_name or ""))
        if node is None:  # its taints are unknown: what was decided stands
            return Stay() if deadline is None else Leave(deadline)
        return decide(pod, no_execute(node), deadline, now)

    async def _evict(self, key: Key, pod: Pod, due: datetime) -> None:
        now = clock.now()
        await end_pod(self.client, pod, disrupted(pod, REASON, MESSAGE, now))
        self._tell(key, f"Marking for deletion Pod {key}")
        self._deadlines.pop(key, None)  # only now: until it succeeded, another try needs it
        self._deletions.observe((clock.steady_now() - due) / timedelta(seconds=1))

    def _cancel(self, key: Key) -> None:
        if self._deadlines.pop(key, None) is not None:
            self._tell(key, f"Cancelling deletion of Pod {key}")

    def _tell(self, key: Key, message: str) -> None:
        about = ObjectReference(api_version="v1", kind="Pod", namespace=key.namespace, name=key.name)
        self._recorder.event(about, "Normal", "TaintManagerEviction", message)

    def families(self) -> Iterator[Any]:
        yield counters(
            "taint_eviction_controller_pod_deletions",
            "[ALPHA] Total number of Pods deleted by TaintEvictionController since its start.",
            (),
            {(): self._deletions.count},
        )
        yield histograms(
            "taint_eviction_controller_pod_deletion_duration_seconds",
            "[ALPHA] Latency, in seconds, between the time when a taint effect has been activated for the "
            "Pod and its deletion via TaintEvictionController.",
            (),
            {(): self._deletions},
        )
