"""``podling why`` for BroadcastJobs, on virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.testing import running
from podling_kruise.broadcastjob.controller import BroadcastJobController
from tests.support.broadcast_jobs import add_node, finish, job, pods
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.control_loops import bind_pod, make_ready
from tests.support.extension_answers import why
from tests.support.sidecar_sets import create


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found, running(found.plane.client, BroadcastJobController):
        await add_node(found, "first")
        await add_node(found, "second")
        yield found


async def begin(kruise: Kruise, **spec: Any) -> None:
    await create(kruise, job(**spec))
    await kruise.wait(2)


async def test_end_is_reported(kruise: Kruise) -> None:
    await begin(kruise)
    for node in ("first", "second"):
        await finish(kruise, node)
    answer = await why(kruise, "bcj", "job")
    assert (answer.healthy, answer.reason) == (True, "Complete")
    assert "2 pods succeeded, 0 pods failed" in answer.text


async def test_failed_job_names_its_pods(kruise: Kruise) -> None:
    await begin(kruise, failurePolicy={"type": "FailFast"})
    await finish(kruise, "first", "Failed")
    failed = (await pods(kruise))["first"].metadata.name
    answer = await why(kruise, "broadcastjob", "job")
    assert (answer.healthy, answer.reason, answer.evidence[0].name) == (False, "JobFailed", "Failed")
    assert "failure policy is FailurePolicyTypeFailFast and failed pod is found" in answer.text
    assert answer.text.endswith(f"Failed: {failed}.")


async def test_job_that_goes_on_after_failures_names_them_at_its_end(kruise: Kruise) -> None:
    await begin(kruise, failurePolicy={"type": "Continue"})
    await finish(kruise, "first", "Failed")
    await finish(kruise, "second")
    answer = await why(kruise, "bcj", "job")
    assert (answer.healthy, answer.evidence[0].name) == (False, "Complete")
    assert "1 pods succeeded, 1 pods failed" in answer.text


async def test_pause_is_named_with_its_cause(kruise: Kruise) -> None:
    await begin(kruise, failurePolicy={"type": "Pause"})
    await finish(kruise, "first", "Failed")
    answer = await why(kruise, "bcj", "job")
    assert (answer.reason, [each.name for each in answer.evidence]) == ("Paused", ["spec.paused", "Paused"])
    assert "Its failure policy has paused it. Failed: job-" in answer.text
    assert "kubectl patch bcj job -n default" in answer.advice


async def test_pause_by_its_user_is_named(kruise: Kruise) -> None:
    await begin(kruise, paused=True)
    answer = await why(kruise, "bcj", "job")
    assert (answer.reason, len(answer.evidence)) == ("Paused", 1)


async def test_template_that_fits_no_node_is_named(kruise: Kruise) -> None:
    made = job()
    made["spec"]["template"]["spec"]["nodeSelector"] = {"type": "none"}
    await create(kruise, made)
    await kruise.wait(2)
    assert (await why(kruise, "bcj", "job")).reason == "NoNodes"


async def test_refused_pods_are_named_with_their_nodes(kruise: Kruise) -> None:
    made = job()
    made["spec"]["template"]["spec"]["priorityClassName"] = "absent"
    await create(kruise, made)
    await kruise.wait(2)
    answer = await why(kruise, "bcj", "job")
    assert answer.reason == "FailedCreate"
    assert answer.text.startswith("BroadcastJob job has no pods on first, second: ")
    assert "no PriorityClass with name absent was found" in answer.text


async def test_pod_with_a_problem_is_named(kruise: Kruise) -> None:
    await begin(kruise)
    answer = await why(kruise, "bcj", "job")
    assert answer.healthy is False
    assert answer.text.startswith("BroadcastJob job: 2 of 2 pods have a problem. One is job-")


async def test_nodes_that_wait_for_parallelism_are_counted(kruise: Kruise) -> None:
    await begin(kruise, parallelism=1)
    await make_running(kruise)
    answer = await why(kruise, "bcj", "job")
    assert (answer.healthy, answer.reason) == (True, "Parallelism")
    assert "1 wait, as 1 run now and parallelism allows 1" in answer.text


async def test_endless_job_goes_on(kruise: Kruise) -> None:
    await begin(kruise, completionPolicy={"type": "Never"})
    for node in ("first", "second"):
        await finish(kruise, node)
    answer = await why(kruise, "bcj", "job")
    assert (answer.healthy, answer.reason) == (True, "Running")
    assert "goes on for new nodes: 2 of 2 nodes have finished" in answer.text


async def make_running(kruise: Kruise) -> None:
    """Bind the pods to their nodes and make them ready."""
    for node, pod in (await pods(kruise)).items():
        await bind_pod(kruise.plane.client, pod, node)
    await make_ready(kruise.plane.client)
    await kruise.wait(1)
