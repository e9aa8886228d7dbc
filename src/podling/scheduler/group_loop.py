"""The scheduling loop of a cluster with pod groups: nodes for all pods of a group at once, or for none.

Flow: the first pod of a group takes those of its group out of the queue that wait there, too. In turn each is
decided on, with those before it assumed on their nodes; victims of preemptions count as gone. Then all of it
is taken back, and the outcome carried out: with permission for any pod, all that have nodes are bound;
otherwise none is, nothing is preempted, and all are tried again.

Upstream: ``pkg/scheduler/schedule_one_podgroup.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from podling import clock, ids
from podling.api.scheduling_v1alpha2 import PodGroup
from podling.client.base import Key, key_of
from podling.scheduler import group_reports
from podling.scheduler.decide import Diagnosis, decide
from podling.scheduler.framework import PluginFailed
from podling.scheduler.gangs import GangKey, gang_of
from podling.scheduler.group_reports import GroupReport, GroupReporter
from podling.scheduler.metrics import ERROR, SCHEDULED, UNSCHEDULABLE, WAITING_ON_PREEMPTION
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Refusal, Victims
from podling.scheduler.profile import Profile
from podling.scheduler.queue import Waiting
from podling.scheduler.reports import UNSCHEDULABLE as POD_UNSCHEDULABLE
from podling.scheduler.reports import Report
from podling.scheduler.scheduling_loop import SchedulingLoop

logger = logging.getLogger(__name__)

GROUP_UNSCHEDULABLE = "pod group is unschedulable"
GROUP_WAITS = "pod group is waiting for preemption to complete"


@dataclass(slots=True)
class Trial:
    """The attempt to place one pod of a group, while all of it can still be taken back."""

    waiting: Waiting
    profile: Profile
    started: float
    node: str = ""
    """The node that the pod was assumed on."""
    diagnosis: Diagnosis | None = None
    preemption: Victims | Refusal = field(default_factory=lambda: Refusal(""))
    permit: str = ""
    """Why the pod would have to wait for permission."""
    removed: list[tuple[PodFacts, bool]] = field(default_factory=list)
    """The victims, and whether each was assumed on its node."""
    error: str = ""

    @property
    def is_permitted(self) -> bool:
        return bool(self.node) and not self.permit

    @property
    def needs_preemption(self) -> bool:
        return bool(self.node) and isinstance(self.preemption, Victims)


class GroupSchedulingLoop(SchedulingLoop):
    """The scheduler of all profiles, for pods and for groups of them."""

    async def run(self) -> None:
        """Schedule until cancelled."""
        self._group_reporter = GroupReporter(self._client, self._informers.informer(PodGroup))
        await super().run()

    def _start_reports(self) -> None:
        super()._start_reports()
        self._supervisor.keep_running("scheduler/group-reports", self._group_reporter.run)

    async def _attempt_next(self, waiting: Waiting) -> None:
        key, extenders = gang_of(waiting.facts), self._extenders
        # An extender decides about one pod at a time; the permission of GangScheduling keeps them together.
        if key is None or (extenders is not None and extenders.concern(waiting.facts)):
            await super()._attempt_next(waiting)
        else:
            self._attempt_group(key, waiting)

    def _attempt_group(self, key: GangKey, first: Waiting) -> None:
        others = self.gangs.unscheduled(key) if self.gangs is not None else []
        taken = [self.queue.take(uid) for uid in others]
        found = sorted((first, *(each for each in taken if each is not None)), key=_order)
        started = clock.monotonic()
        names = list(dict.fromkeys(each.facts.spec.scheduler_name for each in found))
        if len(names) > 1:
            text = (
                "all pods in a single pod group should have the same .spec.schedulerName set, "
                f'got: "{names[1]}" and "{names[0]}"'
            )
            for each in found:
                self._failed(each, text, started)
            return
        members = [each for each in found if not self._is_skipped(each.facts)]
        if members:
            trials = self._try_all(members)
            self.metrics.group_decided(started)
            self._conclude_group(key, members, trials, started)

    def _try_all(self, members: Sequence[Waiting]) -> list[Trial]:
        """Try the pods in turn until an error; take all of it back."""
        trials: list[Trial] = []
        try:
            for waiting in members:
                profile = self._profile_of(waiting.facts)
                trial = Trial(waiting, profile, self.metrics.begin(profile.name))
                trials.append(trial)
                try:
                    self._try(trial)
                except Exception as error:
                    if not isinstance(error, PluginFailed):
                        logger.exception(
                            "deciding on %s/%s failed", waiting.facts.namespace, waiting.facts.name
                        )
                    trial.error = str(error) or type(error).__name__
                    break
        finally:
            for trial in reversed(trials):
                self._take_back(trial)
        return trials

    def _try(self, trial: Trial) -> None:
        """Find a node for a pod, with victims if need be, and assume it there. Raises ``PluginFailed``."""
        pod, profile = trial.waiting.facts, trial.profile
        nominated = list(self._nominations.in_cache(self.cache))
        outcome = decide(pod, self.cache, profile, nominated, ids.choice, self.metrics, self._start)
        self._searched(pod, outcome)
        if isinstance(outcome, Diagnosis):
            trial.diagnosis = outcome
            trial.preemption = self._post_filter(pod, profile, outcome)
            if not isinstance(trial.preemption, Victims):
                return
            node = trial.preemption.node
            for victim in trial.preemption.pods:
                placed = self.cache.pod(victim.uid)
                if placed is not None:
                    trial.removed.append((placed.facts, placed.assumed))
                    self.cache.remove_pod(victim.uid)
        else:
            node = outcome.node
        self.cache.add_pod(pod, node, assumed=True)
        trial.node = node
        tried = self._binding.try_out(profile, pod, node)
        if isinstance(tried, Diagnosis):
            self._take_back(trial)
            trial.node, trial.diagnosis, trial.preemption = "", tried, Refusal("")
        else:
            trial.permit = tried

    def _take_back(self, trial: Trial) -> None:
        if trial.node:
            self._binding.unreserve(trial.profile, trial.waiting.facts, trial.node)
            self.cache.forget(trial.waiting.uid)
            for victim, assumed in trial.removed:
                self.cache.add_pod(victim, trial.node, assumed=assumed)
            trial.removed = []

    def _conclude_group(
        self, key: GangKey, members: Sequence[Waiting], trials: Sequence[Trial], started: float
    ) -> None:
        """Carry out what was found for a group, and report it."""
        seconds, profile = clock.monotonic() - started, trials[0].profile.name
        group = Key(*key)
        error = trials[-1].error
        if error:
            text = f"failed to schedule other pod from a pod group: {error}"
            for number, waiting in enumerate(members):
                own = trials[number].error if number < len(trials) else ""
                self._failed(waiting, own or text, started)
            self.metrics.group_attempted(profile, ERROR, seconds)
            self._group_reporter.report(group, GroupReport(group_reports.ERROR, text))
            return
        is_schedulable = any(each.is_permitted for each in trials)
        waits = is_schedulable and any(each.needs_preemption for each in trials)
        for trial in trials:
            self._conclude_trial(trial, is_schedulable=is_schedulable, waits=waits)
        if is_schedulable and not waits:
            self.metrics.group_attempted(profile, SCHEDULED, seconds)
            self._group_reporter.report(group, GroupReport(group_reports.SCHEDULED))
            return
        text = f"{GROUP_UNSCHEDULABLE}, {GROUP_WAITS}" if waits else GROUP_UNSCHEDULABLE
        self.metrics.group_attempted(profile, WAITING_ON_PREEMPTION if waits else UNSCHEDULABLE, seconds)
        self._group_reporter.report(group, GroupReport(group_reports.UNSCHEDULABLE, text))

    def _conclude_trial(self, trial: Trial, *, is_schedulable: bool, waits: bool) -> None:
        if not trial.node or (trial.needs_preemption and waits):
            assert trial.diagnosis is not None
            self._turn_away(trial.waiting, trial.diagnosis, trial.preemption, trial.started)
        elif is_schedulable and not waits:
            self._assume(trial.waiting, trial.profile, trial.node, trial.started)
        elif waits:
            self._give_back(trial, f"{GROUP_UNSCHEDULABLE}, {GROUP_WAITS}", trial.node)
        else:
            self._give_back(trial, f"{GROUP_UNSCHEDULABLE}, {trial.permit}")

    def _give_back(self, trial: Trial, text: str, nominated: str = "") -> None:
        """Put a pod back for which there was a node, but not for its group; it is tried after a back-off."""
        pod = trial.waiting.facts
        self.metrics.attempted(pod.spec.scheduler_name, UNSCHEDULABLE, trial.started)
        if nominated:
            self._nominate(pod, nominated)
        else:
            self._end_nomination(pod.uid)
        self.queue.fail(trial.waiting, clock.monotonic())
        self._event(pod, "FailedScheduling", text)
        self._reporter.report(key_of(pod.pod), Report(pod.uid, POD_UNSCHEDULABLE, text, nominated))
        self._wake.set()


def _order(waiting: Waiting) -> tuple[int, float]:
    """Return the place of a pod among those of its group: by priority, then by when it was first tried."""
    return -waiting.facts.priority, waiting.entered or 0.0
