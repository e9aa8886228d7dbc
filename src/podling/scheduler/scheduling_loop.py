"""The scheduling loop: informers keep the cache and the queue, one loop decides, tasks carry out.

Flow: a pending pod enters the queue; the loop takes the next, decides in one piece, and either assumes it on
its node and binds it in a task of its own, or puts it back with the plugins that rejected it, reports the
reason, and preempts pods where that helps. Changes of nodes and pods are collected between decisions and then
offered once to the pods that wait for one.

Guarantees: a pod is decided on by one decision at a time; what was decided counts at once in the next.
Nothing is polled: the loop sleeps until a change or until a back-off ends.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

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
from podling.scheduler.binding.binding_cycle import BindingCycle, BindingFailed, refusal_of
from podling.scheduler.binding.permits import PermitRejected
from podling.scheduler.cache import Cache
from podling.scheduler.cluster_follower import ClusterFollower
from podling.scheduler.decide import ERROR_STATUS, SUCCESS, Case, Diagnosis, Placement, decide
from podling.scheduler.framework import PluginFailed, PodEvent
from podling.scheduler.in_flight import InFlight
from podling.scheduler.metrics import ERROR, POST_FILTER, SchedulerMetrics
from podling.scheduler.metrics import UNSCHEDULABLE as NOT_SCHEDULED
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.scheduler.preemption import Attempt, Refusal, Victims
from podling.scheduler.profile import Profile
from podling.scheduler.queue import Backoff, Waiting
from podling.scheduler.reports import SCHEDULER_ERROR, UNSCHEDULABLE, Report, Reporter
from podling.scheduler.standing import standing_of
from podling.scheduler.victims import VictimRemover
from podling.supervisor import Supervisor

if TYPE_CHECKING:
    from podling.scheduler.extenders.chain import Extenders
    from podling.scheduler.extenders.http_extender import HttpExtender

logger = logging.getLogger(__name__)


class SchedulingLoop(ClusterFollower):
    """The scheduler of all profiles, for the pods that name one of them in ``spec.schedulerName``."""

    def __init__(  # noqa: PLR0913 the parts of a scheduler
        self,
        client: Client,
        informers: InformerFactory,
        recorders: Mapping[str, EventRecorder],
        profiles: Mapping[str, Profile],
        backoff: Backoff,
        metrics: SchedulerMetrics,
        extenders: Sequence[HttpExtender] = (),
        *,
        has_groups: bool = False,
    ) -> None:
        super().__init__(informers, profiles, backoff, metrics, has_groups=has_groups)
        self._informers = informers
        self._client = client
        self._recorders = recorders
        metrics.standing = partial(standing_of, self.queue, self.cache)
        self._budgets = informers.informer(PodDisruptionBudget)
        self._reporter = Reporter(client, self._pods)
        self._extenders = _chain_of(extenders, self.cache)
        self._binding = BindingCycle(client, self.cache, self.metrics, self._waiting_pods, self._extenders)
        self._start = 0
        self._supervisor = Supervisor()

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
            self._start_reports()
            supervisor.keep_running("scheduler/loop", self._decide_forever)

    def _start_reports(self) -> None:
        self._supervisor.keep_running("scheduler/reports", self._reporter.run)

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
            await self._attempt_next(waiting)
        except Exception:
            self.queue.fail(waiting, clock.monotonic())
            raise
        await clock.sleep(0)

    async def _attempt_next(self, waiting: Waiting) -> None:
        """Decide on a pod that has left the queue."""
        if self._extenders is not None and self._extenders.concern(waiting.facts):
            await self._attempt_with_extenders(waiting, self._extenders)
        else:
            self._attempt(waiting)

    def _event(self, pod: PodFacts, reason: str, text: str, kind: str = "Warning") -> None:
        recorder = self._recorders[pod.spec.scheduler_name]
        action = messages.ACTIONS.get(reason, "")
        recorder.event(pod.pod, kind, reason, messages.truncated(text), action=action)

    def _attempt(self, waiting: Waiting) -> None:
        pod, profile = waiting.facts, self._profile_of(waiting.facts)
        if self._is_skipped(pod):
            return
        started = self.metrics.begin(profile.name)
        preemption: Victims | Refusal = Refusal("")
        try:
            nominated = list(self._nominations.in_cache(self.cache))
            outcome = decide(pod, self.cache, profile, nominated, ids.choice, self.metrics, self._start)
            self._searched(pod, outcome)
            if isinstance(outcome, Diagnosis):
                preemption = self._post_filter(pod, profile, outcome)
        except Exception as error:
            # One pod that cannot be judged must not keep all others from being placed.
            logger.exception("deciding on %s/%s failed", pod.namespace, pod.name)
            self._failed(waiting, str(error), started)
            return
        finally:
            self.metrics.decided(started)
        self._conclude(waiting, profile, outcome, preemption, started)

    async def _attempt_with_extenders(self, waiting: Waiting, extenders: Extenders) -> None:
        """Decide on a pod that concerns an extender. What happens meanwhile is kept for the pod."""
        from podling.scheduler.extenders.decision import decide_with_extenders

        pod, profile = waiting.facts, self._profile_of(waiting.facts)
        if self._is_skipped(pod):
            return
        flight = self._in_flight[pod.uid] = InFlight(pod, self.cache, self.profiles)
        started, text = self.metrics.begin(profile.name), ""
        preemption: Victims | Refusal = Refusal("")
        try:
            nominated = list(self._nominations.in_cache(self.cache))
            case = Case(pod, self.cache, profile, self.metrics)
            outcome = await decide_with_extenders(case, nominated, ids.choice, extenders, self._start)
            self._searched(pod, outcome)
            if isinstance(outcome, Diagnosis):
                preemption = self._post_filter(pod, profile, outcome)
            if isinstance(preemption, Victims):
                preemption = await extenders.process_preemption(pod, preemption)
        except Exception as error:
            logger.warning("deciding on %s/%s failed: %s", pod.namespace, pod.name, error)
            text = str(error) or type(error).__name__
        finally:
            del self._in_flight[pod.uid]
            self.metrics.decided(started)
        if flight.latest is None:
            self.metrics.attempted(profile.name, ERROR, started)
            return
        waiting = structs.replace(waiting, facts=flight.latest)
        if text:
            self._failed(waiting, text, started)
            return
        self._conclude(waiting, profile, outcome, preemption, started)
        self._catch_up(flight, pod)

    def _searched(self, pod: PodFacts, outcome: Placement | Diagnosis) -> None:
        """Let the next search begin behind this one."""
        self._start = (self._start + outcome.examined) % max(len(self.cache.rows), 1)
        if outcome.failure:
            name = pod.pod.status.nominated_node_name
            logger.warning("%s/%s: nominated node %s: %s", pod.namespace, pod.name, name, outcome.failure)

    def _is_skipped(self, pod: PodFacts) -> bool:
        if pod.terminating:
            text = f"skip schedule deleting pod: {pod.namespace}/{pod.name}"
            self._event(pod, "FailedScheduling", text)
        return pod.terminating

    def _conclude(
        self,
        waiting: Waiting,
        profile: Profile,
        outcome: Placement | Diagnosis,
        preemption: Victims | Refusal,
        started: float,
    ) -> None:
        if isinstance(outcome, Diagnosis):
            self._turn_away(waiting, outcome, preemption, started)
        else:
            self._assume(waiting, profile, outcome.node, started)

    def _assume(self, waiting: Waiting, profile: Profile, node: str, started: float) -> None:
        """Count the pod on its node, and bind it in a task of its own."""
        pod = waiting.facts
        self.cache.add_pod(pod, node, assumed=True)
        try:
            refused = self._binding.accept(profile, pod, node)
            takes_time = refused is None and self._binding.takes_time(profile, pod, node)
        except PluginFailed as failed:
            logger.exception("placing %s/%s failed", pod.namespace, pod.name)
            self.cache.forget(pod.uid)
            self._failed(waiting, str(failed), started)
            return
        if refused is not None:
            self.cache.forget(pod.uid)
            self._turn_away(waiting, refused, Refusal(""), started)
            return
        self._end_nomination(pod.uid, placed_on=node)
        if takes_time:
            self._reporter.report(key_of(pod.pod), Report(pod.uid, nominated=node))
        if self._waiting_pods.get(pod.uid) is not None:
            self._in_flight[pod.uid] = InFlight(pod, self.cache, self.profiles)
        work = partial(self._bind, waiting, profile, node, started)
        self._supervisor.run_once("scheduler/bind", work, f"{pod.namespace}/{pod.name}")

    def _turn_away(
        self, waiting: Waiting, diagnosis: Diagnosis, preemption: Victims | Refusal, started: float
    ) -> None:
        """Handle a pod without a feasible node: preempt if possible, report, and let the pod wait."""
        pod = waiting.facts
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
        self._ended(pod, NOT_SCHEDULED, message, started)
        self._reporter.report(key_of(pod.pod), Report(pod.uid, UNSCHEDULABLE, message, nominated))

    def _post_filter(self, pod: PodFacts, profile: Profile, diagnosis: Diagnosis) -> Victims | Refusal:
        """Return the victims that make a node feasible, of the first plugin that finds any."""
        refusals: list[Refusal] = []
        for plugin in profile.post_filter if diagnosis.total else ():
            try:
                found = plugin.post_filter(self._preemption_attempt(pod, profile, diagnosis), diagnosis)
            except Exception as error:
                logger.exception("%s failed for %s/%s", plugin.name, pod.namespace, pod.name)
                self.metrics.ended(POST_FILTER, ERROR_STATUS)
                return Refusal(str(error), keeps_nomination=True)
            self.metrics.preempted()
            self.metrics.ended(POST_FILTER, SUCCESS if isinstance(found, Victims) else UNSCHEDULABLE)
            if isinstance(found, Victims):
                return found
            refusals.append(found)
        return Refusal(
            ", ".join(each.message for each in refusals),
            bool(refusals) and all(each.keeps_nomination for each in refusals),
            frozenset().union(*(each.rejected_by for each in refusals)),
        )

    def _preemption_attempt(self, pod: PodFacts, profile: Profile, diagnosis: Diagnosis) -> Attempt:
        nodes = len(diagnosis.resolvable())
        offset = ids.choice(range(nodes)) if nodes > 1 else 0
        nominated = list(self._nominations.in_cache(self.cache))
        return Attempt(pod, self.cache, profile, nominated, self._budgets.values(), offset)

    # Carrying out

    async def _bind(self, waiting: Waiting, profile: Profile, node: str, started: float) -> None:
        pod = waiting.facts
        try:
            await self._binding.run(profile, pod, node)
        except PermitRejected as rejected:
            self._permit_rejected(waiting, node, rejected, started)
            return
        except BindingFailed as failed:
            # The answer may be lost, not the binding.
            if not (failed.is_doubtful and await self._binding.was_bound(pod, node)):
                self._binding_failed(waiting, node, str(failed), started)
                if failed.is_unexpected:
                    raise
                return
        finally:
            flight = self._in_flight.pop(pod.uid, None)
            if flight is not None:
                self._catch_up(flight, pod)
        self.metrics.bound(profile.name, waiting, started)
        self._event(pod, "Scheduled", messages.assigned(pod.namespace, pod.name, node), "Normal")
        self._binding.after(profile, pod, node)

    def _binding_failed(self, waiting: Waiting, node: str, text: str, started: float) -> None:
        """Undo an assumed binding, and report it; the pod is tried again, if it still needs a node."""
        latest = self._undo(waiting, node)
        logger.warning("%s/%s: %s", waiting.facts.namespace, waiting.facts.name, text)
        if latest is None:
            self._ended(waiting.facts, ERROR, text, started)
        else:
            self._failed(latest, text, started)

    def _permit_rejected(self, waiting: Waiting, node: str, rejected: PermitRejected, started: float) -> None:
        """Handle a pod that plugins did not permit: it waits for a change, like one without a node."""
        latest = self._undo(waiting, node)
        refused = refusal_of(rejected.plugin, str(rejected))
        if latest is None:
            self._ended(waiting.facts, NOT_SCHEDULED, refused.message(), started)
        else:
            # The capacity that it gives back may help others, not the pod itself.
            self._offer_changes(clock.monotonic())
            self._turn_away(latest, refused, Refusal(""), started)

    def _ended(self, pod: PodFacts, result: str, text: str, started: float) -> None:
        """Count an attempt that placed no pod, and report it in an event."""
        self.metrics.attempted(pod.spec.scheduler_name, result, started)
        self._event(pod, "FailedScheduling", text)

    def _undo(self, waiting: Waiting, node: str) -> Waiting | None:
        """Give back what an assumed pod holds; return the pod as it is now, None if it needs no node."""
        uid = waiting.uid
        self._binding.unreserve(self._profile_of(waiting.facts), waiting.facts, node)
        placed = self.cache.pod(uid)
        self.cache.forget(uid)
        if placed is None or placed.assumed:
            # A deleted pod has left the cache before, but what was reserved for it is free only now.
            self._changed(PodEvent.DELETED, waiting.facts, node)
        latest = self._pods.get(key_of(waiting.facts.pod))
        if latest is None or latest.metadata.uid != uid or latest.spec.node_name or is_terminal(latest):
            return None
        return structs.replace(waiting, facts=facts_of(latest))

    def _failed(self, waiting: Waiting, text: str, started: float) -> None:
        """Handle an error other than the lack of a node: report it, and retry after a back-off."""
        pod = waiting.facts
        self._ended(pod, ERROR, text, started)
        self._end_nomination(pod.uid)
        self.queue.fail(waiting, clock.monotonic())
        self._reporter.report(key_of(pod.pod), Report(waiting.uid, SCHEDULER_ERROR, text, ""))
        self._wake.set()

    def _make_room(self, pod: PodFacts, victims: Victims) -> None:
        """Nominate the pod, and start removing its victims; until all are deleted it is not tried again.

        Victims that are being deleted already need no more than time (``prepareCandidateAsync``).
        """
        for facts in self._nominations.lower_on(victims.node, pod.priority):
            # A pod of higher priority takes the capacity that it waits for: let it try other nodes.
            self._nominations.end(facts.uid)
            self._reporter.report(key_of(facts.pod), Report(facts.uid, nominated=""))
        self._nominate(pod, victims.node)
        if all(victim.terminating for victim in victims.pods):
            return
        self.metrics.selected(len(victims.pods))
        self._making_room.add(pod.uid)
        work = partial(self._preempt, pod, victims)
        self._supervisor.run_once("scheduler/preempt", work, f"{pod.namespace}/{pod.name}")

    async def _preempt(self, pod: PodFacts, victims: Victims) -> None:
        done, started, name = False, clock.monotonic(), pod.spec.scheduler_name
        try:
            remover = VictimRemover(self._client, self._recorders[name], name, self._binding.preempt)
            done = await remover.remove(pod, victims)
        finally:
            self.metrics.removed("success" if done else "error", clock.monotonic() - started)
            self._making_room.discard(pod.uid)
            all_gone = all(self.cache.pod(victim.uid) is None for victim in victims.pods)
            self.queue.release(pod.uid, clock.monotonic(), retry=all_gone or not done)
            self._wake.set()


def _chain_of(extenders: Sequence[HttpExtender], cache: Cache) -> Extenders | None:
    if not extenders:
        return None
    from podling.scheduler.extenders.chain import Extenders

    return Extenders(extenders, cache)
