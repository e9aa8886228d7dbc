"""Plans for pods: tables of single decisions, and laws for sequences of plans."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from podling.api.core_v1 import Pod
from podling.kubelet.backoff import BackoffEntry
from podling.kubelet.containers.init_actions import KillReason
from podling.kubelet.pods.actions import PodPlan, plan_pod
from podling.kubelet.status.probe_view import ProbeResult, ProbeView
from podling.runtime.base import ContainerState
from tests.support.pod_worlds import START, World


def pod(*names: str, policy: str = "Always", **spec: Any) -> Pod:
    """Return a pod: ``i…`` are init containers, ``s…`` sidecars, all others regular ones."""
    init = [
        {"name": name, "image": "x", **({"restartPolicy": "Always"} if name[0] == "s" else {})}
        for name in names
        if name[0] in "is"
    ]
    regular = [{"name": name, "image": "x"} for name in names if name[0] not in "is"]
    plain = {
        "metadata": {"name": "web", "namespace": "default", "uid": "u"},
        "spec": {"restartPolicy": policy, "initContainers": init, "containers": regular, **spec},
    }
    return msgspec.convert(plain, Pod)


def world(subject: Pod, *steps: str) -> World:
    """Return a world with a sandbox and these steps: ``a`` runs, ``a:1`` ended with exit code 1."""
    made = World(subject)
    made.carry_out(PodPlan(create_sandbox=True))
    for step in steps:
        name, _, code = step.partition(":")
        made.run(name)
        if code:
            made.end(name, int(code))
    return made


def plan(made: World, **more: Any) -> PodPlan:
    return plan_pod(made.pod, made.observed, more.pop("backoff", {}), made.now, **more)


def started(found: PodPlan) -> list[str]:
    return [container.name for container in found.starts]


@pytest.mark.parametrize(
    ("names", "policy", "steps", "expected"),
    [
        ("a b", "Always", "", "start a b"),
        ("a b", "Always", "a b", "nothing"),
        ("a b", "Always", "a b:1", "start b"),
        ("a b", "OnFailure", "a b:1", "start b"),
        ("a b", "OnFailure", "a b:0", "nothing"),
        ("a b", "Never", "a b:1", "nothing"),
        ("a b", "OnFailure", "a:0 b:0", "kill pod"),
        ("a", "Never", "a:1", "kill pod"),
        ("i1 i2 a", "Always", "", "start i1"),
        ("i1 i2 a", "Always", "i1", "nothing"),
        ("i1 i2 a", "Always", "i1:0", "start i2"),
        ("i1 i2 a", "Always", "i1:1", "start i1"),
        ("i1 i2 a", "OnFailure", "i1:1", "start i1"),
        ("i1 i2 a", "Never", "i1:1", "kill pod"),
        ("i1 i2 a", "Never", "i1:0 i2:0", "start a"),
        ("i1 i2 a", "Always", "i2:0", "start a"),
        ("i1 i2 a", "Always", "i1:0 i2:0 a", "nothing"),
        ("i1 i2 a", "Always", "a", "nothing"),
        ("s1 i1 a", "Always", "", "start s1"),
        ("s1 i1 a", "Always", "s1", "start i1"),
        ("s1 i1 a", "Always", "s1 i1", "nothing"),
        ("s1 i1 a", "Always", "s1:1 i1", "start s1"),
        ("s1 i1 a", "Never", "s1 i1:0", "start a"),
        ("s1 a", "Never", "s1:1 a", "start s1"),
        ("s1 a", "Never", "s1:1 a:0", "kill pod"),
        ("s1 a", "Never", "s1 a:0", "kill pod"),
        ("s1 s2 a", "Always", "s1", "start s2"),
        ("s1 s2 a", "Always", "s1 s2", "start a"),
        ("s1 s2 a", "Always", "s1:0 s2:0 a", "start s1 s2"),
    ],
)
def test_plan_follows_the_containers_states(names: str, policy: str, steps: str, expected: str) -> None:
    found = plan(world(pod(*names.split(), policy=policy), *steps.split()))
    if found.kill_pod:
        recorded = "kill pod"
    elif found.starts:
        recorded = f"start {' '.join(started(found))}"
    else:
        recorded = "nothing" if found.idle else "something else"
    assert recorded == expected


def test_new_pod_gets_a_sandbox_first() -> None:
    found = plan(World(pod("a")))
    assert (found.create_sandbox, found.kill_pod, found.attempt) == (True, False, 0)
    assert started(found) == ["a"]


@pytest.mark.parametrize(
    ("names", "policy", "steps", "again", "starts"),
    [
        ("i1 a b", "Always", "i1:0 a b", True, ["i1"]),
        ("a b", "OnFailure", "a:0 b", True, ["b"]),
        ("a b", "OnFailure", "a:0 b:0", False, []),
        ("a b", "Never", "a b", True, ["a", "b"]),
        ("a b", "Always", "", True, ["a", "b"]),
    ],
)
def test_lost_sandbox_is_replaced(
    names: str, policy: str, steps: str, again: bool, starts: list[str]
) -> None:
    made = world(pod(*names.split(), policy=policy), *steps.split())
    made.sandboxes = [replace(sandbox, ready=False) for sandbox in made.sandboxes]
    found = plan(made)
    if policy == "Never":
        # A pod that never restarts gets no new sandbox once its containers have started.
        assert (found.kill_pod, found.create_sandbox) == (True, False)
        return
    assert (found.create_sandbox, started(found)) == (again, starts)
    assert found.kill_pod


def test_a_changed_image_replaces_the_running_container() -> None:
    made = world(pod("a", "b", policy="Never"), "a", "b")
    changed = tuple(structs.replace(c, image="y") if c.name == "a" else c for c in made.pod.spec.containers)
    made.pod = structs.replace(made.pod, spec=structs.replace(made.pod.spec, containers=changed))
    found = plan(made)
    assert [kill.message for kill in found.kill] == ["Container a definition changed, will be restarted"]
    assert started(found) == ["a"]


@pytest.mark.parametrize(("policy", "starts"), [("Always", ["a"]), ("OnFailure", ["a"]), ("Never", [])])
def test_failed_liveness_probe_restarts_the_container(policy: str, starts: list[str]) -> None:
    made = world(pod("a", "b", policy=policy), "a", "b")
    container = made.observed.newest("a")
    assert container is not None
    found = plan(made, probes=ProbeView(liveness={container.id: ProbeResult.FAILURE}))
    assert [kill.name for kill in found.kill] == ["a"]
    assert found.kill[0].message.endswith("will be restarted") == bool(starts)
    assert started(found) == starts


def test_container_in_back_off_is_held() -> None:
    made = world(pod("a", "b"), "a:1", "b")
    entry = BackoffEntry(40, START)
    found = plan(made, backoff={"a": entry})
    assert found.idle
    (held,) = found.held
    assert held.until == made.containers[0].finished_at + timedelta(seconds=40)  # type: ignore[operator]
    assert found.wake_at == held.until
    made.tick(60)
    assert started(plan(made, backoff={"a": entry})) == ["a"]


def test_changed_image_starts_without_back_off() -> None:
    made = world(pod("a", "b"), "a:1", "b")
    changed = tuple(structs.replace(c, image="y") if c.name == "a" else c for c in made.pod.spec.containers)
    made.pod = structs.replace(made.pod, spec=structs.replace(made.pod.spec, containers=changed))
    found = plan(made, backoff={"a": BackoffEntry(40, START)})
    assert started(found) == ["a"]
    assert not found.held


def test_new_sandbox_does_not_shorten_the_back_off() -> None:
    made = world(pod("a", "b"), "a:1", "b")
    made.lose_power()
    found = plan(made, backoff={"a": BackoffEntry(40, START)})
    assert found.create_sandbox
    assert started(found) == ["b"]
    assert [held.container.name for held in found.held] == ["a"]


def test_an_ephemeral_container_starts_once_even_while_init_fails() -> None:
    ephemeral = [{"name": "debug", "image": "x"}]
    made = world(pod("i1", "a", ephemeralContainers=ephemeral), "i1:1")
    assert started(plan(made)) == ["debug", "i1"]
    made.run("debug")
    made.end("debug", 1)
    assert started(plan(made)) == ["i1"]


def test_nothing_starts_in_a_pod_that_is_being_deleted() -> None:
    made = world(pod("a", "b"), "a", "b:1")
    metadata = structs.replace(made.pod.metadata, deletion_timestamp=START)
    made.pod = structs.replace(made.pod, metadata=metadata)
    assert plan(made).idle


def test_created_container_is_started_anew() -> None:
    made = world(pod("a", policy="Never"), "a")
    made.containers = [replace(found, state=ContainerState.CREATED) for found in made.containers]
    assert started(plan(made)) == ["a"]


@pytest.mark.parametrize(
    ("names", "before", "name", "after"),
    [
        ("a b", "b", "a", "a"),
        ("a b", "b", "a", "a:1"),
        ("s1 a", "a", "s1", "s1"),
        ("s1 a", "a", "s1", "s1:1"),
        ("i1 a", "", "i1", "i1"),
        ("i1 a", "", "i1", "i1:0 a"),
    ],
)
def test_forgotten_container_ends_once_its_successor_exists(
    names: str, before: str, name: str, after: str
) -> None:
    """One instance of a container runs at any time, also if the successor has ended."""
    made = world(pod(*names.split()), *before.split(), name)
    forgotten = made.containers.pop()
    assert started(plan(made)) == [name]
    for step in after.split():
        made.run(step.partition(":")[0])
        if ":" in step:
            made.end(step.partition(":")[0], int(step[-1]))
    assert forgotten.id not in [kill.container_id for kill in plan(made).kill]
    made.containers.append(forgotten)
    (kill,) = plan(made).kill
    assert (kill.container_id, kill.name, kill.reason) == (forgotten.id, name, KillReason.UNKNOWN_STATE)


NAMES = ("i1", "s1", "i2", "s2", "a", "b")


@st.composite
def fates(draw: st.DrawFn) -> tuple[Pod, list[tuple[str, int]]]:
    """Draw a pod, and the fates of its containers (or of the whole machine) between plans."""
    names = draw(st.lists(st.sampled_from(NAMES[:-2]), unique=True, max_size=4))
    names += draw(st.sampled_from([["a"], ["a", "b"]]))
    policy = draw(st.sampled_from(["Always", "OnFailure", "Never"]))
    fate = st.tuples(st.sampled_from([*names, "power"]), st.sampled_from([0, 1]))
    return pod(*names, policy=policy), draw(st.lists(fate, max_size=8))


@given(fates())
@settings(max_examples=300, deadline=None)
def test_plans_converge_and_keep_their_laws(drawn: tuple[Pod, list[tuple[str, int]]]) -> None:
    subject, fate = drawn
    made = World(subject)
    for name, code in [*fate, ("", 0)]:
        settle(made)
        if name == "power":
            made.lose_power()
        elif name:
            made.end(name, code)


def settle(made: World) -> None:
    """Carry plans out until nothing is left to do; init containers succeed at once."""
    for _ in range(40):
        found = plan(made)
        check_laws(made, found)
        if found.idle or (found.kill_pod and not found.create_sandbox and not made.observed.running):
            return
        made.carry_out(found)
        for container in made.pod.spec.init_containers:
            if container.restart_policy != "Always":
                made.end(container.name, 0)
    pytest.fail("plans never come to rest")


def check_laws(made: World, found: PodPlan) -> None:
    running = [container.name for container in made.observed.running]
    killed = {kill.name for kill in found.kill}
    assert len(running) == len(set(running)), "two of one container run"
    if not found.kill_pod:
        assert not (set(started(found)) & set(running)) - killed, "starts what runs already"
    if found.kill_pod and not found.create_sandbox:
        assert not found.starts, "starts something in a pod that is over"
    regular = {container.name for container in made.pod.spec.containers}
    if set(started(found)) & regular and not found.create_sandbox:
        for container in made.pod.spec.init_containers:
            if container.restart_policy != "Always":
                newest = made.observed.current(container.name)
                assert newest is None or newest.exit_code == 0, "initialisation is not over"
