"""The scheduler's metrics, under the names of kube-scheduler's.

An attempt costs a few clock readings and a few additions; all else is counted when the metrics are read.
Metrics of things that do not exist here (batches, hints as functions, dynamic
resources) are left out.

Source of names, labels, help texts and buckets: ``pkg/scheduler/metrics``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from podling import clock
from podling.machinery.histograms import Histogram, counters, gauges, histograms
from podling.scheduler.measures import Measures

if TYPE_CHECKING:
    from podling.scheduler.queue import Waiting

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
"""The results of an attempt."""
WAITING_ON_PREEMPTION = "waiting_on_preemption"
"""The result of an attempt for a pod group that waits until its victims are deleted."""

PRE_ENQUEUE, POST_FILTER, RESERVE, PERMIT = "PreEnqueue", "PostFilter", "Reserve", "Permit"
PRE_BIND, BIND, POST_BIND = "PreBind", "Bind", "PostBind"
MANY_ATTEMPTS = 15
SAMPLED_EACH = 10
"""Single plugins are measured in one of so many attempts, as upstream does (10 %)."""


def exponential(start: float, number: int) -> tuple[float, ...]:
    """Return ``number`` bounds, each twice the one before."""
    return tuple(start * 2**power for power in range(number))


ATTEMPT_SECONDS = exponential(0.001, 15)
POINT_SECONDS = exponential(0.0001, 12)
PLUGIN_SECONDS = tuple(0.00001 * 1.5**power for power in range(20))
LIFE_SECONDS = exponential(0.01, 20)
VICTIMS = exponential(1, 7)
ATTEMPTS = exponential(1, 5)


NOTHING_PENDING = MappingProxyType({"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0})
NOTHING_CACHED = MappingProxyType({"nodes": 0, "pods": 0, "assumed_pods": 0})


class Standing(Struct, frozen=True):
    """The numbers of pods and nodes that a scheduler holds; zeros by default."""

    pending: Mapping[str, int] = NOTHING_PENDING
    """Pods by their place in the queue."""
    rejected: Mapping[tuple[str, str], int] = {}
    """Pods that wait, by (plugin that turned them away, profile)."""
    incoming: Mapping[tuple[str, str], int] = {}
    """Pods that entered the queue until now, by (place, event)."""
    cached: Mapping[str, int] = NOTHING_CACHED


class SchedulerMetrics(Measures):
    """The counts of one scheduler, by profile where Kubernetes distinguishes them.

    ``standing`` is called when the metrics are read.
    """

    def __init__(self, standing: Callable[[], Standing] = Standing) -> None:
        self.standing = standing
        self._profile = ""
        self._begun = 0
        self._plugin_mark = 0.0
        self._plugins: dict[tuple[str, str, str], Histogram] = {}
        self._attempts: dict[tuple[str, str], Histogram] = {}
        self._algorithm = Histogram(ATTEMPT_SECONDS)
        self._points: dict[tuple[str, str, str], Histogram] = {}
        self._lives: dict[tuple[str], Histogram] = {}
        self._tries = Histogram(ATTEMPTS)
        self._timed_out = 0
        self._victims = Histogram(VICTIMS)
        self._preemptions = 0
        self._removals: dict[tuple[str], Histogram] = {}
        self._permits: dict[tuple[str], Histogram] = {}
        self._mark = 0.0
        self._groups: dict[tuple[str, str], Histogram] = {}
        self._group_algorithm = Histogram(ATTEMPT_SECONDS)

    def begin(self, profile: str) -> float:
        """Return the time at which an attempt begins; ``ended`` measures from here."""
        self._profile = profile
        self._begun += 1
        self.sampled = self._begun % SAMPLED_EACH == 0
        self._mark = clock.monotonic()
        return self._mark

    def ended(self, point: str, status: str) -> None:
        """Count an extension point that has taken the time since the last one."""
        now = clock.monotonic()
        self.observe_point(self._profile, point, status, now - self._mark)
        self._mark = now

    def mark(self) -> None:
        self._plugin_mark = clock.monotonic()

    def ran(self, plugin: str, point: str, status: str) -> None:
        """Count a plugin that has taken the time since the mark, if this attempt is sampled."""
        if not self.sampled:
            return
        key = (plugin, point, status)
        found = self._plugins.get(key)
        if found is None:
            found = self._plugins[key] = Histogram(PLUGIN_SECONDS)
        found.observe(clock.monotonic() - self._plugin_mark)

    def observe_point(self, profile: str, point: str, status: str, seconds: float) -> None:
        key = (point, status, profile)
        found = self._points.get(key)
        if found is None:
            found = self._points[key] = Histogram(POINT_SECONDS)
        found.observe(seconds)

    def decided(self, started: float) -> None:
        """Count how long a decision took, preemption included."""
        self._algorithm.observe(clock.monotonic() - started)

    def group_decided(self, started: float) -> None:
        """Count how long the decision about a pod group took, preemption included."""
        self._group_algorithm.observe(clock.monotonic() - started)

    def group_attempted(self, profile: str, result: str, seconds: float) -> None:
        """Count an attempt to schedule a pod group."""
        self._groups.setdefault((result, profile), Histogram(ATTEMPT_SECONDS)).observe(seconds)

    def attempted(self, profile: str, result: str, started: float) -> None:
        """Count an attempt that has ended, and how long it took."""
        self._observe_attempt(profile, result, clock.monotonic() - started)

    def bound(self, profile: str, waiting: Waiting, started: float) -> None:
        """Count a pod that has its node: the attempt, how many there were, and how long all took."""
        now, tries = clock.monotonic(), waiting.attempts + 1
        self._observe_attempt(profile, SCHEDULED, now - started)
        self._tries.observe(tries)
        self._timed_out += waiting.timed_out
        if waiting.entered is not None:
            label = (str(tries) if tries < MANY_ATTEMPTS else f"{MANY_ATTEMPTS}+",)
            found = self._lives.get(label)
            if found is None:
                found = self._lives[label] = Histogram(LIFE_SECONDS)
            found.observe(now - waiting.entered)

    def preempted(self) -> None:
        """Count an attempt to preempt."""
        self._preemptions += 1

    def selected(self, victims: int) -> None:
        """Count the victims of a preemption that begins."""
        self._victims.observe(victims)

    def removed(self, result: str, seconds: float) -> None:
        """Count the removal of the victims of one preemption."""
        self._removals.setdefault((result,), Histogram(LIFE_SECONDS)).observe(seconds)

    def permitted(self, status: str, seconds: float) -> None:
        """Count the wait of a pod for the permission of plugins."""
        self._permits.setdefault((status,), Histogram(ATTEMPT_SECONDS)).observe(seconds)

    def _observe_attempt(self, profile: str, result: str, seconds: float) -> None:
        found = self._attempts.get((result, profile))
        if found is None:
            found = self._attempts[result, profile] = Histogram(ATTEMPT_SECONDS)
        found.observe(seconds)

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        yield from self._collect_attempts()
        yield from self._collect_preemptions()
        if self._groups:
            yield from self._collect_groups()
        standing = self.standing()
        yield from _collect_queue(standing)
        text = "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache."
        yield gauges("scheduler_cache_size", text, ("type",), _by_label(standing.cached))

    def _collect_attempts(self) -> Iterator[Any]:
        names = ("result", "profile")
        attempts = self._attempts
        text = (
            "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could "
            "not be scheduled, while 'error' means an internal scheduler problem."
        )
        counts = {labels: found.count for labels, found in attempts.items()}
        yield counters("scheduler_schedule_attempts", text, names, counts)
        text = "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)"
        yield histograms("scheduler_scheduling_attempt_duration_seconds", text, names, attempts)
        text = "[ALPHA] Scheduling algorithm latency in seconds"
        yield histograms("scheduler_scheduling_algorithm_duration_seconds", text, (), {(): self._algorithm})
        text = "[STABLE] Latency for running all plugins of a specific extension point."
        name = "scheduler_framework_extension_point_duration_seconds"
        yield histograms(name, text, ("extension_point", "status", "profile"), self._points)
        text = "[ALPHA] Duration for running a plugin at a specific extension point."
        name, labels = "scheduler_plugin_execution_duration_seconds", ("plugin", "extension_point", "status")
        yield histograms(name, text, labels, self._plugins)
        text = (
            "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue "
            "and might involve multiple scheduling attempts."
        )
        yield histograms("scheduler_pod_scheduling_sli_duration_seconds", text, ("attempts",), self._lives)
        text = "[BETA] Duration of waiting on permit."
        yield histograms("scheduler_permit_wait_duration_seconds", text, ("result",), self._permits)
        text = "[STABLE] Number of attempts to successfully schedule a pod."
        yield histograms("scheduler_pod_scheduling_attempts", text, (), {(): self._tries})
        text = (
            "[ALPHA] Number of pods that were successfully scheduled after being flushed from "
            "unschedulablePods due to timeout. This metric helps detect potential queueing hint "
            "misconfigurations or event handling issues."
        )
        yield counters("scheduler_pod_scheduled_after_flush", text, (), {(): self._timed_out})

    def _collect_groups(self) -> Iterator[Any]:
        names = ("result", "profile")
        text = (
            "[ALPHA] Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod "
            "group could not be scheduled, while 'error' means an internal scheduler problem."
        )
        counts = {labels: found.count for labels, found in self._groups.items()}
        yield counters("scheduler_podgroup_schedule_attempts", text, names, counts)
        text = "[ALPHA] Pod group scheduling attempt latency in seconds"
        yield histograms("scheduler_podgroup_scheduling_attempt_duration_seconds", text, names, self._groups)
        text, name = (
            "[ALPHA] Pod group scheduling algorithm latency in seconds",
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
        )
        yield histograms(name, text, (), {(): self._group_algorithm})

    def _collect_preemptions(self) -> Iterator[Any]:
        text = "[STABLE] Total preemption attempts in the cluster till now"
        yield counters("scheduler_preemption_attempts", text, (), {(): self._preemptions})
        text = "[STABLE] Number of selected preemption victims"
        yield histograms("scheduler_preemption_victims", text, (), {(): self._victims})
        text = "[ALPHA] Duration in seconds for running goroutines for the preemption."
        name = "scheduler_preemption_goroutines_duration_seconds"
        yield histograms(name, text, ("result",), self._removals)
        text = "[ALPHA] Number of preemption goroutines executed."
        counts = {labels: found.count for labels, found in self._removals.items()}
        yield counters("scheduler_preemption_goroutines_execution", text, ("result",), counts)


def _collect_queue(standing: Standing) -> Iterator[Any]:
    text = (
        "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
        "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
        "unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of "
        "unschedulable pods that the scheduler never attempted to schedule because they are gated."
    )
    yield gauges("scheduler_pending_pods", text, ("queue",), _by_label(standing.pending))
    text = (
        "[BETA] The number of unschedulable pods broken down by plugin name. A pod will increment the "
        "gauge for all plugins that caused it to not schedule and so this metric have meaning only when "
        "broken down by plugin."
    )
    yield gauges("scheduler_unschedulable_pods", text, ("plugin", "profile"), standing.rejected)
    text = "[STABLE] Number of pods added to scheduling queues by event and queue type."
    yield counters("scheduler_queue_incoming_pods", text, ("queue", "event"), standing.incoming)


def _by_label(counts: Mapping[str, int]) -> dict[tuple[str], int]:
    return {(label,): count for label, count in counts.items()}
