"""The queue's invariants: the place of each pod, the order of pods, and no pod is lost."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import structs

from podling.api.core_v1 import PodSchedulingGate
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.scheduler.queue import STALE_ITEMS_MAX, Backoff, Place, SchedulingQueue, Waiting
from tests.unit.scheduler.scheduling import facts, pod


def open_queue(*pods: PodFacts, now: float = 0.0) -> SchedulingQueue:
    queue = SchedulingQueue(lambda one: "SchedulingGates" if one.spec.scheduling_gates else "")
    for each in pods:
        queue.add(each, now)
    return queue


def pop(queue: SchedulingQueue, now: float = 0.0) -> Waiting:
    found = queue.pop(now)
    assert found is not None
    return found


def all_names(queue: SchedulingQueue, now: float = 0.0) -> list[str]:
    names = []
    while (found := queue.pop(now)) is not None:
        names.append(found.facts.name)
    return names


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (1000, 10)]
)
def test_back_off_doubles_from_one_second_to_ten(failures: int, seconds: float) -> None:
    assert Backoff().seconds(failures) == seconds


def test_higher_priority_first_then_who_waits_longer() -> None:
    queue = open_queue(facts("low", priority=1), facts("first"), facts("second"))
    queue.add(facts("high", priority=10), 5.0)
    assert all_names(queue, 5.0) == ["high", "low", "first", "second"]


def test_a_rejected_pod_waits_for_a_change() -> None:
    queue = open_queue(facts("a"))
    queue.reject(pop(queue), {"NodeResourcesFit"}, 0.0)
    assert queue.pop(100.0) is None
    [waiting] = queue.unschedulable()
    queue.wake(waiting.uid, 100.0)
    assert pop(queue, 100.0).rejections == 1


def test_after_five_minutes_it_is_tried_anyway() -> None:
    queue = open_queue(facts("a"))
    queue.reject(pop(queue), {"NodeResourcesFit"}, 10.0)
    assert queue.next_time() == 310.0
    assert queue.pop(309.9) is None
    assert pop(queue, 310.0).facts.name == "a"


def test_a_pod_woken_early_backs_off_behind_those_that_are_ready() -> None:
    queue = open_queue(facts("again", priority=100))
    queue.reject(pop(queue), {"NodeResourcesFit"}, 0.0)
    queue.wake(queue.unschedulable()[0].uid, 0.5)
    queue.add(facts("new"), 0.5)
    assert all_names(queue, 0.5) == ["new", "again"]


def test_an_idle_scheduler_does_not_let_a_pod_wait_out_its_back_off_but_after_an_error() -> None:
    queue = open_queue(facts("rejected"), facts("failed"))
    queue.reject(pop(queue), {"NodeResourcesFit"}, 0.0)
    queue.fail(pop(queue), 0.0)
    queue.wake(queue.unschedulable()[0].uid, 0.0)
    assert all_names(queue, 0.0) == ["rejected"]
    assert queue.next_time() == 1.0
    assert all_names(queue, 1.0) == ["failed"]


def test_of_pods_whose_back_off_ends_in_one_second_the_highest_priority_is_taken_early() -> None:
    """The cases of upstream's ``TestBackoffQueueOrdering``."""
    pods = [("f", 1, 7.0), ("d", 1, 8.0), ("e", 2, 8.0), ("c", 2, 8.001), ("b", 1, 9.0), ("a", 1, 10.0)]
    queue = open_queue()
    for name, priority, rejected_at in pods:
        queue.add(facts(name, priority=priority), rejected_at)
        queue.reject(pop(queue, rejected_at), {"NodeResourcesFit"}, rejected_at)
    for waiting in queue.unschedulable():
        queue.wake(waiting.uid, waiting.since)
    assert [pop(queue, 7.0).facts.name for _ in pods] == ["f", "e", "c", "d", "b", "a"]
    assert queue.pop(7.0) is None


def test_pods_that_left_the_back_off_are_forgotten() -> None:
    queue = open_queue(facts("busy", priority=10))
    busy = pop(queue)
    for number in range(5 * STALE_ITEMS_MAX):
        now = 20.0 * number
        queue.reject(busy, {"NodeResourcesFit"}, now)
        queue.wake(busy.uid, now)
        busy = pop(queue, now + 10.0)
    queue.reject(busy, {"NodeResourcesFit"}, 0.0)
    assert len(queue._early) <= STALE_ITEMS_MAX + 2


def test_gates_hold_a_pod_until_they_are_gone() -> None:
    gated = pod("a", scheduling_gates=(PodSchedulingGate(name="g"),))
    uid = gated.metadata.uid or ""
    queue = open_queue(facts_of(gated))
    assert queue.place(uid) is Place.GATED
    assert queue.pop(1_000.0) is None
    opened = structs.replace(gated, spec=structs.replace(gated.spec, scheduling_gates=()))
    queue.update(facts_of(opened), 1_000.0, matters=True)
    assert all_names(queue, 1_000.0) == ["a"]


