"""Jobs run pods to their end: how many at once, how often again, and when they are over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.batch_v1 import (
    Job,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from podling.api.core_v1 import Binding, ObjectReference, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.job_indexes import INDEX, Indexes, rule_met
from podling.controllers.workloads.job_pod_rules import FINALIZER
from podling.machinery.conditions import find
from podling.testing import ControlPlane
from tests.support.control_loops import running, told
from tests.support.workloads import job


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, JobController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def start(cluster: ControlPlane, wanted: Job) -> None:
    await cluster.client.create(wanted)
    await cluster.advance(seconds=1)


async def current(cluster: ControlPlane) -> Job:
    return await cluster.client.get(Job, "sum", "default")


async def pods(cluster: ControlPlane, phase: str = "Pending") -> list[Pod]:
    found = (await cluster.client.list(Pod, "default")).items
    return [each for each in found if each.status.phase == phase]


async def end(cluster: ControlPlane, *ended: Pod, code: int = 0, wait: float = 1) -> None:
    """These pods end with an exit code, as their kubelet would report."""
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    for each in ended:
        state = {"terminated": {"exitCode": code, "finishedAt": now}}
        statuses = [{"name": "main", "state": state, "restartCount": 0}]
        patch = {"status": {"phase": "Failed" if code else "Succeeded", "containerStatuses": statuses}}
        await cluster.client.patch(Pod, each.metadata.name or "", patch, "default", subresource="status")
    await cluster.advance(seconds=wait)


def conditions(held: Job) -> list[tuple[str, str]]:
    return [(each.type, each.reason or "") for each in held.status.conditions if each.status == "True"]


@pytest.mark.usefixtures("manager")
async def test_a_pod_that_succeeds_completes_the_job(cluster: ControlPlane) -> None:
    await start(cluster, job())
    (only,) = await pods(cluster)
    assert FINALIZER in only.metadata.finalizers
    held = await current(cluster)
    assert (held.status.active, held.status.ready, held.status.terminating) == (1, 0, 0)
    assert held.status.start_time is not None
    await end(cluster, only)
    held = await current(cluster)
    assert conditions(held) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert (held.status.succeeded, held.status.active, held.status.failed) == (1, 0, 0)
    assert held.status.completion_time is not None
    (done,) = await pods(cluster, "Succeeded")
    assert done.metadata.finalizers == ()
    lines = [line.split(": ")[0] for line in await told(cluster.client)]
    assert lines == ["Normal SuccessfulCreate sum", "Normal Completed sum"]


@pytest.mark.usefixtures("manager")
async def test_job_with_surplus_successes_warns(cluster: ControlPlane) -> None:
    """A client creates a pod for the job that the controller did not start."""
    await start(cluster, job())
    (only,) = await pods(cluster)
    twin = ObjectMeta(
        name="twin",
        namespace="default",
        labels=only.metadata.labels,
        finalizers=only.metadata.finalizers,
        owner_references=only.metadata.owner_references,
    )
    other = await cluster.client.create(Pod(metadata=twin, spec=only.spec))
    await end(cluster, only, other)
    assert (await current(cluster)).status.succeeded == 2
    # Both belong to one moment, so their names have no certain order.
    assert {line for line in await told(cluster.client) if "SuccessfulCreate" not in line} == {
        "Warning TooManySucceededPods sum: Too many succeeded pods running after completion count reached",
        "Normal Completed sum: Job completed",
    }


@pytest.mark.usefixtures("manager")
async def test_pods_run_side_by_side_until_enough_succeeded(cluster: ControlPlane) -> None:
    await start(cluster, job(completions=5, parallelism=2))
    counts = []
    while running_now := await pods(cluster):
        counts.append(len(running_now))
        await end(cluster, running_now[0])
    assert counts == [2, 2, 2, 2, 1]
    assert (await current(cluster)).status.succeeded == 5


@pytest.mark.usefixtures("manager")
async def test_without_a_number_the_first_success_ends_the_work_queue(cluster: ControlPlane) -> None:
    wanted = job(parallelism=3)
    await start(cluster, structs.replace(wanted, spec=structs.replace(wanted.spec, completions=None)))
    first, *others = await pods(cluster)
    await end(cluster, first)
    assert len(await pods(cluster)) == 2, "the others finish what they are at, and are not replaced"
    assert conditions(await current(cluster)) == []
    await end(cluster, *others)
    assert ("Complete", "CompletionsReached") in conditions(await current(cluster))


@pytest.mark.usefixtures("manager")
async def test_failures_are_retried_later_and_later_and_then_given_up(cluster: ControlPlane) -> None:
    await start(cluster, job(backoff_limit=2))
    waits = []
    for _ in range(2):
        (only,) = await pods(cluster)
        failed_at = clock.monotonic()
        await end(cluster, only, code=1, wait=0)
        while not await pods(cluster):
            await cluster.advance(seconds=1)
        waits.append(clock.monotonic() - failed_at)
    assert waits == [pytest.approx(10, abs=1.1), pytest.approx(20, abs=1.1)]
    await end(cluster, *await pods(cluster), code=1)
    held = await current(cluster)
    assert conditions(held) == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    assert (held.status.failed, held.status.active) == (3, 0)
    await cluster.advance(minutes=30)
    assert await pods(cluster) == []
    assert "Warning BackoffLimitExceeded sum: Job has reached the specified backoff limit" in await told(
        cluster.client
    )


@pytest.mark.usefixtures("manager")
async def test_a_job_that_takes_too_long_fails_with_its_pods(cluster: ControlPlane) -> None:
    await start(cluster, job(active_deadline_seconds=60, parallelism=2, completions=2))
    await cluster.advance(seconds=50)
    assert len(await pods(cluster)) == 2
    await cluster.advance(seconds=12)
    held = await current(cluster)
    assert conditions(held)[-1] == ("Failed", "DeadlineExceeded")
    assert await pods(cluster) == []
    assert held.status.failed == 2


@pytest.mark.usefixtures("manager")
async def test_deleted_pod_counts_as_failed_and_is_replaced(cluster: ControlPlane) -> None:
    await start(cluster, job())
    (only,) = await pods(cluster)
    await cluster.client.delete(Pod, only.metadata.name or "", "default")
    await cluster.advance(seconds=15)
    (other,) = await pods(cluster)
    assert other.metadata.name != only.metadata.name
    assert (await current(cluster)).status.failed == 1


@pytest.mark.usefixtures("manager")
async def test_a_suspended_job_gives_its_pods_up_and_starts_anew(cluster: ControlPlane) -> None:
    await start(cluster, job(parallelism=2, completions=2))
    begun = (await current(cluster)).status.start_time
    await cluster.client.patch(Job, "sum", {"spec": {"suspend": True}}, "default")
    await cluster.advance(minutes=5)
    held = await current(cluster)
    assert await pods(cluster) == []
    assert conditions(held) == [("Suspended", "JobSuspended")]
    assert held.status.start_time is None
    assert held.status.failed == 0, "pods given up do not count as failed"
    await cluster.client.patch(Job, "sum", {"spec": {"suspend": False}}, "default")
    await cluster.advance(seconds=1)
    assert len(await pods(cluster)) == 2
    resumed = await current(cluster)
    assert begun is not None
    assert resumed.status.start_time is not None
    assert resumed.status.start_time - begun > timedelta(minutes=5)
    lines = [line for line in await told(cluster.client) if "uspended" in line or "esumed" in line]
    assert lines == ["Normal Suspended sum: Job suspended", "Normal Resumed sum: Job resumed"]


@pytest.mark.usefixtures("manager")
async def test_less_parallelism_gives_pods_up_without_counting_them(cluster: ControlPlane) -> None:
    await start(cluster, job(parallelism=4, completions=10))
    await cluster.client.patch(Job, "sum", {"spec": {"parallelism": 1}}, "default")
    await cluster.advance(seconds=1)
    assert len(await pods(cluster)) == 1
    assert (await current(cluster)).status.failed == 0


@pytest.mark.usefixtures("manager")
async def test_restarts_in_place_count_as_failures(cluster: ControlPlane) -> None:
    await start(cluster, job("OnFailure", backoff_limit=3))
    (only,) = await pods(cluster)
    statuses = [{"name": "main", "state": {"running": {}}, "restartCount": 3}]
    patch = {"status": {"phase": "Running", "containerStatuses": statuses}}
    await cluster.client.patch(Pod, only.metadata.name or "", patch, "default", subresource="status")
    await cluster.advance(seconds=1)
    assert conditions(await current(cluster))[-1] == ("Failed", "BackoffLimitExceeded")


@pytest.mark.usefixtures("manager")
async def test_each_index_of_an_indexed_job_runs_to_success(cluster: ControlPlane) -> None:
    await start(cluster, job(completion_mode="Indexed", completions=5, parallelism=3))
    first = sorted(await pods(cluster), key=lambda each: each.metadata.annotations[INDEX])
    assert [each.metadata.annotations[INDEX] for each in first] == ["0", "1", "2"]
    assert first[1].spec.hostname == "sum-1"
    assert (first[1].metadata.name or "").startswith("sum-1-")
    assert first[1].metadata.labels[INDEX] == "1"
    assert any(each.name == "JOB_COMPLETION_INDEX" for each in first[1].spec.containers[0].env)
    await end(cluster, first[0], first[2])
    held = await current(cluster)
    assert (held.status.completed_indexes, held.status.succeeded) == ("0,2", 2)
    await end(cluster, first[1], code=1, wait=15)
    again = {each.metadata.annotations[INDEX] for each in await pods(cluster)}
    assert again == {"1", "3", "4"}
    await end(cluster, *await pods(cluster))
    held = await current(cluster)
    assert (held.status.completed_indexes, held.status.succeeded, held.status.failed) == ("0-4", 5, 1)
    assert conditions(held)[-1] == ("Complete", "CompletionsReached")


@pytest.mark.usefixtures("manager")
async def test_an_index_that_fails_too_often_does_not_stop_the_others(cluster: ControlPlane) -> None:
    spec: dict[str, Any] = {
        "completion_mode": "Indexed",
        "completions": 2,
        "parallelism": 2,
        "backoff_limit": 2**31 - 1,
    }
    await start(cluster, job(backoff_limit_per_index=1, **spec))
    for _ in range(2):
        bad = [each for each in await pods(cluster) if each.metadata.annotations[INDEX] == "0"]
        await end(cluster, *bad, code=1, wait=25)
    held = await current(cluster)
    assert (held.status.failed_indexes, held.status.failed) == ("0", 2)
    assert conditions(held) == []
    await end(cluster, *await pods(cluster))
    held = await current(cluster)
    assert held.status.completed_indexes == "1"
    assert conditions(held)[-1] == ("Failed", "FailedIndexes")
    assert all(each.metadata.finalizers == () for each in (await cluster.client.list(Pod, "default")).items)


@pytest.mark.usefixtures("manager")
async def test_some_successes_can_be_enough(cluster: ControlPlane) -> None:
    policy = SuccessPolicy(rules=(SuccessPolicyRule(succeeded_indexes="0"),))
    spec: dict[str, Any] = {"completion_mode": "Indexed", "completions": 3, "parallelism": 3}
    await start(cluster, job(success_policy=policy, **spec))
    leader = next(each for each in await pods(cluster) if each.metadata.annotations[INDEX] == "0")
    await end(cluster, leader)
    held = await current(cluster)
    assert conditions(held) == [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete", "SuccessPolicy")]
    assert await pods(cluster) == []


@pytest.mark.usefixtures("manager")
async def test_a_failure_policy_ends_or_forgives(cluster: ControlPlane) -> None:
    fatal = PodFailurePolicyRule(
        action="FailJob",
        on_exit_codes=PodFailurePolicyOnExitCodesRequirement(operator="In", values=(42,)),
    )
    forgiven = PodFailurePolicyRule(
        action="Ignore", on_pod_conditions=(PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget"),)
    )
    policy = PodFailurePolicy(rules=(fatal, forgiven))
    await start(cluster, job(pod_failure_policy=policy, pod_replacement_policy="Failed", backoff_limit=0))
    (only,) = await pods(cluster)
    disrupted = {"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}
    await cluster.client.patch(Pod, only.metadata.name or "", disrupted, "default", subresource="status")
    await end(cluster, only, code=137, wait=15)
    assert (await current(cluster)).status.failed == 0
    (second,) = await pods(cluster)
    await end(cluster, second, code=42)
    held = await current(cluster)
    failed = find(held.status.conditions, "Failed")
    assert failed is not None
    assert failed.reason == "PodFailurePolicy"
    assert failed.message == (
        f"Container main for pod default/{second.metadata.name} failed with exit code 42 "
        "matching FailJob rule at index 0"
    )


@pytest.mark.usefixtures("manager")
async def test_pods_that_a_success_policy_ends_have_not_failed(cluster: ControlPlane) -> None:
    policy = SuccessPolicy(rules=(SuccessPolicyRule(succeeded_indexes="0"),))
    spec: dict[str, Any] = {"completion_mode": "Indexed", "completions": 3, "parallelism": 3}
    await start(cluster, job(success_policy=policy, **spec))
    made = await pods(cluster)
    for each in made:  # they take their time to end
        name = each.metadata.name or ""
        binding = Binding(metadata=ObjectMeta(name=name), target=ObjectReference(kind="Node", name="node"))
        await cluster.client.create_subresource(Pod, name, "binding", binding, "default")
    await end(cluster, next(each for each in made if each.metadata.annotations[INDEX] == "0"))
    held = await current(cluster)
    assert (held.status.succeeded, held.status.failed, held.status.terminating) == (1, 0, 2)
    assert conditions(held) == [("SuccessCriteriaMet", "SuccessPolicy")]
    assert all(each.metadata.finalizers == () for each in await pods(cluster))


@pytest.mark.usefixtures("manager")
async def test_deadline_ends_a_job_whose_index_waits_for_its_back_off(cluster: ControlPlane) -> None:
    spec: dict[str, Any] = {"completion_mode": "Indexed", "completions": 1, "active_deadline_seconds": 30}
    await start(cluster, job(backoff_limit_per_index=5, **spec))
    for wait in (12, 1):
        await end(cluster, *await pods(cluster), code=1, wait=wait)
    held = await current(cluster)
    uncounted = held.status.uncounted_terminated_pods
    assert (held.status.failed, uncounted and uncounted.failed) == (1, ())
    await cluster.advance(seconds=20)
    held = await current(cluster)
    assert conditions(held) == [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")]
    assert held.status.failed == 2


@pytest.mark.usefixtures("manager")
async def test_adopted_pod_is_tracked_and_released_pod_is_not(cluster: ControlPlane) -> None:
    await start(cluster, job(parallelism=1, completions=2))
    (mine,) = await pods(cluster)
    name = mine.metadata.name or ""
    gone = {"metadata": {"labels": {"job": "other"}}}
    await cluster.client.patch(Pod, name, gone, "default")
    await cluster.advance(seconds=1)
    released = await cluster.client.get(Pod, name, "default")
    assert (released.metadata.finalizers, released.metadata.owner_references) == ((), ())
    await cluster.client.patch(Pod, name, {"metadata": {"labels": {"job": "sum"}}}, "default")
    await cluster.advance(seconds=1)
    (adopted,) = await pods(cluster)
    assert adopted.metadata.finalizers == (FINALIZER,)


@pytest.mark.usefixtures("manager")
async def test_pods_of_a_job_that_is_gone_are_let_go(cluster: ControlPlane) -> None:
    await start(cluster, job())
    await cluster.client.delete(Job, "sum", "default", propagation="Background")
    await cluster.advance(seconds=1)
    (left,) = await pods(cluster)
    assert left.metadata.finalizers == ()


@pytest.mark.usefixtures("manager")
async def test_pods_of_a_job_that_another_replaced_are_let_go(cluster: ControlPlane) -> None:
    await start(cluster, generated())
    (old,) = await pods(cluster)
    await cluster.client.delete(Job, "sum", "default", propagation="Background")
    await start(cluster, generated())
    finalizers = {each.metadata.name: each.metadata.finalizers for each in await pods(cluster)}
    assert finalizers.pop(old.metadata.name) == ()
    assert list(finalizers.values()) == [(FINALIZER,)]


@pytest.mark.usefixtures("manager")
async def test_job_that_replaced_another_does_not_back_off_for_its_failures(cluster: ControlPlane) -> None:
    await start(cluster, generated())
    for wait in (11, 1):
        await end(cluster, *await pods(cluster), code=1, wait=wait)
    await cluster.client.delete(Job, "sum", "default", propagation="Background")
    await start(cluster, generated())
    assert len(await pods(cluster)) == 1


def generated() -> Job:
    """Return a job whose selector the API server makes, so that it matches no other job's pods."""
    wanted = job()
    template = structs.replace(wanted.spec.template, metadata=ObjectMeta())
    return structs.replace(
        wanted, spec=structs.replace(wanted.spec, manual_selector=None, selector=None, template=template)
    )


