"""Pods with the tracking finalizer whose job does not count them: cases of ``TestSyncOrphanPod``."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import Key
from podling.client.local import LocalClient
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.job_pod_rules import FINALIZER
from podling.machinery.errors import ApiError, forbidden
from podling.sim.connection import Connection, RequestFault
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running
from tests.support.one_pass import following
from tests.support.workloads import job
from tests.unit.controllers.workloads.jobs import moment

# the job that exists: running, finished, managed by another controller, or none; the API version and kind of
# the pod's owner, whether that is its controller, and whether the pod loses its finalizer
ORPHANS: list[tuple[str, str, str, bool, bool]] = [
    ("running", "batch/v1", "Job", True, False),
    ("finished", "batch/v1", "Job", True, True),
    ("other", "batch/v1", "Job", True, False),
    ("", "batch/v1", "Job", True, True),
    ("", "batch/v1", "CronJob", True, False),
    ("", "", "", False, True),
    ("", "example.com/v1", "Job", True, False),
    ("running", "batch/v1", "Job", False, True),
    ("", "example.com/v1", "Job", False, True),
]


@pytest.mark.parametrize(("present", "version", "kind", "controls", "released"), ORPHANS)
async def test_finalizer_goes_unless_a_job_counts_the_pod(
    cluster: ControlPlane, present: str, version: str, kind: str, *, controls: bool, released: bool
) -> None:
    owner = await make_owner(cluster, present) if present else None
    made = pod("p", labels={"job": "sum"} if controls else {}, node="n1")
    uid = (owner.metadata.uid if owner is not None else "") or "111"
    reference = OwnerReference(api_version=version, kind=kind, name="sum", uid=uid, controller=controls)
    metadata = structs.replace(
        made.metadata, finalizers=(FINALIZER,), owner_references=(reference,) if kind else ()
    )
    await cluster.client.create(structs.replace(made, metadata=metadata))
    await cluster.client.delete(Pod, "p", "default")
    async with running(cluster.client, JobController):
        await cluster.advance(seconds=1)
    assert await has_finalizer(cluster) is not released


async def make_owner(cluster: ControlPlane, state: str) -> Job:
    owner = await cluster.client.create(
        job(
            parallelism=2,
            completions=2,
            pod_replacement_policy="Failed",
            managed_by="example.com/queue" if state == "other" else None,
        )
    )
    if state == "finished":
        conditions = [{"type": each, "status": "True"} for each in ("SuccessCriteriaMet", "Complete")]
        times: dict[str, Any] = {"startTime": moment(), "completionTime": moment()}
        status = {"status": {"conditions": conditions, **times}}
        await cluster.client.patch(Job, "sum", status, "default", subresource="status")
    return owner


async def has_finalizer(cluster: ControlPlane) -> bool:
    pods = (await cluster.client.list(Pod, "default")).items
    return any(FINALIZER in each.metadata.finalizers for each in pods if each.metadata.name == "p")


async def test_pod_that_cannot_be_released_does_not_keep_the_others(cluster: ControlPlane) -> None:
    reference = OwnerReference(api_version="batch/v1", kind="Job", name="sum", uid="111", controller=True)
    for name in ("p", "q"):
        made = pod(name, node="n1")
        metadata = structs.replace(made.metadata, finalizers=(FINALIZER,), owner_references=(reference,))
        await cluster.client.create(structs.replace(made, metadata=metadata))
        await cluster.client.delete(Pod, name, "default")
    connection = Connection(lambda: cluster.backend, "controller")
    refusal = RequestFault(
        verb="patch", resource="pods", error=lambda: forbidden("pods", "", "p", "no"), times=1
    )
    connection.faults.append(refusal)
    async with following(LocalClient(connection), JobController) as controller:
        with pytest.raises(ApiError, match="forbidden"):
            await controller.reconcile(Key("default", "sum"))
    held = (await cluster.client.list(Pod, "default")).items
    assert [each.metadata.name for each in held if FINALIZER in each.metadata.finalizers] == ["p"]
