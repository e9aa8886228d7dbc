"""Jobs whose controller finds pods in some state, and the state in which it leaves them."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import Any

from msgspec import Struct, structs

from podling import clock
from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.client.base import Client
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.job_indexes import INDEX
from podling.controllers.workloads.job_pod_rules import FINALIZER, INDEX_FAILURES
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running

PHASES = {"P": "Pending", "R": "Running", "+": "Running", "S": "Succeeded", "F": "Failed"}
WORD = re.compile(
    r"(?P<phase>[PR+SF])(?P<index>\d+|x)?(#(?P<failures>\d+))?(=(?P<code>\d+))?(\*(?P<restarts>\d+))?"
    r"(?P<disrupted>~)?(?P<untracked>-)?(?P<deleted>!)?"
)
"""A pod: its phase (``+`` is running and ready), its index and the earlier failures of that, the exit code of
its container, the restarts, and whether it has the condition ``DisruptionTarget``, was counted before, and is
being deleted."""


class Found(Struct, frozen=True, kw_only=True):
    """The end: pods made and deleted, and the status. A condition that is false has a ``!`` before it."""

    made: str = ""
    """The number, or the indexes of an Indexed job."""
    deleted: int = 0
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    indexes: str = ""
    failed_indexes: str = ""
    conditions: str = ""
    reason: str = ""
    """The reason of the last condition, if the job failed."""


async def result(
    cluster: ControlPlane, wanted: Job, words: str, status: dict[str, Any] | None = None
) -> Found:
    """Return the end of a job that has these pods when its controller starts.

    Args:
        status: a part of the job's status before.
    """
    owner = await cluster.client.create(wanted)
    if status is not None:
        await cluster.client.patch(Job, "sum", {"status": status}, "default", subresource="status")
    given = {f"p{number}": word for number, word in enumerate(words.split())}
    for name, word in given.items():
        await _add_pod(cluster.client, owner, name, word)
    if owner.metadata.finalizers:
        await cluster.client.delete(Job, "sum", "default")
    await cluster.advance(seconds=700)  # no back-off holds anything up
    async with running(cluster.client, JobController):
        await cluster.advance(seconds=5)
    return await _end(cluster.client, given)


def moment(seconds: int = 0) -> str:
    return (clock.now() + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


async def _add_pod(client: Client, owner: Job, name: str, word: str) -> None:
    read = WORD.fullmatch(word)
    assert read is not None, word
    wanted = pod(name, labels={"job": "sum"}, node="" if read["phase"] == "P" else "n1")
    annotations = {INDEX: read["index"], INDEX_FAILURES: read["failures"]}
    metadata = structs.replace(
        wanted.metadata,
        finalizers=() if read["untracked"] else (FINALIZER,),
        annotations={key: text for key, text in annotations.items() if text is not None},
        owner_references=(controller_reference(owner),),
    )
    await client.create(structs.replace(wanted, metadata=metadata))
    conditions = [{"type": "Ready", "status": "True" if read["phase"] == "+" else "False"}]
    if read["disrupted"]:
        conditions.append({"type": "DisruptionTarget", "status": "True"})
    container: dict[str, Any] = {"name": "main", "restartCount": int(read["restarts"] or 0)}
    if read["code"]:
        container["state"] = {"terminated": {"exitCode": int(read["code"]), "finishedAt": moment()}}
    status = {"phase": PHASES[read["phase"]], "conditions": conditions, "containerStatuses": [container]}
    await client.patch(Pod, name, {"status": status}, "default", subresource="status")
    if read["deleted"]:
        await client.delete(Pod, name, "default")


async def _end(client: Client, given: dict[str, str]) -> Found:
    status = (await client.get(Job, "sum", "default")).status
    pods = {each.metadata.name or "": each for each in (await client.list(Pod, "default")).items}
    made = [each for name, each in pods.items() if name not in given]
    indexes = sorted(
        int(each.metadata.annotations[INDEX]) for each in made if INDEX in each.metadata.annotations
    )
    living = [name for name, word in given.items() if not word.endswith("!")]
    gone = [name for name in living if name not in pods or pods[name].metadata.deletion_timestamp is not None]
    failures = [each for each in status.conditions if each.type in ("Failed", "FailureTarget")]
    reasons = [each.reason or "" for each in failures if each.status == "True"]
    return Found(
        made=_ranges(indexes) if indexes else str(len(made) or ""),
        deleted=len(gone),
        active=status.active or 0,
        ready=status.ready or 0,
        succeeded=status.succeeded or 0,
        failed=status.failed or 0,
        terminating=status.terminating or 0,
        indexes=status.completed_indexes,
        failed_indexes=status.failed_indexes or "",
        conditions=" ".join("!" * (each.status != "True") + each.type for each in status.conditions),
        reason=reasons[-1] if reasons else "",
    )


def _ranges(numbers: list[int]) -> str:
    """Return ``[1, 6, 10, 11]`` as ``1,6,10-11``; a number that is there twice comes twice."""
    assert max(Counter(numbers).values()) == 1
    texts: list[tuple[int, int]] = []
    for number in numbers:
        if texts and texts[-1][1] == number - 1:
            texts[-1] = (texts[-1][0], number)
        else:
            texts.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in texts)
