"""Moves between the parts of the queue: the cases of upstream's ``scheduling_queue_test``."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.scheduler.podfacts import PodFacts
from podling.scheduler.queue import Backoff, Place, SchedulingQueue, Waiting
from tests.unit.scheduler.scheduling import facts

PLUGIN = frozenset({"NodeResourcesFit"})
FIRST = {"rejected": "unschedulable", "failed": "backoff"}


class Gates:
    """A queue whose gates can be closed for all pods."""

    def __init__(self) -> None:
        self.are_closed = False
        self.queue = SchedulingQueue(lambda one: "Gate" if self.are_closed else "")

    def tried(self, one: PodFacts, now: float = 0.0) -> Waiting:
        """Return a new pod that has left the queue to be tried."""
        self.queue.add(one, now)
        found = self.queue.pop(now)
        assert found is not None
        assert found.uid == one.uid
        return found


def pop_all(queue: SchedulingQueue, now: float) -> list[str]:
    names = []
    while (found := queue.pop(now)) is not None:
        names.append(found.facts.name)
    return names


@pytest.mark.parametrize(
    ("failures", "longest", "seconds"),
    [(0, 32, 0), (16, 32, 32), (32, 2**31 - 1, 2**31 - 1), (1000, 2**31 - 1, 2**31 - 1)],
)
def test_back_off_ends_at_its_longest(failures: int, longest: float, seconds: float) -> None:
    assert Backoff(1, longest).seconds(failures) == seconds


class TestOrder:
    """Pods that were tried queue behind those that were not."""

    def test_pod_tried_last_is_tried_again_last(self) -> None:
        queue = SchedulingQueue(lambda one: "")
        for number in range(5):
            queue.add(facts(f"p{number}", priority=10), 0.0)
        first = queue.pop(0.001)
        assert first is not None
        queue.reject(first, PLUGIN, 0.001)
        queue.wake(first.uid, 10.001)
        assert pop_all(queue, 10.001) == ["p1", "p2", "p3", "p4", "p0"]

    def test_pod_that_fails_again_does_not_block_a_newer_one(self) -> None:
        gates = Gates()
        again = gates.tried(facts("again", priority=10))
        gates.queue.reject(again, PLUGIN, 0.0)
        gates.queue.wake(again.uid, 2.0)
        second = gates.queue.pop(2.0)
        assert second is not None
        gates.queue.add(facts("newer", priority=10), 2.0)
        gates.queue.reject(second, PLUGIN, 2.5)
        gates.queue.wake(again.uid, 5.0)
        assert pop_all(gates.queue, 5.0) == ["newer", "again"]

    def test_high_priority_in_back_off_does_not_block_others(self) -> None:
        gates = Gates()
        high = gates.tried(facts("high", priority=1000))
        gates.queue.add(facts("mid", priority=100), 0.0)
        gates.queue.reject(high, PLUGIN, 0.0)
        gates.queue.wake(high.uid, 0.0)
        found = gates.queue.pop(0.0)
        assert found is not None
        assert found.facts.name == "mid"

    def test_pods_that_waited_for_five_minutes_go_by_priority(self) -> None:
        gates = Gates()
        for name, priority in (("high", 1000), ("mid", 100)):
            gates.queue.reject(gates.tried(facts(name, priority=priority)), PLUGIN, 0.0)
        assert pop_all(gates.queue, 301.0) == ["high", "mid"]


class TestUpdate:
    """A changed pod stays where it is, unless it waits for a change that this is."""

    @pytest.mark.parametrize("matters", [True, False])
    def test_unknown_pod_is_tried(self, matters: bool) -> None:
        queue, one = SchedulingQueue(lambda one: ""), facts()
        queue.update(one, 0.0, matters=matters)
        assert queue.place(one.uid) is Place.ACTIVE

    @pytest.mark.parametrize("matters", [True, False])
    def test_active_pod_stays_active(self, matters: bool) -> None:
        queue, one = SchedulingQueue(lambda one: ""), facts()
        queue.add(one, 0.0)
        changed = structs.replace(one, scored=(1, 1))
        queue.update(changed, 1.0, matters=matters)
        found = queue.pop(1.0)
        assert found is not None
        assert found.facts is changed

    def test_pod_in_back_off_stays_there(self) -> None:
        gates, one = Gates(), facts()
        gates.queue.fail(gates.tried(one), 0.0)
        changed = structs.replace(one, scored=(1, 1))
        gates.queue.update(changed, 0.5, matters=True)
        assert gates.queue.place(one.uid) is Place.BACKOFF
        found = gates.queue.pop(1.0)
        assert found is not None
        assert found.facts is changed

    @pytest.mark.parametrize(
        ("now", "matters", "place"),
        [
            (0.5, True, Place.BACKOFF),
            (1.0, True, Place.ACTIVE),
            (0.5, False, Place.UNSCHEDULABLE),
            (10.0, False, Place.UNSCHEDULABLE),
        ],
    )
    def test_unschedulable_pod_moves_if_the_change_matters(
        self, now: float, matters: bool, place: Place
    ) -> None:
        gates, one = Gates(), facts()
        gates.queue.reject(gates.tried(one), PLUGIN, 0.0)
        gates.queue.update(one, now, matters=matters)
        assert gates.queue.place(one.uid) is place


class TestBackOff:
    @pytest.mark.parametrize(
        ("rejected", "failed", "ready"),
        [
            ([], [], []),
            ([0.0, 3.0], [], ["rejected-0"]),
            ([], [0.0, 3.0], ["failed-0"]),
            ([0.0, 3.0], [0.0, 3.0], ["rejected-0", "failed-0"]),
            ([0.0], [0.0], ["rejected-0", "failed-0"]),
            ([3.0], [3.0], []),
        ],
    )
    def test_pods_become_active_when_their_back_off_has_ended(
        self, rejected: list[float], failed: list[float], ready: list[str]
    ) -> None:
        gates = Gates()
        tried = [(f"rejected-{number}", at) for number, at in enumerate(rejected)]
        tried += [(f"failed-{number}", at) for number, at in enumerate(failed)]
        taken = [(gates.tried(facts(name)), at) for name, at in tried]
        for waiting, at in taken:
            if waiting.facts.name.startswith("failed"):
                gates.queue.fail(waiting, at)
            else:
                gates.queue.reject(waiting, PLUGIN, at)
                gates.queue.wake(waiting.uid, at)
        gates.queue.advance(2.0)
        active = [waiting.facts.name for place, waiting in gates.queue.places() if place is Place.ACTIVE]
        assert sorted(active) == sorted(ready)

    def test_error_ends_the_memory_of_who_rejected_the_pod(self) -> None:
        gates, one = Gates(), facts()
        gates.queue.reject(gates.tried(one), PLUGIN, 0.0)
        gates.queue.wake(one.uid, 5.0)
        again = gates.queue.pop(5.0)
        assert again is not None
        assert again.rejected_by == PLUGIN
        gates.queue.fail(again, 5.0)
        [(place, waiting)] = gates.queue.places()
        assert (place, waiting.rejected_by, waiting.delay) == (Place.BACKOFF, frozenset(), 1.0)

    def test_only_time_marks_a_pod_as_timed_out(self) -> None:
        gates, one = Gates(), facts()
        gates.queue.reject(gates.tried(one), PLUGIN, 0.0)
        late = gates.queue.pop(300.0)
        assert late is not None
        assert late.timed_out
        gates.queue.reject(late, PLUGIN, 300.0)
        gates.queue.wake(one.uid, 310.0)
        woken = gates.queue.pop(310.0)
        assert woken is not None
        assert not woken.timed_out


class TestGates:
    """A pod is held back where it would begin to wait for an attempt, and not later."""

    @pytest.mark.parametrize("where", ["new", "rejected", "failed"])
    def test_closed_gates_hold_the_pod_back(self, where: str) -> None:
        gates, one = Gates(), facts()
        if where == "new":
            gates.are_closed = True
            gates.queue.add(one, 0.0)
        else:
            waiting = gates.tried(one)
            gates.are_closed = True
            if where == "rejected":
                gates.queue.reject(waiting, PLUGIN, 0.0)
            else:
                gates.queue.fail(waiting, 0.0)
        assert gates.queue.place(one.uid) is Place.GATED
        gates.queue.update(one, 0.0, matters=True)
        assert gates.queue.activate(one.uid, 0.0)
        assert gates.queue.place(one.uid) is Place.GATED

    @pytest.mark.parametrize("now", [0.5, 1.5])
    def test_gates_that_close_during_the_back_off_are_not_looked_at(self, now: float) -> None:
        gates, one = Gates(), facts("p")
        gates.queue.fail(gates.tried(one), 0.0)
        gates.are_closed = True
        if now < 1.0:
            gates.queue.activate(one.uid, now)
        assert pop_all(gates.queue, now) == ["p"]

    @pytest.mark.parametrize(
        ("now", "place"), [(0.5, Place.BACKOFF), (1.5, Place.ACTIVE)], ids=["early", "late"]
    )
    def test_failed_pod_backs_off_also_behind_gates(self, now: float, place: Place) -> None:
        gates, one = Gates(), facts()
        waiting = gates.tried(one)
        gates.are_closed = True
        gates.queue.fail(waiting, 0.0)
        gates.are_closed = False
        gates.queue.release(one.uid, now, retry=False)
        assert gates.queue.place(one.uid) is place

    @pytest.mark.parametrize("retry", [True, False])
    def test_released_pod_is_held_by_no_plugin(self, retry: bool) -> None:
        gates, one = Gates(), facts()
        waiting = gates.tried(one)
        gates.are_closed = True
        gates.queue.reject(waiting, PLUGIN, 0.0)
        [held] = gates.queue.gated()
        assert held.gate == "Gate"
        gates.are_closed = False
        gates.queue.release(one.uid, 0.5, retry=retry)
        [(place, waiting)] = gates.queue.places()
        assert (place, waiting.gate) == (Place.BACKOFF if retry else Place.UNSCHEDULABLE, "")

    @pytest.mark.parametrize(
        ("closed_at", "opened_at", "place"),
        [(0.2, 0.5, Place.BACKOFF), (3.0, 4.0, Place.ACTIVE)],
        ids=["during the back-off", "after it"],
    )
    def test_update_that_opens_gates_does_not_end_the_back_off(
        self, closed_at: float, opened_at: float, place: Place
    ) -> None:
        """``TestPendingPodsMetric``: a rejected pod whose gates close, and open again."""
        gates, one = Gates(), facts()
        gates.queue.reject(gates.tried(one), PLUGIN, 0.0)
        gates.are_closed = True
        gates.queue.update(one, closed_at, matters=True)
        assert gates.queue.place(one.uid) is Place.GATED
        gates.are_closed = False
        gates.queue.update(one, opened_at, matters=True)
        assert gates.queue.place(one.uid) is place


class TestActivate:
    @pytest.mark.parametrize(
        ("before", "known", "active"),
        [
            ("active", True, True),
            ("unknown", False, False),
            ("in flight", False, False),
            ("unschedulable", True, True),
            ("backoff", True, True),
        ],
    )
    def test_waiting_pod_becomes_active(self, before: str, known: bool, active: bool) -> None:
        gates, one = Gates(), facts()
        if before == "active":
            gates.queue.add(one, 0.0)
        elif before != "unknown":
            waiting = gates.tried(one)
            if before == "unschedulable":
                gates.queue.reject(waiting, PLUGIN, 0.0)
            elif before == "backoff":
                gates.queue.fail(waiting, 0.0)
        assert gates.queue.activate(one.uid, 0.0) == known
        assert (gates.queue.place(one.uid) is Place.ACTIVE) == active


class TestIncomingPods:
    """The cases of upstream's ``TestIncomingPodsMetrics``: the queue that pods entered, by event."""

    @pytest.mark.parametrize(
        ("outcome", "then", "later", "entered"),
        [
            ("", "", 0.0, ()),
            ("rejected", "", 0.0, ("unschedulable", "ScheduleAttemptFailure")),
            ("failed", "", 0.0, ("backoff", "ScheduleAttemptFailure")),
            ("rejected", "woken", 0.5, ("backoff", "test")),
            ("rejected", "woken", 20.0, ("active", "test")),
            ("rejected", "activated", 0.0, ("active", "ForceActivate")),
            ("failed", "activated", 0.0, ("active", "ForceActivate")),
            ("failed", "waited", 20.0, ("active", "BackoffComplete")),
            ("rejected", "waited", 400.0, ("active", "UnschedulableTimeout")),
            ("rejected", "changed", 0.5, ("backoff", "UnschedulablePodUpdate")),
            ("rejected", "changed", 20.0, ("active", "UnschedulablePodUpdate")),
            ("rejected", "changed without effect", 20.0, ("unschedulable", "ScheduleAttemptFailure")),
            ("failed", "changed", 0.5, ("backoff", "ScheduleAttemptFailure")),
        ],
    )
    def test_event_that_brought_a_pod_is_counted(
        self, outcome: str, then: str, later: float, entered: tuple[str, ...]
    ) -> None:
        gates = Gates()
        queue, pods = gates.queue, [facts(f"p{number}") for number in range(3)]
        for one in pods:
            queue.add(one, 0.0)
        for waiting in [queue.pop(0.0) for _ in pods] if outcome else []:
            assert waiting is not None
            if outcome == "rejected":
                queue.reject(waiting, PLUGIN, 0.0)
            else:
                queue.fail(waiting, 0.0)
        for one in pods:
            match then:
                case "woken":
                    queue.wake(one.uid, later, "test")
                case "activated":
                    queue.activate(one.uid, later)
                case "changed" | "changed without effect":
                    queue.update(one, later, matters=then == "changed")
                case "waited":
                    queue.advance(later)
        assert queue.incoming["active", "UnschedulablePodAdd"] == 3
        expected: dict[tuple[str, ...], int] = {("active", "UnschedulablePodAdd"): 3}
        if outcome:
            expected |= {(FIRST[outcome], "ScheduleAttemptFailure"): 3, entered: 3}
        assert dict(queue.incoming) == expected

    def test_pod_behind_gates_enters_among_the_unschedulable(self) -> None:
        gates, one = Gates(), facts()
        gates.are_closed = True
        gates.queue.add(one, 0.0)
        assert dict(gates.queue.incoming) == {("unschedulable", "UnschedulablePodAdd"): 1}
        gates.queue.update(one, 1.0, matters=True)
        assert dict(gates.queue.incoming) == {("unschedulable", "UnschedulablePodAdd"): 1}
        gates.are_closed = False
        gates.queue.update(one, 2.0, matters=True)
        assert gates.queue.incoming["active", "UnschedulablePodUpdate"] == 1

    def test_released_pod_enters_by_the_change_that_opened_its_gates(self) -> None:
        gates, one = Gates(), facts()
        gates.are_closed = True
        gates.queue.add(one, 0.0)
        gates.are_closed = False
        gates.queue.release(one.uid, 1.0, "NodeAdd", retry=True)
        assert gates.queue.incoming["active", "NodeAdd"] == 1

    def test_rejected_pod_stays_in_its_queue_when_its_gates_close(self) -> None:
        gates, one = Gates(), facts()
        gates.queue.reject(gates.tried(one), PLUGIN, 0.0)
        before = dict(gates.queue.incoming)
        gates.are_closed = True
        gates.queue.wake(one.uid, 20.0, "test")
        assert gates.queue.place(one.uid) is Place.GATED
        assert dict(gates.queue.incoming) == before


