"""Probes that succeed as before are not made again, and all is as if they were made in each period."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podling import clock
from podling.api.core_v1 import Event, Pod, Probe
from podling.client.base import WatchEventType
from podling.kubelet.probes.probes import (
    ProbeKind,
    ProbeState,
    initial_state,
    is_settled,
    observe,
    thresholds,
)
from podling.kubelet.status.probe_view import ProbeResult
from podling.machinery.encoding import codec
from podling.runtime.base import ContainerState, RuntimeFailure
from podling.runtime.sim import ContainerScript, ExecScript, Fault, FaultyRuntime, ProbeScript
from podling.runtime.sim.life import Life
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.kubelet_node import SimNode, condition, pod, sim_node

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE
HANDLERS: dict[str, dict[str, Any]] = {
    "exec": {"exec": {"command": ["ask"]}},
    "httpGet": {"httpGet": {"port": 80, "path": "/ready"}},
    "tcpSocket": {"tcpSocket": {"port": 80}},
    "grpc": {"grpc": {"port": 80}},
}

results = st.lists(st.sampled_from([SUCCESS, FAILURE]), max_size=12)
numbers = st.builds(
    lambda success, failure: thresholds(Probe(success_threshold=success, failure_threshold=failure)),
    st.integers(1, 3),
    st.integers(1, 3),
)


def after(state: ProbeState, probe: Any, found: Sequence[ProbeResult]) -> list[ProbeResult]:
    """Return the verdicts after each of some results."""
    verdicts = []
    for each in found:
        state = observe(state, probe, each)
        verdicts.append(state.result)
    return verdicts


@given(
    st.sampled_from(ProbeKind), st.sampled_from([None, SUCCESS]), numbers, results, st.integers(0, 9), results
)
def test_successes_of_a_settled_probe_may_be_left_out(
    kind: ProbeKind,
    carried: ProbeResult | None,
    probe: Any,
    before: list[ProbeResult],
    left_out: int,
    later: list[ProbeResult],
) -> None:
    state = initial_state(kind, carried)
    for each in before:
        state = observe(state, probe, each)
    if not is_settled(state):
        return
    more = [SUCCESS] * left_out
    assert after(state, probe, [*more, *later]) == [*more, *after(state, probe, later)]


@pytest.mark.parametrize(
    ("found", "settled"),
    [
        ([], False),
        ([SUCCESS], False),
        ([SUCCESS, SUCCESS], True),
        ([SUCCESS, SUCCESS, FAILURE], False),
        ([SUCCESS, SUCCESS, FAILURE, FAILURE], False),
        ([SUCCESS, SUCCESS, FAILURE, SUCCESS], True),
        ([FAILURE] * 9, False),
    ],
)
def test_readiness_is_settled_by_successes_only(found: list[ProbeResult], settled: bool) -> None:
    probe = thresholds(Probe(success_threshold=2, failure_threshold=3))
    state = initial_state(ProbeKind.READINESS)
    for each in found:
        state = observe(state, probe, each)
    assert is_settled(state) == settled


def probed(handler: str, **more: Any) -> dict[str, Any]:
    return {**HANDLERS[handler], "periodSeconds": 10, **more}


def attempts(node: SimNode, kind: str = "Readiness") -> Counter[str]:
    """Return how many probes of a kind were made, by their results."""
    counts: Counter[str] = Counter()
    for labels, count in node.kubelet.pod_view.probe_counts().items():
        if labels.probe_type == kind:
            counts[labels.result] += count
    return counts


def answering(handler: str, **answer: Any) -> dict[str, Any]:
    """Return the fields of a script with an answer to a probe by this handler."""
    if handler != "exec":
        return {"probes": [answer]}
    success = answer.pop("success", True)
    return {"exec": [{**answer, "exitCode": int(not success)}]}


@pytest.mark.parametrize("handler", HANDLERS)
async def test_hours_take_one_attempt_until_the_answer_changes(node: SimNode, handler: str) -> None:
    container = {"name": "app", "image": "app:1", "readinessProbe": probed(handler, failureThreshold=2)}
    script = answering(handler, after=7255, success=False)
    await node.create(pod(containers=[container], script=script))
    await node.pass_time(60)
    made = attempts(node)
    await node.pass_time(7260 - 60 + 9)
    assert attempts(node) == made + Counter(failed=1)
    assert condition(await node.get(), "Ready") == "True"
    await node.pass_time(10)
    assert condition(await node.get(), "Ready") == "False ContainersNotReady"
    assert attempts(node) == made + Counter(failed=2)


@pytest.mark.parametrize("handler", HANDLERS)
async def test_probe_that_takes_time_is_made_in_each_period(node: SimNode, handler: str) -> None:
    container = {"name": "app", "image": "app:1", "readinessProbe": probed(handler)}
    await node.create(pod(containers=[container], script=answering(handler, seconds=0.5)))
    await node.pass_time(605)
    assert attempts(node) == Counter(successful=61)


@pytest.mark.parametrize("handler", HANDLERS)
async def test_failures_are_counted_in_each_period(node: SimNode, handler: str) -> None:
    """The container's liveness is never settled, and it is killed in the end."""
    failing = answering(handler, success=False)
    container = {
        "name": "app",
        "image": "app:1",
        "readinessProbe": probed(handler),
        "livenessProbe": probed(handler, failureThreshold=55),
    }
    await node.create(pod(containers=[container], script=failing))
    await node.pass_time(535)
    assert attempts(node) == Counter(failed=54)
    assert (await node.get()).status.container_statuses[0].restart_count == 0
    await node.pass_time(10)
    assert (await node.get()).status.container_statuses[0].restart_count == 1


