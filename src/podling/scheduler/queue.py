"""The pods that wait for a node: who is next, who waits out a back-off, who waits for a change. Pure.

A plain data structure that takes ``now`` (seconds of a monotonic clock) and never waits itself:

* *active*: to be tried, by priority, then by how long they wait;
* *backoff*: to be tried once their back-off of 1 s, doubling to 10 s, has ended; taken early when nothing
  else is to be done, unless an error put them there. Of those whose back-off ends in the same second the
  first in the order of *active* is taken early;
* *unschedulable*: no node was right. A change that one of the rejecting plugins welcomes moves them on, or
  time: after five minutes they are tried anyway;
* *gated*: held back by scheduling gates or by a preemption in progress; no event, no time moves them.

A pod is in at most one of the four, and in none while it is being tried. Because a decision is taken in one
piece, nothing can happen between taking a pod and putting it back: no record of missed events is needed.

Upstream: ``pkg/scheduler/backend/queue``.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from podling.scheduler.changes import POD_UPDATED, own_change_label
from podling.scheduler.podfacts import PodFacts

BACKOFF_SECONDS_INITIAL = 1.0
BACKOFF_SECONDS_MAX = 10.0
BACKOFF_WINDOW_SECONDS = 1.0
UNSCHEDULABLE_SECONDS_MAX = 300.0

STALE_ITEMS_MAX = 1000
"""So many items of pods that left the back-off are kept before they are cleared away."""

POD_ADDED = "UnschedulablePodAdd"
ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POPPED_FROM_BACKOFF = "PopFromBackoffQ"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
FORCE_ACTIVATED = "ForceActivate"
"""Events that bring pods into one of the queues, as Kubernetes' metrics name them."""


class Place(Enum):
    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"


_QUEUES = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "unschedulable",
}
"""The queue that Kubernetes counts a pod of each place in."""


class Waiting(Struct, frozen=True, eq=False):
    """A pod and what it went through so far.

    ``since``: when it last came into the queue, which orders equals and starts its back-off.
    ``rejections`` and ``errors`` in a row decide how long that is. ``rejected_at``: how many rejections
    of any pod there had been by its last one.
    """

    facts: PodFacts
    since: float
    arrival: int = 0
    rejections: int = 0
    rejected_at: int = 0
    errors: int = 0
    rejected_by: frozenset[str] = field(default=frozenset())
    delay: float = 0.0
    """The back-off of the last failure, in seconds."""
    attempts: int = 0
    """The number of earlier attempts."""
    entered: float | None = None
    """When it could first be tried; None: its gates are closed since it came."""
    gate: str = ""
    """The plugin that holds it back."""
    timed_out: bool = False
    """It is tried because it waited long enough, not for a change (``WasFlushedFromUnschedulable``)."""

    @property
    def uid(self) -> str:
        return self.facts.uid

    def backoff_ends(self) -> float:
        return self.since + self.delay


class Backoff(Struct, frozen=True):
    """The wait of a pod that failed, in seconds: the first one, doubling to the longest."""

    initial: float = BACKOFF_SECONDS_INITIAL
    longest: float = BACKOFF_SECONDS_MAX

    def seconds(self, failures: int) -> float:
        if failures <= 0:
            return 0.0
        return min(self.initial * 2.0 ** min(failures - 1, 62), self.longest)


DEFAULT_BACKOFF = Backoff()


def by_priority(pod: PodFacts, waiting_since: float) -> tuple[int, float]:
    """Return the order of the plugin PrioritySort."""
    return -pod.priority, waiting_since