class TestLife:
    """The cases of upstream's ``TestPerPodSchedulingMetrics`` and ``TestBackOffFlow``."""

    def test_first_attempt_has_no_earlier_ones(self) -> None:
        waiting = Gates().tried(facts(), 7.0)
        assert (waiting.attempts, waiting.entered) == (0, 7.0)

    @pytest.mark.parametrize("changes", [False, True])
    def test_second_attempt_counts_from_the_first_entry(self, changes: bool) -> None:
        gates, one = Gates(), facts()
        gates.queue.reject(gates.tried(one, 7.0), PLUGIN, 7.0)
        gates.queue.advance(400.0)
        if changes:
            gates.queue.update(one, 400.0, matters=True)
        again = gates.queue.pop(400.0)
        assert again is not None
        assert (again.attempts, again.entered) == (1, 7.0)

    def test_time_behind_gates_does_not_count(self) -> None:
        gates, one = Gates(), facts()
        gates.are_closed = True
        gates.queue.add(one, 7.0)
        gates.are_closed = False
        gates.queue.update(one, 9.0, matters=True)
        waiting = gates.queue.pop(9.0)
        assert waiting is not None
        assert (waiting.attempts, waiting.entered) == (0, 9.0)

    def test_back_off_grows_with_each_rejection(self) -> None:
        gates, one, now, delays = Gates(), facts(), 0.0, []
        waiting: Waiting | None = gates.tried(one)
        for _ in range(7):
            assert waiting is not None
            gates.queue.reject(waiting, PLUGIN, now)
            gates.queue.wake(one.uid, now)
            assert gates.queue.place(one.uid) is Place.BACKOFF
            ends = gates.queue.next_time()
            assert ends is not None
            gates.queue.advance(ends - 0.001)
            assert gates.queue.place(one.uid) is Place.BACKOFF
            gates.queue.advance(ends)
            assert gates.queue.place(one.uid) is Place.ACTIVE
            delays.append(ends - now)
            now = ends
            waiting = gates.queue.pop(now)
        assert delays == [1, 2, 4, 8, 10, 10, 10]
