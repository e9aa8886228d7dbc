"""A Job controller that finds pods in some state: what it makes, deletes and counts.

Cases of ``TestControllerSyncJob`` in job_controller_test.go, followed until nothing changes any more.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec import Struct, structs

from podling.api.batch_v1 import Job, PodFailurePolicy
from podling.api.core_v1 import Pod
from podling.client.base import Client
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.job_indexes import INDEX
from podling.controllers.workloads.job_pod_rules import FINALIZER
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running
from tests.support.workloads import job

PHASES = {"P": "Pending", "R": "Running", "+": "Running", "S": "Succeeded", "F": "Failed"}


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
    conditions: str = ""


async def add_pod(client: Client, owner: Job, name: str, word: str) -> None:
    """Create a pod of the Job: its phase, ``+`` for a ready one, its index, ``!`` for one that is deleted."""
    index = word.strip("PRSF+!")
    wanted = pod(name, labels={"job": "sum"}, node="" if word.startswith("P") else "n1")
    metadata = structs.replace(
        wanted.metadata,
        finalizers=(FINALIZER,),
        annotations={INDEX: index} if index else {},
        owner_references=(controller_reference(owner),),
    )
    await client.create(structs.replace(wanted, metadata=metadata))
    ready = {"type": "Ready", "status": "True" if word.startswith("+") else "False"}
    status = {"status": {"phase": PHASES[word[0]], "conditions": [ready]}}
    await client.patch(Pod, name, status, "default", subresource="status")
    if word.endswith("!"):
        await client.delete(Pod, name, "default")


INDEXED: dict[str, Any] = {"completion_mode": "Indexed"}
FAILED_ONLY: dict[str, Any] = {"pod_replacement_policy": "Failed"}
DONE, GIVEN_UP = "SuccessCriteriaMet Complete", "FailureTarget Failed"

# parallelism, completions, more of the spec, the pods that are there, and the end
CASES: list[tuple[int, int | None, dict[str, Any], str, Found]] = [
    (2, 5, {}, "", Found(made="2", active=2)),
    (2, None, {}, "", Found(made="2", active=2)),
    (2, 5, {}, "P P", Found(active=2)),
    (3, 5, {}, "R + +", Found(active=3, ready=2)),
    (2, None, {}, "R R", Found(active=2)),
    (2, 5, {}, "R S", Found(made="1", active=2, succeeded=1)),
    (1, None, FAILED_ONLY, "R F R!", Found(active=1, failed=1, terminating=1)),
    (1, None, {}, "R F R!", Found(active=1, failed=2, terminating=1)),
    (1, 1, FAILED_ONLY, "R R R! R! R! R!", Found(deleted=1, active=1, terminating=5)),
    (
        1,
        1,
        {**FAILED_ONLY, "pod_failure_policy": PodFailurePolicy()},
        "R R R! R! R! R!",
        Found(deleted=1, active=1, terminating=5),
    ),
    (2, None, {}, "R", Found(made="1", active=2)),
    (2, 5, {}, "R R R", Found(deleted=1, active=2, terminating=1)),
    (2, 5, {}, "+ + +", Found(deleted=1, active=2, ready=2, terminating=1)),
    (2, 5, {}, "R S F", Found(made="1", active=2, succeeded=1, failed=1)),
    (2, 5, {}, "R F", Found(made="1", active=2, failed=1)),
    (2, 5, {}, "S S S S S", Found(succeeded=5, conditions=DONE)),
    (2, None, {}, "R S", Found(active=1, succeeded=1)),
    (2, None, {}, "S S", Found(succeeded=2, conditions=DONE)),
    (2, None, {}, "S F", Found(succeeded=1, failed=1, conditions=DONE)),
    (2, 5, {}, " ".join("R" * 10), Found(deleted=8, active=2, terminating=8)),
    (3, 4, {}, "R R R S S", Found(deleted=1, active=2, succeeded=2, terminating=1)),
    (2, 5, {}, "R R S S", Found(active=2, succeeded=2)),
    (2, 5, {"backoff_limit": 0}, "F", Found(failed=1, conditions=GIVEN_UP)),
    (2, 5, INDEXED, "", Found(made="0-1", active=2)),
    (2, 5, {**INDEXED, **FAILED_ONLY}, "R1!", Found(made="0", active=1, terminating=1)),
    (2, 5, INDEXED, "R1!", Found(made="0-1", active=2, failed=1, terminating=1)),
    (2, 3, INDEXED, "S0 F1 S1 S2", Found(succeeded=3, failed=1, indexes="0-2", conditions=DONE)),
    (
        2,
        3,
        {**INDEXED, "backoff_limit": 0},
        "S0 F1 R2",
        Found(deleted=1, succeeded=1, failed=2, terminating=1, indexes="0", conditions="FailureTarget"),
    ),
    (
        2,
        3,
        {"backoff_limit": 0},
        "+ + F",
        Found(deleted=2, failed=3, terminating=2, conditions="FailureTarget"),
    ),
    (2, 3, INDEXED, "S0 S1 S1", Found(made="2", active=1, succeeded=2, indexes="0,1")),
    (
        8,
        20,
        INDEXED,
        "R0 S2 P3 S4 S5 S7 S8 S9",
        Found(made="1,6,10-13", active=8, succeeded=6, indexes="2,4,5,7-9"),
    ),
    (3, 4, INDEXED, "F0 P1 F2", Found(made="0,2", active=3, failed=2)),
    (
        2,
        5,
        INDEXED,
        "R S F Rx Sx Fx Px S0 R1 R2",
        Found(deleted=3, active=2, succeeded=1, terminating=2, indexes="0"),
    ),
    (
        5,
        5,
        INDEXED,
        "S F Rx S0 R1 R2 P2",
        Found(made="3-4", deleted=2, active=4, succeeded=1, terminating=1, indexes="0"),
    ),
    (
        2,
        5,
        INDEXED,
        "S0 R5 S6 P7 F8",
        Found(made="1-2", deleted=2, active=2, succeeded=1, terminating=1, indexes="0"),
    ),
    (2, 4, {"suspend": True}, "R R", Found(deleted=2, terminating=2, conditions="Suspended")),
    (2, 4, {"suspend": True}, "+ +", Found(deleted=2, terminating=2, conditions="Suspended")),
    (1, 1, {}, "+", Found(active=1, ready=1)),
]


@pytest.mark.parametrize(("parallelism", "completions", "more", "words", "found"), CASES)
async def test_controller_continues_from_the_pods_it_finds(
    cluster: ControlPlane,
    parallelism: int,
    completions: int | None,
    more: dict[str, Any],
    words: str,
    found: Found,
) -> None:
    owner = await cluster.client.create(job(parallelism=parallelism, completions=completions, **more))
    given = {f"p{number}": word for number, word in enumerate(words.split())}
    for name, word in given.items():
        await add_pod(cluster.client, owner, name, word)
    await cluster.advance(seconds=200)  # no back-off holds anything up
    async with running(cluster.client, JobController):
        await cluster.advance(seconds=5)
    assert await _end(cluster.client, given) == found


async def _end(client: Client, given: dict[str, str]) -> Found:
    status = (await client.get(Job, "sum", "default")).status
    pods = {each.metadata.name or "": each for each in (await client.list(Pod, "default")).items}
    made = [each for name, each in pods.items() if name not in given]
    indexes = sorted(
        int(each.metadata.annotations[INDEX]) for each in made if INDEX in each.metadata.annotations
    )
    living = [name for name, word in given.items() if not word.endswith("!")]
    gone = [name for name in living if name not in pods or pods[name].metadata.deletion_timestamp is not None]
    return Found(
        made=_ranges(indexes) if indexes else str(len(made) or ""),
        deleted=len(gone),
        active=status.active or 0,
        ready=status.ready or 0,
        succeeded=status.succeeded or 0,
        failed=status.failed or 0,
        terminating=status.terminating or 0,
        indexes=status.completed_indexes,
        conditions=" ".join("!" * (each.status != "True") + each.type for each in status.conditions),
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
