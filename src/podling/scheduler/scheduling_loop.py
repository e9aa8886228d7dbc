"""The scheduling loop: informers keep the cache and the queue, one loop decides, tasks carry out.

Flow: a pending pod enters the queue; the loop takes the next, decides in one piece, and either assumes it on
its node and binds it in a task of its own, or puts it back with the plugins that rejected it, reports the
reason, and preempts pods where that helps. Changes of nodes and pods are collected between decisions and then
offered once to the pods that wait for one.

Guarantees: a pod is decided on by one decision at a time; what was decided counts at once in the next.
Nothing is polled: the loop sleeps until a change or until a back-off ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial

from msgspec import structs

from podling import clock, ids
from podling.api.core_v1 import Node, Pod
from podling.api.policy_v1 import PodDisruptionBudget
from podling.client.base import Client, key_of
from podling.client.events import EventRecorder
from podling.client.informer import Informer
from podling.client.informer_factory import InformerFactory
from podling.machinery.pods import is_terminal
from podling.scheduler import messages
from podling.scheduler.binding.binding_cycle import BindingCycle, BindingFailed
from podling.scheduler.cache import Cache
from podling.scheduler.changes import counts_differently, node_aspects, placed_pod_event
from podling.scheduler.decide import SUCCESS, Diagnosis, decide
from podling.scheduler.framework import Aspect, ObjectChange, PodEvent
from podling.scheduler.hints import Changes, wakes_for_object, wakes_for_own
from podling.scheduler.metrics import ERROR, POST_FILTER, SchedulerMetrics
from podling.scheduler.metrics import UNSCHEDULABLE as NOT_SCHEDULED
from podling.scheduler.nominations import Nominations
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.scheduler.preemption import Attempt, Refusal, Victims
from podling.scheduler.profile import Profile
from podling.scheduler.queue import Backoff, SchedulingQueue, Waiting
from podling.scheduler.reports import SCHEDULER_ERROR, UNSCHEDULABLE, Report, Reporter
from podling.scheduler.standing import standing_of
from podling.scheduler.surroundings import Surroundings
from podling.scheduler.victims import remove_victims
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)


class SchedulingLoop:
    """The scheduler of all profiles, for the pods that name one of them in ``spec.schedulerName``."""

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        recorders: Mapping[str, EventRecorder],
        profiles: Mapping[str, Profile],
        backoff: Backoff,
        metrics: SchedulerMetrics,
    ) -> None:
        self.profiles = profiles
        self._client = client
        self._recorders = recorders
        self.cache = Cache()
        [sort] = next(iter(profiles.values())).queue_sort
        self.queue = SchedulingQueue(self._is_held, sort.queue_key, backoff)
        self.metrics = metrics
        metrics.standing = partial(standing_of, self.queue, self.cache)
        self._pods = informers.informer(Pod)
        self._nodes = informers.informer(Node)
        self._budgets = informers.informer(PodDisruptionBudget)
        self._wake = asyncio.Event()
        self._surroundings = Surroundings(self.cache, informers, self._object_changed)
        self._reporter = Reporter(client, self._pods)
        self._binding = BindingCycle(client, self.cache, self.metrics)
        self._nominations = Nominations()
        self._making_room: set[str] = set()
        self._changes = Changes(self.cache, profiles)
        self._start = 0
        self._supervisor = Supervisor()
        self._nodes.add_handler(self._node_added, self._node_updated, self._node_deleted)
        self._pods.add_handler(self._pod_added, self._pod_updated, self._pod_deleted)

    async def run(self) -> None:
        """Schedule until cancelled."""
        informers: list[Informer[Pod] | Informer[Node] | Informer[PodDisruptionBudget]] = [
            self._nodes,
            self._pods,
            self._budgets,
        ]
        for informer in informers:
            await informer.synced()
        await self._surroundings.synced()
        async with Supervisor() as self._supervisor:
            supervisor = self._supervisor
            supervisor.keep_running("scheduler/reports", self._reporter.run)
            supervisor.keep_running("scheduler/loop", self._decide_forever)

    # Deciding

    async def _decide_forever(self) -> None:
        while True:
            await self._step()

    async def _step(self) -> None:
        self._wake.clear()
        now = clock.monotonic()
        self._offer_changes(now)
        waiting = self.queue.pop(now)
        if waiting is None:
            next_time = self.queue.next_time()
            await clock.wait_for(self._wake, None if next_time is None else next_time - now)
            return
        try:
            self._attempt(waiting)
        except Exception:
            self.queue.fail(waiting, clock.monotonic())
            raise
        await clock.sleep(0)

    def _profile_of(self, pod: PodFacts) -> Profile:
        return self.profiles[pod.spec.scheduler_name]

    def _event(self, pod: PodFacts, reason: str, text: str, kind: str = "Warning") -> None:
        recorder = self._recorders[pod.spec.scheduler_name]
        recorder.event(pod.pod, kind, reason, messages.truncated(text))

    def _attempt(self, waiting: Waiting) -> None:
        pod, profile = waiting.facts, self._profile_of(waiting.facts)
        if pod.terminating:
            text = f"skip schedule deleting pod: {pod.namespace}/{pod.name}"
            self._event(pod, "FailedScheduling", text)
            return
        started = self.metrics.begin(profile.name)
        try:
            nominated = list(self._nominations.in_cache(self.cache))
            outcome = decide(pod, self.cache, profile, nominated, ids.choice, self.metrics, self._start)
            self._start = (self._start + outcome.examined) % max(len(self.cache.rows), 1)
            if isinstance(outcome, Diagnosis):
                self._turn_away(waiting, outcome, self._post_filter(pod, profile, outcome), started)
                return
        except Exception as error:
            # One pod that cannot be judged must not keep all others from being placed.
            logger.exception("deciding on %s/%s failed", pod.namespace, pod.name)
            self._failed(waiting, str(error), started)
            return
        self._assume(waiting, profile, outcome.node, started)

    def _assume(self, waiting: Waiting, profile: Profile, node: str, started: float) -> None:
        """Count the pod on its node, and bind it in a task of its own."""
        pod = waiting.facts
        self.metrics.decided(started)
        self.cache.add_pod(pod, node, assumed=True)
        refused = self._binding.reserve(profile, pod, node)
        if refused is not None:
            self.cache.forget(pod.uid)
            self._turn_away(waiting, refused, Refusal(""), started)
            return
        self._end_nomination(pod.uid, placed_on=node)
        if self._binding.takes_time(profile, pod, node):
            self._reporter.report(key_of(pod.pod), Report(pod.uid, nominated=node))
        work = partial(self._bind, waiting, profile, node, started)
        self._supervisor.run_once("scheduler/bind", work, f"{pod.namespace}/{pod.name}")

    def _turn_away(
        self, waiting: Waiting, diagnosis: Diagnosis, preemption: Victims | Refusal, started: float
    ) -> None:
        """Handle a pod without a feasible node: preempt if possible, report, and let the pod wait."""
        pod = waiting.facts
        self.metrics.decided(started)
        self.metrics.attempted(pod.spec.scheduler_name, NOT_SCHEDULED, started)
        rejected_by = set(diagnosis.rejected_by)
        nominated: str | None = ""
        text = ""
        if isinstance(preemption, Victims):
            nominated = preemption.node
            self._make_room(pod, preemption)
        else:
            text = preemption.message
            rejected_by |= preemption.rejected_by
            if preemption.keeps_nomination:
                nominated = None
        if nominated == "":
            self._end_nomination(pod.uid)
        self.queue.reject(waiting, rejected_by, clock.monotonic())
        message = diagnosis.message(text)
        self._event(pod, "FailedScheduling", message)
        self._reporter.report(key_of(pod.pod), Report(pod.uid, UNSCHEDULABLE, message, nominated))

    def _post_filter(self, pod: PodFacts, profile: Profile, diagnosis: Diagnosis) -> Victims | Refusal:
        """Return the victims that make a node feasible, of the first plugin that finds any."""
        refusals: list[Refusal] = []
        for plugin in profile.post_filter if diagnosis.total else ():
            found = plugin.post_filter(self._preemption_attempt(pod, profile, diagnosis), diagnosis)
            victims = len(found.pods) if isinstance(found, Victims) else 0
            self.metrics.preempted(victims)
            self.metrics.ended(POST_FILTER, SUCCESS if victims else UNSCHEDULABLE)
            if isinstance(found, Victims):
                return found
            refusals.append(found)
        return Refusal(
            ", ".join(each.message for each in refusals),
            any(each.keeps_nomination for each in refusals),
            frozenset().union(*(each.rejected_by for each in refusals)),
        )

    def _preemption_attempt(self, pod: PodFacts, profile: Profile, diagnosis: Diagnosis) -> Attempt:
        nodes = len(diagnosis.resolvable())
        offset = ids.choice(range(nodes)) if nodes > 1 else 0
        nominated = list(self._nominations.in_cache(self.cache))
        return Attempt(pod, self.cache, profile, nominated, self._budgets.values(), offset)

    def _end_nomination(self, uid: str, placed_on: str = "") -> None:
        """The pod waits no longer for that node; unless it took its place, others may."""
        ended = self._nominations.end(uid)
        if ended is not None and ended[1] != placed_on:
            self._changed(PodEvent.DELETED, *ended)

    def _is_held(self, pod: PodFacts) -> bool:
        if pod.uid in self._making_room:
            return True
        return any(plugin.pre_enqueue(pod) for plugin in self._profile_of(pod).pre_enqueue)

    # Carrying out

    async def _bind(self, waiting: Waiting, profile: Profile, node: str, started: float) -> None:
        pod = waiting.facts
        try:
            await self._binding.run(profile, pod, node)
        except BindingFailed as failed:
            # The answer may be lost, not the binding.
            if not (failed.is_doubtful and await self._binding.was_bound(pod, node)):
                self._binding_failed(waiting, node, str(failed), started)
                if failed.is_unexpected:
                    raise
                return
        self.metrics.bound(profile.name, waiting, started)
        self._event(pod, "Scheduled", messages.assigned(pod.namespace, pod.name, node), "Normal")
        self._binding.after(profile, pod, node)

    def _binding_failed(self, waiting: Waiting, node: str, text: str, started: float) -> None:
        """Undo an assumed binding; the pod is tried again, if it still needs a node."""
        uid = waiting.uid
        self._binding.unreserve(self._profile_of(waiting.facts), waiting.facts, node)
        placed = self.cache.pod(uid)
        self.cache.forget(uid)
        if placed is not None and placed.assumed:
            self._changes.pod(PodEvent.DELETED, waiting.facts, node)
        latest = self._pods.get(key_of(waiting.facts.pod))
        if latest is None or latest.metadata.uid != uid or latest.spec.node_name or is_terminal(latest):
            self.metrics.attempted(waiting.facts.spec.scheduler_name, ERROR, started)
            return
        logger.warning("%s/%s: %s", waiting.facts.namespace, waiting.facts.name, text)
        self._failed(structs.replace(waiting, facts=facts_of(latest)), text, started)

    def _failed(self, waiting: Waiting, text: str, started: float) -> None:
        """Handle an error other than the lack of a node: report it, and retry after a back-off."""
        pod = waiting.facts
        self.metrics.attempted(pod.spec.scheduler_name, ERROR, started)
        self.queue.fail(waiting, clock.monotonic())
        self._event(pod, "FailedScheduling", text)
        self._reporter.report(key_of(pod.pod), Report(waiting.uid, SCHEDULER_ERROR, text, ""))
        self._wake.set()

    def _make_room(self, pod: PodFacts, victims: Victims) -> None:
        """Nominate the pod, and start removing its victims; until all are deleted it is not tried again."""
        for facts in self._nominations.lower_on(victims.node, pod.priority):
            # A pod of higher priority takes the capacity that it waits for: let it try other nodes.
            self._nominations.end(facts.uid)
            self._reporter.report(key_of(facts.pod), Report(facts.uid, nominated=""))
        self._nominations.add(pod, victims.node)
        self._making_room.add(pod.uid)
        work = partial(self._preempt, pod, victims)
        self._supervisor.run_once("scheduler/preempt", work, f"{pod.namespace}/{pod.name}")

    async def _preempt(self, pod: PodFacts, victims: Victims) -> None:
        done, started, name = False, clock.monotonic(), pod.spec.scheduler_name
        try:
            done = await remove_victims(self._client, self._recorders[name], name, pod, victims)
        finally:
            self.metrics.removed("success" if done else "error", clock.monotonic() - started)
            self._making_room.discard(pod.uid)
            all_gone = all(self.cache.pod(victim.uid) is None for victim in victims.pods)
            self.queue.release(pod.uid, clock.monotonic(), retry=all_gone or not done)
            self._wake.set()

    # Following the cluster

    def _offer_changes(self, now: float) -> None:
        """Wake the pods that what happened since the last decision may have helped."""
        if not self._changes:
            return
        # A nominated pod reserves its node: any change there concerns the pods that it keeps away.
        for uid in self._nominations.on(self._changes.node_names):
            self.queue.wake(uid, now, self._changes.label)
        self._changes.offer(self.queue, now)

    def _object_changed(self, change: ObjectChange) -> None:
        """Try the pods again that wait for an object of this kind, as the plugins that rejected them say."""
        now = clock.monotonic()
        for name, plugins, group in self.queue.unschedulable_by():
            known = self.profiles[name].by_name
            waited = [known[each] for each in sorted(plugins) if change.kind in known[each].wakes_on_objects]
            for waiting in group if waited else ():
                if any(wakes_for_object(each, waiting.facts, change, self.cache) for each in waited):
                    self.queue.wake(waiting.uid, now, change.label)
        self._wake.set()

    def _note(self, name: str, aspects: Aspect) -> None:
        if aspects:
            self._changes.node(name, aspects)
            self._wake.set()

    def _node_added(self, node: Node) -> None:
        self.cache.set_node(node)
        self._note(node.metadata.name or "", Aspect.ADDED)

    def _node_updated(self, old: Node, new: Node) -> None:
        self.cache.set_node(new)
        self._note(new.metadata.name or "", node_aspects(old, new))

    def _node_deleted(self, node: Node) -> None:
        self.cache.remove_node(node.metadata.name or "")
        self._note(node.metadata.name or "", Aspect.REMOVED)

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
            return  # being bound: the outcome decides
        facts = facts_of(pod)
        if pod.status.nominated_node_name:
            self._nominations.add(facts, pod.status.nominated_node_name)
        waiting = self.queue.stuck(uid)
        matters = waiting is None or wakes_for_own(waiting, facts, self._profile_of(facts), self.cache)
        self.queue.update(facts, clock.monotonic(), matters=matters)
        self._wake.set()

    def _pod_placed(self, pod: Pod) -> None:
        uid = pod.metadata.uid or ""
        node = pod.spec.node_name or ""
        self.queue.remove(uid)
        self._end_nomination(uid, placed_on=node)
        placed = self.cache.pod(uid)
        if placed is None or placed.assumed:
            if placed is not None and self.cache.name_of(placed.row) != node:
                self._note(self.cache.name_of(placed.row), Aspect.ROOM)  # another scheduler was faster
            facts = facts_of(pod)
            self.cache.add_pod(facts, node)
            self._changed(PodEvent.ADDED, facts, node)
        elif counts_differently(placed.facts.pod, pod):
            before, facts = placed.facts, facts_of(pod)
            self.cache.add_pod(facts, node)
            self._changed(placed_pod_event(before, facts), facts, node, before)
        else:
            placed.facts = structs.replace(placed.facts, pod=pod)

    def _pod_deleted(self, pod: Pod) -> None:
        uid = pod.metadata.uid or ""
        self.queue.remove(uid)
        self._end_nomination(uid)
        placed = self.cache.pod(uid)
        if placed is not None:
            node = self.cache.name_of(placed.row)
            self.cache.remove_pod(uid)
            self._changed(PodEvent.DELETED, placed.facts, node)

    def _changed(self, event: PodEvent, facts: PodFacts, node: str, before: PodFacts | None = None) -> None:
        if event:
            self._changes.pod(event, facts, node, before)
            self._wake.set()
