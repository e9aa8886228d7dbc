"""Laws of the pure decisions, on random histories: valid changes of statuses, valid plans.

A history is a list of fates: containers end or start by themselves, the runtime loses some, probes have
results, the sandbox or the whole machine fails. After each the kubelet decides, and the laws are checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from podling.api.core_v1 import Container, ContainerStatus, Pod, PodStatus
from podling.apiserver.kinds.pod.pod_status_update import validate_status_update
from podling.kubelet.backoff import BackoffEntry, BackoffPolicy, next_entry, waits_until
from podling.kubelet.pods.actions import PodPlan, plan_pod
from podling.kubelet.probes.probes import ProbeKind, ProbeState, Thresholds, initial_state, observe
from podling.kubelet.status.container_statuses import ContainerFacts
from podling.kubelet.status.phase import TERMINAL_PHASES
from podling.kubelet.status.probe_view import ProbeResult, ProbeView
from podling.kubelet.status.status import PodFacts, pod_status
from podling.kubelet.status.status_merge import merge_status, terminated_status
from podling.machinery.conditions import find
from podling.machinery.pods import is_sidecar
from podling.runtime.base import ContainerState
from tests.support.pod_worlds import START, World

FACTS = PodFacts(ContainerFacts("sim"))
Fate = tuple[str, str, int]


def made(names: Iterable[str], policy: str) -> Pod:
    """Return a pod: ``i…`` are init containers, ``s…`` sidecars, ``e…`` ephemeral ones.

    ``a2`` never starts again unless it ended with 1, under any policy of the pod.
    """
    init: list[dict[str, Any]] = []
    lists: dict[str, list[dict[str, Any]]] = {"a": [], "e": []}
    for name in names:
        plain: dict[str, Any] = {"name": name, "image": "x"}
        if name[0] == "s":
            plain["restartPolicy"] = "Always"
        if name == "a2":
            rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
            plain |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
        if name[0] != "e":
            plain["livenessProbe"] = {} if name[0] != "i" else None
        (init if name[0] in "is" else lists[name[0]]).append(plain)
    spec = {
        "restartPolicy": policy,
        "initContainers": init,
        "containers": lists["a"],
        "ephemeralContainers": lists["e"],
    }
    metadata = {"name": "web", "namespace": "default", "uid": "u", "generation": 1}
    status = {"phase": "Pending", "qosClass": "BestEffort"}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Pod, list[Fate]]:
    names = draw(st.lists(st.sampled_from(["i1", "s1", "i2", "s2"]), unique=True, max_size=3))
    names += draw(st.sampled_from([["a1"], ["a1", "a2"]]))
    names += draw(st.sampled_from([[], ["e1"]]))
    policy = draw(st.sampled_from(["Always", "OnFailure", "Never"]))
    kinds = ["end", "end", "end", "unhealthy", "forget", "lose", "start", "sandbox", "power"]
    fate = st.tuples(st.sampled_from(kinds), st.sampled_from(names), st.sampled_from([0, 1]))
    return made(names, policy), draw(st.lists(fate, min_size=1, max_size=12))


class History:
    """One pod's world, with the kubelet's observations and statuses."""

    def __init__(self, pod: Pod) -> None:
        self.world = World(pod)
        self.unhealthy: dict[str, ProbeResult] = {}
        self.decided = pod.status
        self.api = pod

    @property
    def probes(self) -> ProbeView:
        return ProbeView(liveness=self.unhealthy)

    def befall(self, fate: Fate) -> None:
        kind, name, code = fate
        world = self.world
        world.tick()
        if kind == "end":
            world.end(name, code)
        elif kind == "start":
            if world.sandboxes and not self._runs(name):
                world.run(name)
        elif kind == "power":
            world.lose_power()
        elif kind == "sandbox":
            world.sandboxes = [replace(sandbox, ready=False) for sandbox in world.sandboxes]
        elif kind == "unhealthy":
            for found in world.observed.running:
                if found.name == name and name[0] in "as":
                    self.unhealthy[found.id] = ProbeResult.FAILURE
        else:
            gone = ContainerState.EXITED if kind == "forget" else ContainerState.RUNNING
            world.containers = [c for c in world.containers if c.name != name or c.state is not gone]

    def _runs(self, name: str) -> bool:
        return any(found.name == name for found in self.world.observed.running)

    def plan(self) -> PodPlan:
        return plan_pod(self.world.pod, self.world.observed, {}, self.world.now, self.probes)

    def report(self) -> None:
        """Decide the status and send it, and check both against their laws."""
        world = self.world
        decided = pod_status(world.pod, world.observed, self.probes, self.decided, FACTS, world.now)
        hold(self.decided, decided)
        ready = find(decided.conditions, "Ready")
        if ready is not None and ready.status == "True":
            assert all(found.ready for found in decided.container_statuses)
        merged = merge_status(self.api, decided, may_run=bool(world.observed.running))
        hold(self.api.status, merged)
        sent = structs.replace(self.api, status=merged)
        assert validate_status_update(sent, self.api) == [], "the API refuses the status"
        if merged.phase in TERMINAL_PHASES and self.api.status.phase not in TERMINAL_PHASES:
            assert not world.observed.running, "told to be over while something runs"
        if not world.observed.running:
            ended = terminated_status(world.pod, decided)
            hold(decided, ended)
            assert ended.phase in TERMINAL_PHASES
        self.decided, self.api = decided, sent


def statuses(status: PodStatus) -> dict[str, ContainerStatus]:
    return {found.name: found for found in (*status.init_container_statuses, *status.container_statuses)}


def hold(before: PodStatus, after: PodStatus) -> None:
    """Check two successive statuses of one pod."""
    if before.phase in TERMINAL_PHASES:
        assert after.phase == before.phase, "a terminal phase was left"
        assert after.reason == before.reason
    old = statuses(before)
    for found in statuses(after).values():
        kinds = (found.state.running, found.state.waiting, found.state.terminated)
        assert sum(kind is not None for kind in kinds) == 1, "not exactly one state"
        if found.name in old:
            assert found.restart_count >= old[found.name].restart_count, "a restart count fell"
            assert found.restart_count <= old[found.name].restart_count + 20
    assert before.start_time in (None, after.start_time), "the start time moved"
    assert (after.observed_generation or 0) >= (before.observed_generation or 0)
    ready = find(after.conditions, "Ready")
    if ready is not None and ready.status == "True":
        assert after.phase not in TERMINAL_PHASES, "over but ready"
    for condition in after.conditions:
        held = find(before.conditions, condition.type)
        if held is not None and held.status == condition.status:
            assert held.last_transition_time == condition.last_transition_time, "moved without a reason"


@given(histories())
@settings(max_examples=200, deadline=None)
def test_statuses_keep_their_laws(drawn: tuple[Pod, list[Fate]]) -> None:
    history = History(drawn[0])
    history.report()
    for fate in drawn[1]:
        for _ in range(3):
            plan = history.plan()
            if history.decided.phase not in TERMINAL_PHASES:
                history.world.carry_out(plan)
            history.report()
        history.befall(fate)
        history.report()


PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])


@given(PHASES, PHASES, st.booleans())
def test_phase_has_a_matching_history(held: str, decided: str, may_run: bool) -> None:
    pod = structs.replace(made(["a1"], "Always"), status=PodStatus(phase=held, reason="Held"))
    merged = merge_status(pod, PodStatus(phase=decided, reason="Decided"), may_run=may_run)
    kept = held in TERMINAL_PHASES or (decided in TERMINAL_PHASES and may_run)
    assert (merged.phase, merged.reason) == ((held, "Held") if kept else (decided, "Decided"))


# Plans.


class Started:
    """The containers that a pod's plans have started since the sandbox was created."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.ephemeral: set[str] = set()

    def take(self, history: History, plan: PodPlan) -> None:
        """Check the next plan against the laws of planning."""
        world = history.world
        observed = world.observed
        running = {found.name: found for found in observed.running}
        assert len(running) == len(observed.running), "two of one container run"
        killed = {kill.name for kill in plan.kill}
        starts = {container.name for container in plan.starts}
        assert not (starts & set(running)) - killed or plan.kill_pod, "starts what runs already"
        assert all(running[kill.name].id == kill.container_id for kill in plan.kill), (
            "kills what does not run"
        )
        if plan.create_sandbox:
            assert plan.kill_pod or not observed.sandboxes, "leaves what the old sandbox holds"
            self.names.clear()
        elif plan.kill_pod:
            assert not starts, "starts something in a pod that is over"
        if not plan.create_sandbox and any(observed.current(c.name) for c in world.pod.spec.containers):
            assert all(is_sidecar(c) for c in plan.start_init), "initialises an initialised pod"
        for container in plan.start_ephemeral:
            assert container.name not in self.ephemeral, "starts an ephemeral container again"
            self.ephemeral.add(container.name)
        for container in (*plan.start_init, *plan.start):
            self._may_start(history, container, running)
            self.names.add(container.name)
        if plan.idle and observed.running:
            self._nothing_waits_for_sidecars(history)

    def _may_start(self, history: History, container: Container, running: dict[str, Any]) -> None:
        spec = history.world.pod.spec
        newest = history.world.observed.current(container.name)
        if is_sidecar(container) or container.name not in self.names or newest is None:
            return
        policy = "OnFailure" if container.restart_policy_rules else spec.restart_policy
        ended = newest.exit_code if newest.state is ContainerState.EXITED else None
        if container in spec.init_containers:
            assert ended != 0, "runs an init container again that had succeeded"
        if ended is not None:
            assert (
                policy == "Always" or (policy == "OnFailure" and ended != 0) or (ended and policy != "Never")
            ), f"starts {container.name} again against its policy"
        else:
            assert policy != "Never", "starts a container again that was killed"

    def _nothing_waits_for_sidecars(self, history: History) -> None:
        spec = history.world.pod.spec
        others = [c for c in (*spec.init_containers, *spec.containers) if not is_sidecar(c)]
        names = {container.name for container in others}
        assert names & {found.name for found in history.world.observed.running} or any(
            history.world.observed.current(name) is None for name in names
        ), "only sidecars are left, and the pod goes on"