class SchedulingQueue:
    """Pending pods.

    Args:
        gate: returns the plugin for which a pod must not be tried at all for now; empty for none.
        sort: returns what orders pods, smallest first.
    """

    def __init__(
        self,
        gate: Callable[[PodFacts], str],
        sort: Callable[[PodFacts, float], Any] = by_priority,
        backoff: Backoff = DEFAULT_BACKOFF,
    ) -> None:
        self._gate = gate
        self._sort = sort
        self._delays = backoff
        self._places: dict[str, tuple[Place, Waiting]] = {}
        self._active: list[tuple[tuple[Any, int], int, Waiting]] = []
        self._backoff: list[tuple[float, int, Waiting]] = []
        self._early: list[tuple[int, tuple[Any, int], int, Waiting]] = []
        """The same without those that an error put there, by the second in which their back-off ends."""
        self._stuck: dict[str, Waiting] = {}
        self._stuck_by: dict[tuple[str, frozenset[str]], dict[str, None]] = {}
        self._arrivals = 0
        self._pushes = 0
        self.rejections = 0
        self.incoming: Counter[tuple[str, str]] = Counter()
        """Return the number of pods that entered each queue, by event."""

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, uid: str) -> bool:
        return uid in self._places

    def place(self, uid: str) -> Place | None:
        found = self._places.get(uid)
        return found[0] if found else None

    def stuck(self, uid: str) -> Waiting | None:
        """Return the pod if it waits for a change."""
        return self._stuck.get(uid)

    def pods(self) -> Iterator[PodFacts]:
        """Return every pod that waits, in no particular order of merit."""
        return (waiting.facts for _, waiting in self._places.values())

    def places(self) -> Iterable[tuple[Place, Waiting]]:
        """Return every pod that waits, with where it waits."""
        return self._places.values()

    def unschedulable(self) -> tuple[Waiting, ...]:
        """Return the pods that wait for a change, oldest first."""
        return tuple(self._stuck.values())

    def unschedulable_by(self) -> list[tuple[str, frozenset[str], tuple[Waiting, ...]]]:
        """Return the same, grouped by scheduler name and the plugins that rejected them."""
        return [
            (scheduler, names, tuple(self._stuck[uid] for uid in uids))
            for (scheduler, names), uids in self._stuck_by.items()
        ]

    def key(self, waiting: Waiting) -> tuple[Any, int]:
        """Return the place of a pod in the order of the queue, smallest first."""
        return self._sort(waiting.facts, waiting.since), waiting.arrival

    def add(self, facts: PodFacts, now: float) -> None:
        """A pod that is new, or new to this scheduler."""
        self._arrivals += 1
        self._admit(Place.ACTIVE, Waiting(facts, now, self._arrivals), now, POD_ADDED)

    def update(self, facts: PodFacts, now: float, *, matters: bool) -> None:
        """The pod changed; ``matters``: in a way that may make it schedulable."""
        found = self._places.get(facts.uid)
        if found is None:
            self.add(facts, now)
            return
        place, waiting = found
        waiting = replace(waiting, facts=facts)
        if place is Place.BACKOFF or (place is Place.UNSCHEDULABLE and not matters):
            self._set(place, waiting)
        elif place is Place.ACTIVE:
            self._admit(place, waiting, now, POD_UPDATED)
        else:
            self._move_on(waiting, now, own_change_label(found[1].facts, facts))

    def remove(self, uid: str) -> None:
        self._places.pop(uid, None)
        self._unstick(uid)

    def pop(self, now: float) -> Waiting | None:
        """Return the pod to try next, which leaves the queue; None when there is none yet."""
        self.advance(now)
        while self._active:
            waiting = heapq.heappop(self._active)[-1]
            if self._takes(Place.ACTIVE, waiting):
                return waiting
        while self._early:
            waiting = heapq.heappop(self._early)[-1]
            if self._takes(Place.BACKOFF, waiting):
                self.incoming["active", POPPED_FROM_BACKOFF] += 1
                return waiting
        return None

    def take(self, uid: str) -> Waiting | None:
        """Return a certain pod, which leaves the queue; None if it is not there or is held back."""
        found = self._places.get(uid)
        if found is None or found[0] is Place.GATED:
            return None
        self.remove(uid)
        return found[1]

    def reject(self, waiting: Waiting, rejected_by: Iterable[str], now: float) -> None:
        """No node was right: wait for a change that one of these plugins welcomes."""
        self.rejections += 1
        self._admit(
            Place.UNSCHEDULABLE,
            replace(
                waiting,
                since=now,
                delay=self._delays.seconds(waiting.rejections + 1),
                rejections=waiting.rejections + 1,
                rejected_at=self.rejections,
                errors=0,
                rejected_by=frozenset(rejected_by),
                attempts=waiting.attempts + 1,
                timed_out=False,
            ),
            now,
            ATTEMPT_FAILED,
        )

    def fail(self, waiting: Waiting, now: float) -> None:
        """Something went wrong: try again after the back-off."""
        errors = waiting.errors + 1
        failed = replace(
            waiting,
            since=now,
            delay=self._delays.seconds(errors),
            errors=errors,
            rejected_by=frozenset(),
            attempts=waiting.attempts + 1,
            timed_out=False,
        )
        self._admit(Place.BACKOFF, failed, now, ATTEMPT_FAILED)

    def wake(self, uid: str, now: float, event: str = FORCE_ACTIVATED) -> None:
        """A change may have helped this pod, which waits for one. ``event`` names the change."""
        waiting = self._stuck.get(uid)
        if waiting is not None:
            self._move_on(waiting, now, event)

    def activate(self, uid: str, now: float) -> bool:
        """Try a waiting pod at once, for any reason; return whether it is in the queue at all."""
        found = self._places.get(uid)
        if found is None:
            return False
        place, waiting = found
        if place is Place.BACKOFF:
            self._set(Place.ACTIVE, waiting, FORCE_ACTIVATED)  # its gates were open when it came there
        elif place is not Place.ACTIVE:
            self._admit(Place.ACTIVE, waiting, now, FORCE_ACTIVATED)
        return True

    def gated(self) -> tuple[Waiting, ...]:
        """Return the pods that are held back."""
        return tuple(waiting for place, waiting in self._places.values() if place is Place.GATED)

    def release(self, uid: str, now: float, event: str = FORCE_ACTIVATED, *, retry: bool) -> None:
        """Release a pod that was held back. One that was rejected before keeps waiting, unless ``retry``.

        ``event`` names the change that may have opened its gate.
        """
        found = self._places.get(uid)
        if found is None or found[0] is not Place.GATED:
            return
        waiting = found[1]
        if retry or not waiting.rejected_by:
            self._move_on(waiting, now, event)
        elif not self._gate(waiting.facts):
            self._set(Place.UNSCHEDULABLE, replace(waiting, since=now, gate=""))

    def advance(self, now: float) -> None:
        """Move on those whose time has come."""
        while self._backoff and self._backoff[0][0] <= now:
            _, _, waiting = heapq.heappop(self._backoff)
            if self._is_at(Place.BACKOFF, waiting):
                self._set(Place.ACTIVE, waiting, BACKOFF_COMPLETE)
        for waiting in self.unschedulable():
            if waiting.since + UNSCHEDULABLE_SECONDS_MAX > now:
                break
            self._move_on(replace(waiting, timed_out=True), now, UNSCHEDULABLE_TIMEOUT)

    def next_time(self) -> float | None:
        """When ``advance`` will have something to do, if nothing happens before."""
        while self._backoff and not self._is_at(Place.BACKOFF, self._backoff[0][-1]):
            heapq.heappop(self._backoff)
        times = [self._backoff[0][0]] if self._backoff else []
        for waiting in self._stuck.values():
            times.append(waiting.since + UNSCHEDULABLE_SECONDS_MAX)
            break
        return min(times, default=None)

    # Inside

    def _admit(self, place: Place, waiting: Waiting, now: float, event: str) -> None:
        """Put a pod in a place, unless it is held."""
        gate = self._gate(waiting.facts)
        if gate:
            place = Place.GATED
        if gate != waiting.gate:
            waiting = replace(waiting, gate=gate)
        if not gate and waiting.entered is None:
            waiting = replace(waiting, entered=now)
        self._set(place, waiting, event)

    def _move_on(self, waiting: Waiting, now: float, event: str) -> None:
        """Let a pod be tried when its back-off has ended, unless it is held."""
        self._admit(Place.BACKOFF if waiting.backoff_ends() > now else Place.ACTIVE, waiting, now, event)

    def _set(self, place: Place, waiting: Waiting, event: str = "") -> None:
        """Put a pod in a place. ``event`` brought it there, if it was in another queue before."""
        before = self._places.get(waiting.uid)
        if event and (before is None or _QUEUES[before[0]] != _QUEUES[place]):
            self.incoming[_QUEUES[place], event] += 1
        self._places[waiting.uid] = (place, waiting)
        if place is Place.UNSCHEDULABLE:
            self._stuck[waiting.uid] = waiting
            self._stuck_by.setdefault(_group(waiting), {})[waiting.uid] = None
            return
        self._unstick(waiting.uid)
        self._pushes += 1
        if place is Place.ACTIVE:
            heapq.heappush(self._active, (self.key(waiting), self._pushes, waiting))
        elif place is Place.BACKOFF:
            heapq.heappush(self._backoff, (waiting.backoff_ends(), self._pushes, waiting))
            if not waiting.errors:
                self._push_early(waiting)

    def _push_early(self, waiting: Waiting) -> None:
        """Order a pod for being taken before its back-off ends (``lessBackoffCompletedWithPriority``)."""
        second = int(waiting.backoff_ends() // BACKOFF_WINDOW_SECONDS)
        heapq.heappush(self._early, (second, self.key(waiting), self._pushes, waiting))
        if len(self._early) > STALE_ITEMS_MAX + 2 * len(self._places):
            self._early = [item for item in self._early if self._is_at(Place.BACKOFF, item[-1])]
            heapq.heapify(self._early)

    def _unstick(self, uid: str) -> None:
        waiting = self._stuck.pop(uid, None)
        if waiting is not None:
            group = self._stuck_by[_group(waiting)]
            del group[uid]
            if not group:
                del self._stuck_by[_group(waiting)]

    def _is_at(self, place: Place, waiting: Waiting) -> bool:
        """Return whether this heap item is still what the pod is; older ones are left behind and skipped."""
        return self._places.get(waiting.uid) == (place, waiting)

    def _takes(self, place: Place, waiting: Waiting) -> bool:
        if not self._is_at(place, waiting):
            return False
        del self._places[waiting.uid]
        return True


def _group(waiting: Waiting) -> tuple[str, frozenset[str]]:
    return waiting.facts.spec.scheduler_name, waiting.rejected_by
