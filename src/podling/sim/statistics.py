"""Figures of a run: pods by state over time, latencies, restarts and disruptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from podling.machinery import quantity
from podling.machinery.pods import is_ready, pod_requests
from podling.sim.changes import Change
from podling.sim.node_figures import NodeFigures, NodeSpan

PERCENTILES = (50, 90, 99)
DISRUPTED = "DisruptionTarget"
FINAL = ("Succeeded", "Failed")
PHASES = ("Pending", "Running", "Terminating", *FINAL, "Unknown")


class Sample(msgspec.Struct, frozen=True):
    """The cluster at one moment, in seconds since the run's begin."""

    at: float
    phases: Mapping[str, int]
    ready_pods: int
    ready_nodes: int
    nodes: int
    cpu_requested: float
    """Cores that the bound pods request, and those that the nodes have."""
    cpu_allocatable: float
    memory_requested: int
    """Bytes, as above."""
    memory_allocatable: int
    restarts: int
    disruptions: int
    revision: int
    headroom: Mapping[str, int]
    """The healthy pods that each disruption budget has more than it wants; fewer than zero: too few."""


class PodTimes(msgspec.Struct):
    """When a pod was created, bound and first Ready, in seconds since the run's begin."""

    name: str
    created: float
    bound: float | None = None
    ready: float | None = None
    node: str = ""


class _PodFacts(msgspec.Struct, frozen=True):
    """The amounts that one pod adds to the sums."""

    phase: str
    ready: bool
    requests: int
    """Thousandths of a core."""
    memory: int
    """Bytes."""
    is_bound: bool

    def amounts(self) -> dict[str, int]:
        uses = self.is_bound and self.phase not in FINAL
        milli, memory = (self.requests, self.memory) if uses else (0, 0)
        return {self.phase: 1, "ready": int(self.ready), "milli": milli, "memory": memory}


class Statistics:
    """Collects figures from changes. ``sample`` is called at intervals."""

    def __init__(self, begin: datetime) -> None:
        self.begin = begin
        self._pods: dict[str, _PodFacts] = {}
        self._totals = Counter[str]()
        """The sums over all pods, by the names of phases, ``ready``, ``milli`` and ``memory``."""
        self._nodes = NodeFigures()
        self._headroom: dict[str, int] = {}
        self.times: dict[str, PodTimes] = {}
        """By UID."""
        self.samples: list[Sample] = []
        self.created = Counter[str]()
        self.deleted = Counter[str]()
        self.restarts = 0
        self.disruptions = Counter[str]()
        """Pods that were disrupted, by the reason."""
        self._revision = 0

    def change(self, change: Change) -> None:
        self._revision = change.revision
        if change.old is None:
            self.created[change.kind] += 1
        if change.new is None:
            self.deleted[change.kind] += 1
        if change.kind == "Pod":
            self._note_pod(change)
        elif change.kind == "Node":
            self._nodes.change(change, self._seconds(change.at))
        elif change.kind == "PodDisruptionBudget":
            self._note_budget(change)

    @property
    def spans(self) -> list[NodeSpan]:
        """The times of the nodes' states; complete after ``end``."""
        return self._nodes.spans

    def _seconds(self, at: datetime) -> float:
        return round((at - self.begin).total_seconds(), 3)

    def _note_pod(self, change: Change) -> None:
        pod, at = change.last, self._seconds(change.at)
        uid = pod.metadata.uid or ""
        before = self._pods.pop(uid, None)
        if before is not None:
            self._totals.subtract(before.amounts())
        if change.new is None:
            return
        facts = self._pods[uid] = _facts(pod, before)
        self._totals.update(facts.amounts())
        times = self.times.setdefault(uid, PodTimes(f"{change.namespace}/{change.name}", at))
        if times.bound is None and pod.spec.node_name:
            times.bound, times.node = at, pod.spec.node_name
        if times.ready is None and is_ready(pod):
            times.ready = at
        if change.old is not None:
            self.restarts += max(0, _restarts(pod) - _restarts(change.old))
        if (reason := _disruption(pod)) and (change.old is None or not _disruption(change.old)):
            self.disruptions[reason] += 1

    def _note_budget(self, change: Change) -> None:
        key = f"{change.namespace}/{change.name}"
        if change.new is None:
            self._headroom.pop(key, None)
        elif change.new.status.expected_pods:
            self._headroom[key] = change.new.status.current_healthy - change.new.status.desired_healthy

    def sample(self, at: datetime) -> None:
        """Add the figures of this moment to the samples."""
        self.samples.append(self.figures(at))

    def figures(self, at: datetime) -> Sample:
        """Return the figures of this moment."""
        nodes = self._nodes.totals
        return Sample(
            at=self._seconds(at),
            phases={name: self._totals[name] for name in PHASES if self._totals[name]},
            ready_pods=self._totals["ready"],
            ready_nodes=nodes["ready"],
            nodes=nodes["nodes"],
            cpu_requested=self._totals["milli"] / 1000,
            cpu_allocatable=nodes["milli"] / 1000,
            memory_requested=self._totals["memory"],
            memory_allocatable=nodes["memory"],
            restarts=self.restarts,
            disruptions=self.disruptions.total(),
            revision=self._revision,
            headroom=dict(self._headroom),
        )

    def end(self, at: datetime) -> None:
        """Close the nodes' spans, and take the last sample."""
        self._nodes.end(self._seconds(at))
        self.sample(at)

    def scheduling_seconds(self) -> list[float]:
        """Return the times from creation to binding, sorted."""
        return sorted(each.bound - each.created for each in self.times.values() if each.bound is not None)

    def start_seconds(self) -> list[float]:
        """Return the times from creation to readiness, sorted."""
        return sorted(each.ready - each.created for each in self.times.values() if each.ready is not None)


def percentiles(values: Sequence[float]) -> dict[int, float]:
    """Return the percentiles of sorted values, by nearest rank; none without values. Pure."""
    if not values:
        return {}
    return {each: values[max(0, -(-len(values) * each // 100) - 1)] for each in PERCENTILES}


def _phase(pod: Any) -> str:
    return "Terminating" if pod.metadata.deletion_timestamp is not None else pod.status.phase or "Pending"


def _facts(pod: Any, before: _PodFacts | None) -> _PodFacts:
    if before is not None:
        milli, memory = before.requests, before.memory
    else:
        requests = pod_requests(pod.spec)
        milli, memory = _amount(requests.get("cpu")).milli_value, _amount(requests.get("memory")).value
    return _PodFacts(_phase(pod), is_ready(pod), milli, memory, bool(pod.spec.node_name))


def _restarts(pod: Any) -> int:
    return sum(each.restart_count for each in pod.status.container_statuses)


def _disruption(pod: Any) -> str:
    return next((each.reason or "" for each in pod.status.conditions if each.type == DISRUPTED), "")


def _amount(amount: Any) -> quantity.Quantity:
    return quantity.parse("0" if amount is None else str(amount))
