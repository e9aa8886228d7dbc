"""The scheduler's knowledge of the cluster: informers keep the cache and the queue.

Changes of nodes and pods are collected, and offered to the waiting pods before the next decision. Pods that
an extender or a waiting plugin decides about get them afterwards.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.client.informer_factory import InformerFactory
from podling.machinery.pods import is_terminal
from podling.scheduler.binding.permits import WaitingPod, WaitingPods
from podling.scheduler.cache import Cache
from podling.scheduler.changes import counts_differently, node_aspects, placed_pod_event
from podling.scheduler.decide import ERROR_STATUS, SUCCESS, UNRESOLVABLE
from podling.scheduler.framework import Aspect, ObjectChange, Plugin, PodEvent
from podling.scheduler.gangs import Gangs, gang_of
from podling.scheduler.hints import Changes, wakes_for_object, wakes_for_own
from podling.scheduler.in_flight import InFlight
from podling.scheduler.metrics import PRE_ENQUEUE, SchedulerMetrics
from podling.scheduler.nominations import Nominations
from podling.scheduler.plugins.default_preemption import DefaultPreemption
from podling.scheduler.plugins.gang_scheduling import GangScheduling
from podling.scheduler.plugins.scheduling_gates import SchedulingGates
from podling.scheduler.podfacts import PodFacts, facts_of, facts_of_bound
from podling.scheduler.profile import Profile
from podling.scheduler.queue import ATTEMPT_FAILED, POD_ADDED, Backoff, SchedulingQueue
from podling.scheduler.surroundings import Surroundings

logger = logging.getLogger(__name__)


class ClusterFollower:
    """The cache, the queue and the nominations of a scheduler, as the cluster changes."""

    def __init__(
        self,
        informers: InformerFactory,
        profiles: Mapping[str, Profile],
        backoff: Backoff,
        metrics: SchedulerMetrics,
        *,
        has_groups: bool = False,
    ) -> None:
        self.profiles = profiles
        self.metrics = metrics
        self.cache = Cache()
        [sort] = next(iter(profiles.values())).queue_sort
        self.queue = SchedulingQueue(self._gate, sort.queue_key, backoff)
        self._gating = any(_may_gate(each) for profile in profiles.values() for each in profile.pre_enqueue)
        self._nominations = Nominations()
        self._making_room: set[str] = set()
        self._changes = Changes(self.cache, profiles)
        self._in_flight: dict[str, InFlight] = {}
        self._waiting_pods = WaitingPods()
        self._wake = asyncio.Event()
        self._pods = informers.informer(Pod)
        self._nodes = informers.informer(Node)
        self.gangs = Gangs(self.cache) if has_groups else None
        # Handlers see the pods that informers hold already at once: plugins must be able to judge them.
        for profile in profiles.values():
            for plugin in profile.by_name.values():
                plugin.start(self)
        self._surroundings = Surroundings(self.cache, informers, self._object_changed, self.gangs)
        self._nodes.add_handler(self._node_added, self._node_updated, self._node_deleted)
        self._pods.add_handler(self._pod_added, self._pod_updated, self._pod_deleted)

    # The functions for plugins (``framework.Handle``)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return self._waiting_pods

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self._waiting_pods.get(uid)

    def activate(self, uids: Iterable[str]) -> None:
        now = clock.monotonic()
        for uid in uids:
            if not self.queue.activate(uid, now) and uid in self._in_flight:
                self._in_flight[uid].is_activated = True
        self._wake.set()

    def _profile_of(self, pod: PodFacts) -> Profile:
        return self.profiles[pod.spec.scheduler_name]

    def _gate(self, pod: PodFacts) -> str:
        """Return the plugin that holds a pod back, the first one; empty for none.

        One that fails holds it back, too.
        """
        profile, started, status = self._profile_of(pod), clock.monotonic(), UNRESOLVABLE
        try:
            if pod.uid in self._making_room:
                return DefaultPreemption.name
            for plugin in profile.pre_enqueue:
                try:
                    if plugin.pre_enqueue(pod):
                        return plugin.name
                except Exception:
                    logger.exception("%s failed to judge %s/%s", plugin.name, pod.namespace, pod.name)
                    status = ERROR_STATUS
                    return plugin.name
            status = SUCCESS
            return ""
        finally:
            self.metrics.observe_point(profile.name, PRE_ENQUEUE, status, clock.monotonic() - started)

    def _nominate(self, facts: PodFacts, node: str) -> None:
        """The pod waits for that node, and for no other one any longer."""
        self._end_nomination(facts.uid, placed_on=node)
        self._nominations.add(facts, node)

    def _end_nomination(self, uid: str, placed_on: str = "") -> None:
        """The pod waits no longer for that node; unless it took its place, others may."""
        ended = self._nominations.end(uid)
        if ended is not None and ended[1] != placed_on:
            self._changed(PodEvent.DELETED, *ended)

    def _catch_up(self, flight: InFlight, before: PodFacts) -> None:
        """Try a rejected pod again for a change that came while it was decided on."""
        waiting = self.queue.stuck(before.uid)
        if waiting is not None and flight.has_missed(before, waiting):
            self.queue.wake(before.uid, clock.monotonic(), ATTEMPT_FAILED)
            self._wake.set()

    # Following the cluster

    def _offer_changes(self, now: float) -> None:
        """Wake the pods that what happened since the last decision may have helped."""
        if not self._changes:
            return
        label = self._changes.label
        if self._gating and label:
            self._release_gated(now, label)
        # A nominated pod reserves its node: any change there concerns the pods that it keeps away.
        for uid in self._nominations.on(self._changes.node_names):
            self.queue.wake(uid, now, label)
        self._changes.offer(self.queue, now)

    def _release_gated(self, now: float, label: str) -> None:
        """Look again at the pods that a plugin of a package holds back: a change may have opened the gate."""
        for waiting in self.queue.gated():
            self.queue.release(waiting.uid, now, label, retry=True)

    def _object_changed(self, change: ObjectChange) -> None:
        """Try the pods again that wait for an object of this kind, as the plugins that rejected them say."""
        now = clock.monotonic()
        for flight in self._in_flight.values():
            flight.note_object(change)
        if self._gating or change.kind == "PodGroup":
            self._release_gated(now, change.label)
        for name, plugins, group in self.queue.unschedulable_by():
            known = self.profiles[name].by_name
            waited = [known[each] for each in sorted(plugins) if change.kind in known[each].wakes_on_objects]
            for waiting in group if waited else ():
                if any(wakes_for_object(each, waiting.facts, change, self.cache) for each in waited):
                    self.queue.wake(waiting.uid, now, change.label)
        self._wake.set()

    def _note(self, name: str, aspects: Aspect, before: Node | None = None) -> None:
        if aspects:
            self._changes.node(name, aspects, before)
            for flight in self._in_flight.values():
                flight.changes.node(name, aspects, before)
            self._wake.set()

    def _node_added(self, node: Node) -> None:
        self.cache.set_node(node)
        self._note(node.metadata.name or "", Aspect.ADDED)

    def _node_updated(self, old: Node, new: Node) -> None:
        self.cache.set_node(new)
        self._note(new.metadata.name or "", node_aspects(old, new), old)

    def _node_deleted(self, node: Node) -> None:
        self.cache.remove_node(node.metadata.name or "")
        self._note(node.metadata.name or "", Aspect.REMOVED)

    def _gang_grew(self, pod: PodFacts) -> None:
        """Try the other pods of a group again, which may have waited for one more pod."""
        now = clock.monotonic()
        for uid in self.gangs.unscheduled(gang_of(pod) or ("", "")) if self.gangs is not None else ():
            self.queue.release(uid, now, POD_ADDED, retry=True)
            waiting = self.queue.stuck(uid)
            if waiting is not None and GangScheduling.name in waiting.rejected_by:
                self.queue.wake(uid, now, POD_ADDED)
            elif uid in self._in_flight:
                self._in_flight[uid].is_activated = True

    def _pod_added(self, pod: Pod) -> None:
        if is_terminal(pod):
            self._pod_deleted(pod)
        elif pod.spec.node_name:
            self._pod_placed(pod)
        elif pod.spec.scheduler_name in self.profiles:
            self._pod_pending(pod)

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        if is_terminal(new) or new.spec.node_name:
            self._pod_added(new)
        elif new.spec.scheduler_name in self.profiles:
            if old.status.nominated_node_name and not new.status.nominated_node_name:
                self._end_nomination(new.metadata.uid or "")
            self._pod_pending(new)

    def _pod_pending(self, pod: Pod) -> None:
        uid = pod.metadata.uid or ""
        if self.cache.pod(uid) is not None:
            if pod.metadata.deletion_timestamp is not None:
                self._free(uid)  # it cannot be bound any more
            return  # being bound: the outcome decides
        facts = facts_of(pod)
        if self.gangs is not None and self.gangs.add_pod(facts):
            self._gang_grew(facts)
        flight = self._in_flight.get(uid)
        if flight is not None:
            flight.latest = facts  # an extender decides about it
            return
        if pod.status.nominated_node_name:
            self._nominate(facts, pod.status.nominated_node_name)
        else:
            self._nominations.update(facts)  # the nomination may not be written yet
        waiting = self.queue.stuck(uid)
        matters = waiting is None or wakes_for_own(waiting, facts, self._profile_of(facts), self.cache)
        self.queue.update(facts, clock.monotonic(), matters=matters)
        self._wake.set()

    def _pod_placed(self, pod: Pod) -> None:
        uid = pod.metadata.uid or ""
        node = pod.spec.node_name or ""
        self._leave(uid)
        self._end_nomination(uid, placed_on=node)
        placed = self.cache.pod(uid)
        if placed is None or placed.assumed:
            if placed is not None and self.cache.name_of(placed.row) != node:
                self._note(self.cache.name_of(placed.row), Aspect.ROOM)  # another scheduler was faster
            facts = facts_of(pod) if placed is None else facts_of_bound(pod, placed.facts)
            self.cache.add_pod(facts, node)
            self._changed(PodEvent.ADDED, facts, node)
            if self.gangs is not None and self.gangs.add_pod(facts):
                self._gang_grew(facts)
        elif counts_differently(placed.facts.pod, pod):
            before, facts = placed.facts, facts_of(pod)
            self.cache.add_pod(facts, node)
            self._changed(placed_pod_event(before, facts), facts, node, before)
        else:
            placed.facts = structs.replace(placed.facts, pod=pod)

    def _pod_deleted(self, pod: Pod) -> None:
        uid = pod.metadata.uid or ""
        self._leave(uid)
        self._end_nomination(uid)
        if self.gangs is not None:
            self.gangs.remove_pod(uid)
        self._free(uid)

    def _free(self, uid: str) -> None:
        """Give back what a pod holds on its node, which it leaves or does not get."""
        self._waiting_pods.reject(uid, "", "removed")
        placed = self.cache.pod(uid)
        if placed is not None:
            node = self.cache.name_of(placed.row)
            self.cache.remove_pod(uid)
            self._changed(PodEvent.DELETED, placed.facts, node)

    def _leave(self, uid: str) -> None:
        """The pod waits no longer for a decision."""
        self.queue.remove(uid)
        if uid in self._in_flight:
            self._in_flight[uid].latest = None

    def _changed(self, event: PodEvent, facts: PodFacts, node: str, before: PodFacts | None = None) -> None:
        if event:
            self._changes.pod(event, facts, node, before)
            for uid, flight in self._in_flight.items():
                if uid != facts.uid:
                    flight.changes.pod(event, facts, node, before)
            self._wake.set()


def _may_gate(plugin: Plugin) -> bool:
    """Return whether other changes than those of a pod itself can open the plugin's gate."""
    return not isinstance(plugin, SchedulingGates | GangScheduling)
