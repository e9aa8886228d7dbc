"""BroadcastJobs on simulated nodes, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Node
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.broadcastjob.types import BroadcastJob, BroadcastJobStatus
from tests.support.broadcast_jobs import add_node, finish, job, pods
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.control_loops import told
from tests.support.sidecar_sets import create

FIRST = "first"


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    """Run a cluster with one node that fits; the simulated one still has the taint of new nodes."""
    async with kruise_cluster(tmp_path) as found:
        await add_node(found, FIRST)
        yield found


async def status_of(kruise: Kruise) -> BroadcastJobStatus:
    return (await kruise.client.get(BroadcastJob, "job", "default")).status


async def events(kruise: Kruise, reason: str) -> list[str]:
    return [text for text in await told(kruise.client) if reason in text]


async def test_every_node_gets_a_pod_and_the_job_ends_with_the_last(kruise: Kruise) -> None:
    await add_node(kruise, "second")
    await add_node(kruise, "tainted", taints=[{"key": "example.com/own", "effect": "NoSchedule"}])
    await add_node(kruise, "cordoned", unschedulable=True)
    await create(kruise, job())
    await kruise.wait(5)
    assert set(await pods(kruise)) == {FIRST, "second"}
    status = await status_of(kruise)
    assert (status.desired, status.active, status.phase) == (2, 2, "running")
    assert status.start_time is not None
    await finish(kruise, FIRST)
    assert (await status_of(kruise)).phase == "running"
    await finish(kruise, "second")
    status = await status_of(kruise)
    assert (status.phase, status.succeeded, status.active) == ("completed", 2, 0)
    (condition,) = status.conditions
    assert (condition.type, condition.status, condition.message) == (
        "Complete",
        "True",
        "Job completed, 2 pods succeeded, 0 pods failed",
    )
    assert (
        "Job default/job is completed, 2 pods succeeded, 0 pods failed"
        in (await events(kruise, "JobComplete"))[0]
    )


async def test_parallelism_limits_the_pods_that_run(kruise: Kruise) -> None:
    for number in range(3):
        await add_node(kruise, f"n{number}")
    await create(kruise, job(parallelism="50%"))
    await kruise.wait(5)
    present = await pods(kruise)
    assert len(present) == 2
    await finish(kruise, next(iter(present)))
    assert len(await pods(kruise)) == 3


async def test_failed_pod_fails_the_job_at_once(kruise: Kruise) -> None:
    await add_node(kruise, "second")
    await create(kruise, job())
    await kruise.wait(5)
    await finish(kruise, "second", "Failed")
    status = await status_of(kruise)
    assert (status.phase, status.failed, status.active) == ("failed", 2, 0)
    assert [(each.type, each.reason) for each in status.conditions] == [("Failed", "Failed")]
    assert await events(kruise, "failed pod is found")


async def test_job_continues_beside_failed_pods(kruise: Kruise) -> None:
    await add_node(kruise, "second")
    await create(kruise, job(failurePolicy={"type": "Continue"}))
    await kruise.wait(5)
    await finish(kruise, "second", "Failed")
    assert (await status_of(kruise)).phase == "running"
    await finish(kruise, FIRST)
    status = await status_of(kruise)
    assert (status.phase, status.succeeded, status.failed) == ("completed", 1, 1)


async def test_job_pauses_on_a_failed_pod_until_it_is_continued(kruise: Kruise) -> None:
    await add_node(kruise, "second")
    await create(kruise, job(parallelism=1, failurePolicy={"type": "Pause"}))
    await kruise.wait(5)
    (first,) = await pods(kruise)
    await finish(kruise, first, "Failed")
    held = await kruise.client.get(BroadcastJob, "job", "default")
    assert (held.status.phase, held.spec.paused) == ("paused", True)
    await kruise.wait(60)
    assert len(await pods(kruise)) == 1
    change = {"spec": {"paused": False, "failurePolicy": {"type": "Continue"}}}
    await kruise.client.patch(BroadcastJob, "job", change, "default")
    await kruise.wait(5)
    assert len(await pods(kruise)) == 2
    assert (await status_of(kruise)).phase == "running"
    assert await events(kruise, "continue to process job")


async def test_job_fails_at_its_deadline_and_is_deleted_later(kruise: Kruise) -> None:
    policy = {"type": "Always", "activeDeadlineSeconds": 30, "ttlSecondsAfterFinished": 60}
    await add_node(kruise, "second")
    await create(kruise, job(completionPolicy=policy))
    await kruise.wait(20)
    assert (await status_of(kruise)).phase == "running"
    await kruise.wait(20)
    assert (await status_of(kruise)).phase == "failed"
    assert await events(kruise, "was active longer than specified deadline")
    await kruise.wait(60)
    with pytest.raises(ApiError) as gone:
        await status_of(kruise)
    assert is_not_found(gone.value)


async def test_deadline_of_a_paused_job_waits_for_its_user(kruise: Kruise) -> None:
    """A paused job neither fails at its deadline nor is looked at again and again from then on."""
    policy = {"type": "Always", "activeDeadlineSeconds": 30}
    await create(kruise, job(completionPolicy=policy, paused=True))
    await kruise.wait(120)
    assert (await status_of(kruise)).phase == "paused"
    await kruise.client.patch(BroadcastJob, "job", {"spec": {"paused": False}}, "default")
    await kruise.wait(5)
    assert (await status_of(kruise)).phase == "failed"


async def test_endless_job_runs_on_new_nodes(kruise: Kruise) -> None:
    await create(kruise, job(completionPolicy={"type": "Never"}))
    await kruise.wait(5)
    await finish(kruise, FIRST)
    assert (await status_of(kruise)).phase == "running"
    await add_node(kruise, "later")
    await kruise.wait(5)
    assert set(await pods(kruise)) == {FIRST, "later"}


async def test_pod_of_a_node_that_fits_no_more_is_deleted(kruise: Kruise) -> None:
    await add_node(kruise, "second")
    await create(kruise, job())
    await kruise.wait(5)
    await kruise.client.patch(Node, "second", {"spec": {"unschedulable": True}})
    await kruise.wait(60)
    assert set(await pods(kruise)) == {FIRST}
    assert (await status_of(kruise)).desired == 1


async def test_paused_job_creates_no_pods(kruise: Kruise) -> None:
    await create(kruise, job(paused=True))
    await kruise.wait(5)
    assert await pods(kruise) == {}
    assert (await status_of(kruise)).phase == "paused"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"completionPolicy": {"type": "Never", "ttlSecondsAfterFinished": 1}}, "can just work with Always"),
        ({"completionPolicy": {"type": "Never", "activeDeadlineSeconds": 1}}, "can just work with Always"),
        ({"completionPolicy": {"type": "Sometimes"}}, 'Unsupported value: "Sometimes"'),
        ({"failurePolicy": {"type": "Retry"}}, 'Unsupported value: "Retry"'),
        ({"parallelism": "many"}, "spec.parallelism: Invalid value"),
        ({"restart": "Always"}, "pod restartPolicy can only be Never or OnFailure"),
    ],
)
async def test_invalid_jobs_are_refused(kruise: Kruise, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError, match=message):
        await create(kruise, job(**spec))


async def test_labels_of_jobs_cannot_be_preset(kruise: Kruise) -> None:
    plain = job()
    plain["spec"]["template"]["metadata"] = {"labels": {"broadcastjob-name": "x"}}
    with pytest.raises(ApiError, match="are not allowed to preset in pod labels"):
        await create(kruise, plain)


async def test_defaults_are_filled_in(kruise: Kruise) -> None:
    await create(kruise, job(paused=True))
    spec = (await kruise.client.get(BroadcastJob, "job", "default")).spec
    assert (spec.completion_policy.type, spec.failure_policy.type) == ("Always", "FailFast")
    assert spec.parallelism == 2**31 - 1
    assert spec.template.spec.dns_policy == "ClusterFirst"
