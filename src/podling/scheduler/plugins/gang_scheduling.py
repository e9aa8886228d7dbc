"""GangScheduling: the pods of a group get nodes once enough of them can, or none does.

A pod is not tried before its group exists and has ``minCount`` pods. A pod with a node then waits for the
permission, which the pod that completes the number gives to all. Without a PodGroup in the cluster
(feature gate ``GenericWorkload``) it decides nothing.

Upstream: ``pkg/scheduler/framework/plugins/gangscheduling``.
"""

from __future__ import annotations

from typing import Any

from podling.scheduler.cache import Cache
from podling.scheduler.framework import Aspect, Handle, ObjectChange, OwnChange, Plugin, PodChange, PodEvent
from podling.scheduler.gangs import GangKey, gang_of
from podling.scheduler.podfacts import PodFacts

PERMIT_SECONDS = 5 * 60.0
"""The longest wait of a pod for the others of its group (``permitTimeoutDuration``)."""

FEW_PODS = "waiting for minCount pods from a gang to appear in scheduling queue"
FEW_SCHEDULED = "waiting for minCount pods from a gang to be scheduled"


def missing_group(name: str) -> str:
    return f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'


class GangScheduling(Plugin):
    name = "GangScheduling"
    wakes_on = Aspect.NONE
    wakes_on_pods = PodEvent.ADDED
    wakes_on_own = OwnChange.NONE
    wakes_on_objects = frozenset({"PodGroup"})

    def __init__(self, args: Any = None) -> None:
        super().__init__(args)
        self._handle: Handle | None = None

    def start(self, handle: Handle) -> None:
        self._handle = handle

    def pre_enqueue(self, pod: PodFacts) -> str:
        key, gangs = gang_of(pod), self._handle.gangs if self._handle else None
        if key is None or gangs is None:
            return ""
        group = gangs.group(key)
        if group is None:
            return missing_group(key[1])
        gang = group.spec.scheduling_policy.gang
        return FEW_PODS if gang is not None and gangs.size(key) < gang.min_count else ""

    def permit(self, pod: PodFacts, node: str, cache: Cache) -> float | None:
        """Let the pod wait for the others of its group. Raises ``LookupError`` if the group is gone."""
        key, handle = gang_of(pod), self._handle
        gangs = handle.gangs if handle else None
        if key is None or handle is None or gangs is None:
            return None
        if self._lacks_others(key):
            handle.activate(gangs.unscheduled(key))
            return PERMIT_SECONDS
        for uid in gangs.assumed(key):
            waiting = handle.waiting_pod(uid)
            if waiting is not None:
                waiting.allow(self.name)
        return None

    def permit_in_group(self, pod: PodFacts, node: str, cache: Cache) -> str:
        key = gang_of(pod)
        return FEW_SCHEDULED if key is not None and self._lacks_others(key) else ""

    def _lacks_others(self, key: GangKey) -> bool:
        """Return whether too few pods of a group have a node. Raises ``LookupError`` if it is gone."""
        gangs = self._handle.gangs if self._handle else None
        if gangs is None:
            return False
        group = gangs.group(key)
        if group is None:
            namespace, name = key
            raise LookupError(
                f'failed to get podGroup {namespace}/{name}: podgroup.scheduling.k8s.io "{name}" not found'
            )
        gang = group.spec.scheduling_policy.gang
        return gang is not None and gangs.scheduled(key) < gang.min_count

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        return gang_of(pod) is not None and gang_of(pod) == gang_of(change.facts)

    def wakes_for_object(self, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
        if change.new is None or change.old is not None:
            return False
        metadata = change.new.metadata
        return gang_of(pod) == (metadata.namespace or "", metadata.name or "")