AGAIN = (made(["i1", "a1"], "Always"), [("end", "i1", 0), ("start", "i1", 0), ("end", "i1", 1)])
"""An init container that runs once more without a plan, and then fails."""


@given(histories())
@example(AGAIN)
@settings(max_examples=300, deadline=None)
def test_plans_keep_their_laws_and_come_to_rest(drawn: tuple[Pod, list[Fate]]) -> None:
    history, started = History(drawn[0]), Started()
    for fate in (*drawn[1], None):
        before: PodPlan | None = None
        for _ in range(30):
            plan = history.plan()
            started.take(history, plan)
            assert plan == history.plan(), "the same world, another plan"
            if plan.idle or (plan.kill_pod and not plan.create_sandbox):
                break
            if before is not None:
                again = {c.name for c in plan.starts} & {c.name for c in before.starts}
                assert not again or plan.create_sandbox != before.create_sandbox, (
                    "asks for the same once more"
                )
            before = plan
            history.world.carry_out(plan)
            for container in history.world.pod.spec.init_containers:
                if not is_sidecar(container) and fate is None:
                    history.world.end(container.name, 0)
        else:
            raise AssertionError("plans never come to rest")
        if plan.kill_pod and not plan.create_sandbox:
            return
        if fate is not None:
            history.befall(fate)
            if fate[0] in ("forget", "lose"):
                started.ephemeral.discard(fate[1])  # the runtime has lost the container