async def test_success_below_the_threshold_is_followed_by_the_next_attempt(node: SimNode) -> None:
    container = {
        "name": "app",
        "image": "app:1",
        "readinessProbe": probed("exec", successThreshold=20),
        "livenessProbe": probed("exec"),
    }
    await node.create(pod(containers=[container]))
    await node.pass_time(185)
    assert condition(await node.get(), "Ready") == "False ContainersNotReady"
    await node.pass_time(10)
    assert condition(await node.get(), "Ready") == "True"
    await node.pass_time(3600)
    assert attempts(node) == Counter(successful=20)


async def test_probe_that_cannot_be_made_is_tried_in_each_period(node: SimNode) -> None:
    """The answer that cannot change is not the probe's."""
    container = {"name": "app", "image": "app:1", "livenessProbe": {"tcpSocket": {"port": "nowhere"}}}
    await node.create(pod(containers=[container]))
    await node.pass_time(95)
    assert attempts(node, "Liveness") == Counter(unknown=10)


# Random lives: a node that makes each probe in each period lives through the same. No two probes are made at
# the same moment, at which their order, and so the random names of what follows, could be another one.

times = st.sampled_from([0, 20, 60, 61.3, 299.999, 300.0000004, 700])
waits = st.sampled_from([0, 0, 0, 0.3, 2])


