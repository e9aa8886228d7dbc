"""Deletion of pods that no kubelet handles any more.

Every 20 s, if anything has changed that could matter, the controller collects four kinds of pods, fails each
(if it had not ended) and deletes it without grace:

* *orphaned*: bound to a node that does not exist, and did not 40 s ago either, nor by a new read;
* *terminating* on a node that is not ready and whose operator said it is out of service;
* *terminating* before it was ever bound;
* *terminated*, beyond a number of them in the cluster: evicted ones first, then the oldest.

What to remove is decided by the plain functions below. Upstream: ``pkg/controller/podgc``.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.client.base import Key, Unreachable, key_of
from podling.client.runner import RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.nodes.pod_disruption import disrupted, end_pod, failed
from podling.controllers.nodes.taints import OUT_OF_SERVICE, is_ready
from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.histograms import counters
from podling.machinery.pods import is_terminal

logger = logging.getLogger(__name__)

PASS = Key("", "")
PASS_SECONDS = 20.0
QUARANTINE = timedelta(seconds=40)
REASON = "DeletionByPodGC"
MESSAGE = "PodGC: node no longer exists"


def surplus(pods: Iterable[Pod], keep: int) -> list[Pod]:
    """The terminated pods beyond ``keep`` (0 or less: no limit), those to remove first coming first."""
    terminated = [pod for pod in pods if is_terminal(pod)]
    if keep <= 0 or len(terminated) <= keep:
        return []
    terminated.sort(key=_removal_order)
    return terminated[: len(terminated) - keep]


def _removal_order(pod: Pod) -> tuple[bool, datetime, Key]:
    evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    created = pod.metadata.creation_timestamp
    assert created is not None, "the API server gives every object its time of creation"
    return not evicted, created, key_of(pod)


def stuck_out_of_service(pods: Iterable[Pod], nodes: Mapping[str, Node]) -> list[Pod]:
    """Pods that are being deleted on a node that is not ready and tainted as out of service."""
    lost = {
        name
        for name, node in nodes.items()
        if not is_ready(node) and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
    }
    return [pod for pod in pods if pod.metadata.deletion_timestamp and pod.spec.node_name in lost]


def never_bound(pods: Iterable[Pod]) -> list[Pod]:
    """Pods that are being deleted and have no node."""
    return [pod for pod in pods if pod.metadata.deletion_timestamp and not pod.spec.node_name]


def orphaned(pod: Pod, now: datetime) -> Pod:
    """Return the pod failed because its node is gone; one that has ended stays as it is."""
    return pod if is_terminal(pod) else failed(disrupted(pod, REASON, MESSAGE, now))


class Missing(Struct, frozen=True):
    """Nodes that pods name and that do not exist: since when, and which of them for long enough."""

    since: Mapping[str, datetime]
    overdue: tuple[str, ...]


def missing_nodes(
    pods: Iterable[Pod], nodes: Mapping[str, Node], since: Mapping[str, datetime], now: datetime
) -> Missing:
    """Keep the time at which each missing node was first missed; drop those that are back."""
    named = dict.fromkeys(pod.spec.node_name for pod in pods if pod.spec.node_name)
    missed = {name: since.get(name, now) for name in named if name not in nodes}
    return Missing(missed, tuple(name for name, first in missed.items() if now >= first + QUARANTINE))


class PodGCController(Controller):
    """One key: a pass over all pods.

    Args:
        options: how many terminated pods may stay; 0 or less for all of them.
    """

    name: ClassVar[str] = "pod-garbage-collector-controller"

    def __init__(self, context: ControllerContext, options: ControllerOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(context)
        self._terminated_max = options.terminated_pod_gc_threshold
        self._nodes = context.informers.informer(Node)
        self._pods = context.informers.informer(Pod)
        self._missing: Mapping[str, datetime] = {}
        self._has_collected = False
        """The last pass found pods to remove."""
        self.is_due = True
        """Something has changed since the last pass, or the last pass has to be repeated."""
        self._pods.add_handler(self._changed, lambda old, new: self._changed(new), self._changed)
        self._nodes.add_handler(self._changed, self._node_changed, self._changed)
        self._deletions: Counter[tuple[str, str]] = Counter()  # by namespace and reason
        self._failures: Counter[tuple[str, str]] = Counter()
        self.queue.add(PASS)

    def _changed(self, obj: Pod | Node) -> None:
        self.is_due = True

    def _node_changed(self, old: Node, new: Node) -> None:
        """Look again unless the change is no more than a heartbeat."""
        if is_ready(old) != is_ready(new) or old.spec.taints != new.spec.taints:
            self.is_due = True

    async def reconcile(self, key: Key) -> RequeueAfter:
        if self.is_due:
            self.is_due = False
            await self._collect()
            # A pod that could not be removed, and one whose node is missing, is looked at again.
            self.is_due = self.is_due or bool(self._missing) or self._has_collected
        return RequeueAfter(PASS_SECONDS, is_round=not self.is_due)

    async def _collect(self) -> None:
        self._has_collected = False
        pods = self._pods.values()
        nodes = {node.metadata.name or "": node for node in self._nodes.values()}
        for pod in surplus(pods, self._terminated_max):
            await self._remove(pod, pod, "terminated")
        for pod in stuck_out_of_service(pods, nodes):
            await self._remove(pod, failed(pod), "out-of-service")
        await self._remove_orphans(pods, nodes)
        for pod in never_bound(pods):
            await self._remove(pod, failed(pod), "unscheduled")

    async def _remove_orphans(self, pods: tuple[Pod, ...], nodes: Mapping[str, Node]) -> None:
        missing = missing_nodes(pods, nodes, self._missing, clock.steady_now())
        self._missing = missing.since
        for name in missing.overdue:
            if await self._exists(name):
                continue
            for pod in pods:
                if pod.spec.node_name == name:
                    await self._remove(pod, orphaned(pod, clock.now()), "orphaned")

    async def _exists(self, node: str) -> bool:
        """Read from the server itself: the informer may lag. An error counts as existing."""
        try:
            await self.client.get(Node, node)
        except ApiError as error:
            return not is_not_found(error)
        except Unreachable:
            return True
        return True

    async def _remove(self, pod: Pod, wanted: Pod, reason: str) -> None:
        """One pod that cannot be removed must not keep the others: the next pass tries it again."""
        labels = (pod.metadata.namespace or "", reason)
        self._deletions[labels] += 1
        self._has_collected = True
        try:
            await end_pod(self.client, pod, wanted, grace_seconds=0)
        except (ApiError, Unreachable) as error:
            self._failures[labels] += 1
            logger.info("pod %s could not be removed: %s", key_of(pod), error)

    def families(self) -> Iterator[Any]:
        labels = ("namespace", "reason")
        yield counters(
            "pod_gc_collector_force_delete_pods",
            "[ALPHA] Number of pods that are being forcefully deleted since the Pod GC Controller started.",
            labels,
            self._deletions,
        )
        yield counters(
            "pod_gc_collector_force_delete_pod_errors",
            "[ALPHA] Number of errors encountered when forcefully deleting the pods since the Pod GC "
            "Controller started.",
            labels,
            self._failures,
        )