async def test_nothing_is_counted_twice_when_the_controller_restarts_at_any_time(
    cluster: ControlPlane,
) -> None:
    await cluster.client.create(job(completions=4, parallelism=2))
    for number in range(60):
        async with running(cluster.client, JobController):
            await cluster.advance(seconds=0.001 * (number % 7))
            waiting = await pods(cluster)
            if waiting and number % 5 == 0:
                await end(cluster, waiting[0], wait=0)
            await cluster.advance(seconds=0.001 * (number % 3))
    async with running(cluster.client, JobController):
        while waiting := await pods(cluster):
            await end(cluster, *waiting)
    held = await current(cluster)
    assert held.status.succeeded == 4
    assert len(await pods(cluster, "Succeeded")) == 4
    assert conditions(held)[-1] == ("Complete", "CompletionsReached")


@pytest.mark.parametrize(
    ("indexes", "text"),
    [(set(), ""), ({3}, "3"), ({1, 2}, "1,2"), ({1, 2, 3}, "1-3"), ({0, 2, 3, 4, 7, 8}, "0,2-4,7,8")],
)
def test_indexes_are_written_short(indexes: set[int], text: str) -> None:
    assert str(Indexes.of(indexes)) == text
    assert Indexes.parse(text, 100) == Indexes.of(indexes)


def test_indexes_beyond_the_end_are_left_out() -> None:
    assert Indexes.parse("1,3-9", 5) == Indexes.of({1, 3, 4})
    assert Indexes.parse("oops,2", 5) == Indexes.of({2})


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        (SuccessPolicyRule(succeeded_indexes="0-1"), False),
        (SuccessPolicyRule(succeeded_indexes="0-1", succeeded_count=1), True),
        (SuccessPolicyRule(succeeded_count=2), True),
        (SuccessPolicyRule(succeeded_count=3), False),
    ],
)
def test_success_rule_counts_indexes(rule: SuccessPolicyRule, met: bool) -> None:
    assert (rule_met([rule], Indexes.of({0, 2}), 5) == 0) is met


@pytest.mark.parametrize(
    ("manager_name", "number"), [("kubernetes.io/job-controller", 1), ("example.com/queue", 0)]
)
@pytest.mark.usefixtures("manager")
async def test_job_of_another_manager_is_left_alone(
    cluster: ControlPlane, manager_name: str, number: int
) -> None:
    await start(cluster, job(managed_by=manager_name))
    assert len(await pods(cluster)) == number
    assert (await current(cluster)).status.active == number