def probe(initial_delay: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """Return probes every ten or twenty seconds from so many seconds on."""
    return st.builds(
        lambda handler, more: {**HANDLERS[handler], "initialDelaySeconds": initial_delay, **more},
        st.sampled_from(sorted(HANDLERS)),
        st.fixed_dictionaries(
            {"periodSeconds": st.sampled_from([10, 20]), "failureThreshold": st.integers(1, 3)},
            optional={"timeoutSeconds": st.just(2)},
        ),
    )


probes = st.one_of(
    st.fixed_dictionaries({"livenessProbe": probe(3)}, optional={"readinessProbe": probe(7)}),
    st.fixed_dictionaries({"readinessProbe": probe()}, optional={"startupProbe": probe()}),
    st.fixed_dictionaries({"livenessProbe": probe()}, optional={"startupProbe": probe()}),
)


def script(number: int) -> st.SearchStrategy[dict[str, Any]]:
    """Return scripts of containers whose probes are not made at the moments of those of other numbers."""
    answers = st.fixed_dictionaries({"after": times, "success": st.booleans(), "seconds": waits})
    commands = st.fixed_dictionaries({"after": times, "exitCode": st.integers(0, 1), "seconds": waits})
    return st.fixed_dictionaries(
        {
            "startSeconds": st.just(0.11 + 0.37 * number),
            "runs": st.sampled_from([[{}], [{"seconds": 333.3 + 0.01 * number, "exitCode": 1}, {}]]),
            "stopSeconds": st.sampled_from([0, 4]),
            "probes": st.lists(answers, max_size=4),
            "exec": st.lists(commands, max_size=4),
        }
    )


def probed_pod(number: int) -> st.SearchStrategy[Pod]:
    return st.builds(
        lambda found, life: pod(
            f"pod-{number}",
            containers=[{"name": "app", "image": "app:1", **found}],
            script=life,
            terminationGracePeriodSeconds=7,
        ),
        probes,
        script(number),
    )


HAPPENINGS = ("nothing", "restart", "faults", "no faults", "script", "end", "delete")
happenings = st.lists(
    st.tuples(st.sampled_from([1.517, 10.619, 60.123, 700.871]), st.sampled_from(HAPPENINGS)), max_size=6
)


async def happen(node: SimNode, what: str, subjects: list[Pod]) -> None:
    runtime = node.runtime
    assert isinstance(runtime, FaultyRuntime)
    running = [each for each in await runtime.list_containers() if each.state is ContainerState.RUNNING]
    if what == "restart":
        await node.restart()
    elif what == "faults":
        runtime.faults.append(Fault(verb="exec", error=RuntimeFailure("down")))
    elif what == "no faults":
        runtime.faults.clear()
    elif what == "script" and running:
        failing = ContainerScript(exec=(ExecScript(exit_code=1),), probes=(ProbeScript(success=False),))
        runtime.rescript(running[0].id, failing)
    elif what == "end" and running:
        runtime.end(running[0].id, 3)
    elif what == "delete" and subjects:
        await node.delete(subjects.pop().metadata.name or "")


async def history(subjects: Sequence[Pod], happening: list[tuple[float, str]], root: Path) -> list[Any]:
    """Return all versions of the pods with their times, and their events."""
    found: list[Any] = []

    async def follow(node: SimNode) -> None:
        async for event in node.client.watch(Pod, "default", resource_version="0"):
            if event.type is not WatchEventType.BOOKMARK:
                found.append((round(clock.monotonic(), 6), event.type, plain(event.object)))

    async with memory_cluster() as plane, sim_node(plane, root, runtime=FaultyRuntime()) as node:
        following = asyncio.create_task(follow(node))
        for subject in subjects:
            await node.create(subject)
        left = list(subjects)
        for seconds, what in happening:
            await node.pass_time(seconds)
            await happen(node, what, left)
        await node.pass_time(800)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        return [*found, *(plain(each) for each in (await node.client.list(Event, "default")).items)]


def plain(obj: Any) -> Any:
    """Return an object without its revision."""
    found = msgspec.json.decode(codec.encode(obj))
    found["metadata"].pop("resourceVersion")
    return found


@given(st.tuples(probed_pod(0), probed_pod(1)), happenings)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lives_are_those_with_a_probe_in_each_period(
    subjects: Sequence[Pod], happening: list[tuple[float, str]]
) -> None:
    def lived() -> list[Any]:
        with tempfile.TemporaryDirectory() as directory:
            return loop.run(history(subjects, happening, Path(directory)), seed=7)

    skipping = lived()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Life, "seconds_to_next_answer", lambda life: 0.0)
        assert skipping == lived()
