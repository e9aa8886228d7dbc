"""Finished jobs go when their time has come."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling import clock
from podling.api.batch_v1 import Job, JobCondition, JobSpec, JobStatus
from podling.api.core_v1 import PodSpec, PodTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.local import LocalClient
from podling.controllers.workloads.ttl_after_finished import TTLAfterFinishedController, expires_at
from podling.sim.connection import Connection, RequestFault
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running


async def finished_job(cluster: ControlPlane, name: str, ttl: int | None) -> None:
    template = PodTemplateSpec(spec=PodSpec(containers=pod("x").spec.containers, restart_policy="Never"))
    spec = JobSpec(ttl_seconds_after_finished=ttl, template=template)
    await cluster.client.create(Job(metadata=ObjectMeta(name=name, namespace="default"), spec=spec))
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    both = [
        {"type": type_, "status": "True", "reason": "CompletionsReached", "lastTransitionTime": now}
        for type_ in ("SuccessCriteriaMet", "Complete")
    ]
    patch = {"status": {"conditions": both, "startTime": now, "completionTime": now}}
    await cluster.client.patch(Job, name, patch, "default", subresource="status")


async def left(cluster: ControlPlane) -> list[str]:
    """Return the jobs without a deletion timestamp."""
    found = (await cluster.client.list(Job, "default")).items
    return [each.metadata.name or "" for each in found if each.metadata.deletion_timestamp is None]


# the conditions with the seconds since their transition, the TTL, and the seconds left
# (cases of ttlafterfinished_controller_test.go)
LEFT: list[tuple[dict[str, int], int | None, int | None]] = [
    ({}, 100, None),
    ({"Complete": 0}, None, None),
    ({"Complete": 0}, 0, 0),
    ({"Complete": 0}, 10, 10),
    ({"Complete": 10}, 15, 5),
    ({"Complete": 20}, 15, -5),
    ({"Failed": 0}, None, None),
    ({"Failed": 0}, 0, 0),
    ({"Failed": 0}, 10, 10),
    ({"Failed": 10}, 15, 5),
    ({"FailureTarget": 10}, 15, None),
    ({"Suspended": 10}, 15, None),
]


@pytest.mark.parametrize(("conditions", "ttl", "left"), LEFT)
def test_job_expires_its_time_after_the_end(
    conditions: dict[str, int], ttl: int | None, left: int | None
) -> None:
    made = tuple(
        JobCondition(type=type_, status="True", last_transition_time=EPOCH - timedelta(seconds=seconds))
        for type_, seconds in conditions.items()
    )
    spec = JobSpec(ttl_seconds_after_finished=ttl, template=PodTemplateSpec())
    found = expires_at(Job(metadata=ObjectMeta(name="j"), spec=spec, status=JobStatus(conditions=made)))
    assert found == (None if left is None else EPOCH + timedelta(seconds=left))


@pytest.mark.parametrize(
    ("status", "deleting", "expires"), [("True", False, True), ("False", False, False), ("True", True, False)]
)
def test_only_a_job_that_has_ended_and_is_not_being_deleted_expires(
    status: str, deleting: bool, expires: bool
) -> None:
    ended = JobCondition(type="Complete", status=status, last_transition_time=EPOCH)
    metadata = ObjectMeta(name="j", deletion_timestamp=EPOCH if deleting else None)
    spec = JobSpec(ttl_seconds_after_finished=10, template=PodTemplateSpec())
    found = expires_at(Job(metadata=metadata, spec=spec, status=JobStatus(conditions=(ended,))))
    assert (found is not None) is expires


async def test_a_finished_job_goes_after_its_time(cluster: ControlPlane) -> None:
    async with running(cluster.client, TTLAfterFinishedController):
        await finished_job(cluster, "short", 60)
        await finished_job(cluster, "long", 600)
        await finished_job(cluster, "keep", None)
        await cluster.advance(seconds=59)
        assert await left(cluster) == ["keep", "long", "short"]
        await cluster.advance(seconds=2)
        assert await left(cluster) == ["keep", "long"]
        await cluster.advance(minutes=10)
        assert await left(cluster) == ["keep"]


async def test_a_time_that_was_extended_is_obeyed(cluster: ControlPlane) -> None:
    async with running(cluster.client, TTLAfterFinishedController):
        await finished_job(cluster, "job", 60)
        await cluster.advance(seconds=50)
        await cluster.client.patch(Job, "job", {"spec": {"ttlSecondsAfterFinished": 120}}, "default")
        await cluster.advance(seconds=50)
        assert await left(cluster) == ["job"]
        await cluster.advance(seconds=30)
        assert await left(cluster) == []


async def test_a_time_that_was_extended_just_now_is_obeyed(cluster: ControlPlane) -> None:
    connection = Connection(lambda: cluster.backend, "controller")
    connection.faults.append(RequestFault(verb="watch", resource="jobs", seconds=20))
    async with running(LocalClient(connection), TTLAfterFinishedController):
        await finished_job(cluster, "job", 60)
        await cluster.advance(seconds=50)
        await cluster.client.patch(Job, "job", {"spec": {"ttlSecondsAfterFinished": 120}}, "default")
        await cluster.advance(seconds=15)
        assert await left(cluster) == ["job"]
        await cluster.advance(seconds=60)
        assert await left(cluster) == []