# Probes.

RESULTS = st.lists(st.sampled_from([ProbeResult.SUCCESS, ProbeResult.FAILURE]), max_size=30)
NUMBERS = st.builds(Thresholds, st.just(0), st.just(1), st.just(1), st.integers(1, 4), st.integers(1, 4))


def verdict(kind: ProbeKind, numbers: Thresholds, results: list[ProbeResult]) -> ProbeState:
    state = initial_state(kind)
    for result in results:
        state = observe(state, numbers, result)
    return state


def in_a_row(results: list[ProbeResult]) -> int:
    """Return how many results at the end are equal."""
    return next((n for n, found in enumerate(reversed(results)) if found is not results[-1]), len(results))


@given(st.sampled_from(list(ProbeKind)), NUMBERS, RESULTS)
def test_a_verdict_needs_as_many_equal_results_in_a_row(
    kind: ProbeKind, numbers: Thresholds, results: list[ProbeResult]
) -> None:
    expected = initial_state(kind).result
    for end in range(1, len(results) + 1):
        final = kind is ProbeKind.STARTUP and expected is not ProbeResult.UNKNOWN
        final = final or (kind is ProbeKind.LIVENESS and expected is ProbeResult.FAILURE)
        needed = numbers.failure if results[end - 1] is ProbeResult.FAILURE else numbers.success
        if not final and in_a_row(results[:end]) >= needed:
            expected = results[end - 1]
        assert verdict(kind, numbers, results[:end]).result is expected


# Back-off.


@given(st.lists(st.integers(0, 1500), min_size=1, max_size=25), st.sampled_from([10, 60, 300]))
def test_waits_double_until_a_long_run_makes_up_for_them(runs: list[int], most: int) -> None:
    """Each container runs for so long, ends, waits for its back-off and starts again."""
    policy = BackoffPolicy(max_seconds=most)
    entry: BackoffEntry | None = None
    now, expected = START, 0.0
    for run in runs:
        now = ended = now + timedelta(seconds=run)
        made_up = entry is None or run > 600
        until = waits_until(entry, ended, now)
        assert ((until - ended).total_seconds() if until else 0.0) == (0.0 if made_up else expected)
        now = until or now
        entry = next_entry(entry, ended, now, policy)
        expected = 10.0 if made_up else min(2 * expected, most)
        assert entry == BackoffEntry(expected, now)