def test_an_update_that_does_not_matter_leaves_a_pod_waiting() -> None:
    queue = open_queue(facts("a"))
    waiting = pop(queue)
    queue.reject(waiting, {"NodeResourcesFit"}, 0.0)
    queue.update(waiting.facts, 50.0, matters=False)
    assert queue.place(waiting.uid) is Place.UNSCHEDULABLE
    queue.update(waiting.facts, 50.0, matters=True)
    assert queue.place(waiting.uid) is Place.ACTIVE


def test_activated_pod_is_tried_without_the_rest_of_its_back_off() -> None:
    queue = open_queue(facts("rejected"), facts("failed"))
    rejected, failed = pop(queue), pop(queue)
    queue.reject(rejected, {"NodeResourcesFit"}, 0.0)
    queue.fail(failed, 0.0)
    assert queue.activate(rejected.uid, 0.0)
    assert queue.activate(failed.uid, 0.0)
    assert all_names(queue, 0.0) == ["rejected", "failed"]
    assert not queue.activate(rejected.uid, 0.0), "a pod that is being tried is not in the queue"


def test_activated_pod_stays_behind_its_gates() -> None:
    gated = facts_of(pod("a", scheduling_gates=(PodSchedulingGate(name="g"),)))
    queue = open_queue(gated)
    assert queue.activate(gated.uid, 0.0)
    assert [waiting.uid for waiting in queue.gated()] == [gated.uid]
    assert queue.pop(0.0) is None


class QueueMachine(RuleBasedStateMachine):
    """Everything that can happen to pods, in any order, with time passing."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()
        self.queue = SchedulingQueue(lambda one: "Gate" if one.uid in self.held else "")
        self.now = 0.0
        self.known: dict[str, PodFacts] = {}
        self.tried: dict[str, Waiting] = {}

    def waiting(self) -> list[str]:
        return sorted(self.known.keys() - self.tried.keys())

    @rule(priority=st.integers(-2, 2), held=st.booleans())
    def arrive(self, priority: int, held: bool) -> None:
        one = facts(priority=priority)
        if held:
            self.held.add(one.uid)
        self.known[one.uid] = one
        self.queue.add(one, self.now)

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0, 60.0, 301.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def try_next(self) -> None:
        places = {uid: self.queue.place(uid) for uid in self.waiting()}
        due = self.queue.next_time()
        found = self.queue.pop(self.now)
        if found is None:
            assert Place.ACTIVE not in places.values()
            assert due is None or due > self.now or not places
            return
        assert found.uid not in self.tried
        assert found.uid not in self.held
        assert self.queue.place(found.uid) is None
        ready = [uid for uid, place in places.items() if place is Place.ACTIVE]
        if ready:
            assert found.facts.priority >= max(self.known[uid].priority for uid in ready)
        self.tried[found.uid] = found

    @precondition(lambda self: self.tried)
    @rule(which=st.integers(0), outcome=st.sampled_from(["bound", "rejected", "failed", "rejected and held"]))
    def settle(self, which: int, outcome: str) -> None:
        uid = sorted(self.tried)[which % len(self.tried)]
        waiting = self.tried.pop(uid)
        if outcome == "bound":
            del self.known[uid]
        elif outcome == "failed":
            self.queue.fail(waiting, self.now)
        else:
            if outcome == "rejected and held":
                self.held.add(uid)
            self.queue.reject(waiting, {"NodeResourcesFit"}, self.now)

    @precondition(lambda self: self.waiting())
    @rule(which=st.integers(0), matters=st.booleans())
    def change(self, which: int, matters: bool) -> None:
        uid = self.waiting()[which % len(self.waiting())]
        self.queue.update(self.known[uid], self.now, matters=matters)

    @precondition(lambda self: self.waiting())
    @rule(which=st.integers(0))
    def delete(self, which: int) -> None:
        uid = self.waiting()[which % len(self.waiting())]
        self.queue.remove(uid)
        del self.known[uid]

    @rule()
    def wake_all(self) -> None:
        for waiting in self.queue.unschedulable():
            self.queue.wake(waiting.uid, self.now)
        assert not self.queue.unschedulable()

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0), retry=st.booleans())
    def let_go(self, which: int, retry: bool) -> None:
        uid = sorted(self.held)[which % len(self.held)]
        self.held.discard(uid)
        self.queue.release(uid, self.now, retry=retry)

    @invariant()
    def nobody_is_lost_and_nobody_is_in_two_places(self) -> None:
        assert {one.uid for one in self.queue.pods()} == set(self.waiting())
        for uid in self.waiting():
            gated = self.queue.place(uid) is Place.GATED
            assert gated or uid not in self.held or self.queue.place(uid) is not Place.ACTIVE

    @invariant()
    def everyone_waiting_is_woken_by_time_alone(self) -> None:
        places = {self.queue.place(uid) for uid in self.waiting()}
        if places & {Place.BACKOFF, Place.UNSCHEDULABLE}:
            assert self.queue.next_time() is not None

    @invariant()
    def who_waits_is_sorted_by_how_long(self) -> None:
        since = [waiting.since for waiting in self.queue.unschedulable()]
        assert since == sorted(since)


TestQueueLaws = QueueMachine.TestCase
TestQueueLaws.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
