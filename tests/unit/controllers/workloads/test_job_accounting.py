"""Counting pods that end: each once, in steps, and all of them when the job is over."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job, JobStatus, UncountedTerminatedPods
from podling.api.core_v1 import Pod
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.job_accounting import UNCOUNTED_MAX, account
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.workloads import job, job_pod

COUNT = 2 * UNCOUNTED_MAX + 200


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "failing"), [("NonIndexed", 0), ("Indexed", COUNT // 2), ("Indexed", 0)])
async def test_pods_that_end_at_once_are_counted_in_steps(
    cluster: ControlPlane, mode: str, failing: int
) -> None:
    wanted = job(parallelism=COUNT, completions=COUNT, completion_mode=mode, backoff_limit=failing)
    await cluster.client.create(wanted)
    async with running(cluster.client, JobController):
        await cluster.advance(seconds=60)
    made = (await cluster.client.list(Pod, "default")).items
    assert len(made) == COUNT
    for number, each in enumerate(made):
        ended: dict[str, Any] = {"status": {"phase": "Failed" if number < failing else "Succeeded"}}
        await cluster.client.patch(Pod, each.metadata.name or "", ended, "default", subresource="status")
    watch = cluster.client.watch(Job, "default", resource_version=str(cluster.store.revision))
    async with running(cluster.client, JobController):
        await cluster.advance(seconds=5)
        held = await cluster.client.get(Job, "sum", "default")
        assert (held.status.succeeded, held.status.failed) == (COUNT - failing, failing)
        pods = (await cluster.client.list(Pod, "default")).items
        assert len(pods) == COUNT + failing, "no pod is created for one that is counted later"
        if not failing:
            assert [each.type for each in held.status.conditions] == ["SuccessCriteriaMet", "Complete"]
    biggest = 0
    async for event in watch:
        uncounted = event.object.status.uncounted_terminated_pods
        if uncounted is not None:
            biggest = max(biggest, len(uncounted.succeeded) + len(uncounted.failed))
        if event.object.metadata.resource_version == held.metadata.resource_version:
            break
    assert biggest <= UNCOUNTED_MAX
    assert biggest == UNCOUNTED_MAX or mode == "Indexed"


def uncounted(succeeded: str = "", failed: str = "") -> UncountedTerminatedPods:
    return UncountedTerminatedPods(succeeded=tuple(succeeded), failed=tuple(failed))


def with_status(wanted: Job, **status: Any) -> Job:
    return structs.replace(wanted, status=JobStatus(**status))


def deleted(wanted: Job) -> Job:
    metadata = structs.replace(wanted.metadata, deletion_timestamp=EPOCH)
    return structs.replace(wanted, metadata=metadata)


ENDED = [job_pod("a", "Succeeded"), job_pod("b", "Failed")]
INDEXED: dict[str, Any] = {"completion_mode": "Indexed", "completions": 6}
PER_INDEX = {**INDEXED, "backoff_limit_per_index": 1}

# why, the job, its pods, how it ended, (succeeded, failed, uncounted, completed and failed indexes), released
COUNTS: list[tuple[str, Job, list[Pod], bool | None, tuple[Any, ...], str]] = [
    ("nothing", job(), [], None, (0, 0, uncounted(), "", ""), ""),
    (
        "ended and deleted pods",
        job(),
        [
            *ENDED,
            job_pod("c", "Succeeded", deleted=EPOCH),
            job_pod("d", "Failed", deleted=EPOCH),
            job_pod("e", "Pending", deleted=EPOCH),
            job_pod("f", "Pending"),
            job_pod("g", "Running"),
        ],
        None,
        (0, 0, uncounted("ac", "bde"), "", ""),
        "",
    ),
    (
        "pods of this and earlier steps",
        with_status(job(), succeeded=2, failed=3, uncounted_terminated_pods=uncounted("ae", "bf")),
        [
            job_pod("e", "Succeeded", tracked=False),
            job_pod("g", "Failed", tracked=False),
            *ENDED,
            job_pod("c", "Succeeded"),
            job_pod("d", "Failed"),
        ],
        None,
        (3, 4, uncounted("ac", "bd"), "", ""),
        "ab",
    ),
    (
        "success by policy lets running pods go",
        job(),
        [*ENDED, job_pod("c", "Pending")],
        True,
        (0, 0, uncounted("a", "b"), "", ""),
        "c",
    ),
    (
        "running pods of a failed job have failed",
        job(),
        [*ENDED, job_pod("c", "Running")],
        False,
        (0, 0, uncounted("a", "bc"), "", ""),
        "",
    ),
    (
        "running pods of a deleted job go uncounted",
        deleted(job()),
        [*ENDED, job_pod("c", "Running")],
        None,
        (0, 0, uncounted("a", "b"), "", ""),
        "c",
    ),
    (
        "indexes that succeeded",
        job(**INDEXED),
        [
            job_pod("a", "Succeeded", index=1),
            job_pod("b", "Succeeded", index=3),
            job_pod("c", "Succeeded", index=3),
            job_pod("d", "Running", index=5),
            job_pod("e", "Succeeded"),
        ],
        None,
        (2, 0, uncounted(), "1,3", ""),
        "e",
    ),
    (
        "fewer completions than before",
        with_status(job(**{**INDEXED, "completions": 2}), succeeded=1, completed_indexes="3"),
        [job_pod("a", "Running", index=0), job_pod("b", "Succeeded", index=1)],
        None,
        (1, 0, uncounted(), "1", ""),
        "",
    ),
    (
        "indexes that failed",
        job(**INDEXED),
        [
            job_pod("a", "Failed", index=1),
            job_pod("b", "Failed", index=3),
            job_pod("c", "Failed", index=3),
            job_pod("d", "Running", index=5),
            job_pod("e", "Failed"),
            job_pod("f", "Failed", index=6),
        ],
        None,
        (0, 0, uncounted("", "abc"), "", ""),
        "ef",
    ),
    (
        "indexes of this and earlier steps",
        with_status(
            job(**{**INDEXED, "completions": 7}), failed=2, succeeded=5, completed_indexes="0-2,4,6,7"
        ),
        [
            job_pod("c", "Succeeded", index=1),
            job_pod("d", "Succeeded", index=3),
            job_pod("a", "Failed", index=2),
            job_pod("b", "Failed", index=5),
        ],
        None,
        (6, 2, uncounted("", "ab"), "0-4,6", ""),
        "c",
    ),
    (
        "a pod that flips from failed to succeeded",
        with_status(job(), uncounted_terminated_pods=uncounted("", "ab")),
        [job_pod("a", "Failed"), job_pod("b", "Succeeded")],
        False,
        (0, 0, uncounted("", "ab"), "", ""),
        "ab",
    ),
    (
        "a failed pod that waits for its successor",
        job(**PER_INDEX),
        [job_pod("a", "Failed", index=1, failures="0")],
        None,
        (0, 0, uncounted(), "", ""),
        "",
    ),
    (
        "a failed pod that has its successor",
        job(**PER_INDEX),
        [job_pod("a", "Failed", index=1, failures="0"), job_pod("b", "Running", index=1, failures="1")],
        None,
        (0, 0, uncounted("", "a"), "", ""),
        "",
    ),
    (
        "a failed pod of an index that failed for good",
        job(**PER_INDEX),
        [job_pod("a", "Failed", index=1, failures="1")],
        None,
        (0, 0, uncounted("", "a"), "", "1"),
        "",
    ),
    (
        "nothing waits for a successor when the job has failed",
        job(**PER_INDEX),
        [job_pod("a", "Failed", index=1, failures="0")],
        False,
        (0, 0, uncounted("", "a"), "", ""),
        "",
    ),
]


@pytest.mark.parametrize(("why", "wanted", "pods", "ended", "counts", "released"), COUNTS)
def test_pods_are_counted_once(
    why: str, wanted: Job, pods: list[Pod], ended: bool | None, counts: tuple[Any, ...], released: str
) -> None:
    found = account(wanted, pods, ended)
    indexes = (str(found.completed_indexes), str(found.failed_indexes))
    assert (found.succeeded, found.failed, found.uncounted, *indexes) == counts, why
    assert [pod.metadata.uid for pod in found.release] == list(released), why


def test_failure_that_waits_for_its_successor_counts_towards_the_limit() -> None:
    found = account(job(**PER_INDEX), [job_pod("a", "Failed", index=1, failures="0")])
    assert (found.all_failed, found.failed, found.uncounted.failed) == (1, 0, ())


def test_one_step_names_a_bounded_number_of_pods() -> None:
    many = [job_pod(str(number), "Succeeded") for number in range(UNCOUNTED_MAX)]
    stored = with_status(job(), uncounted_terminated_pods=uncounted("", "ab"))
    found = account(stored, [*many, job_pod("b", "Failed")])
    assert len(found.uncounted.succeeded) == UNCOUNTED_MAX - 1
    assert (found.uncounted.failed, found.failed) == (("b",), 1)
    assert found.all_succeeded == UNCOUNTED_MAX


# the indexes in the status, new pods as phase and index, the completions, and the indexes that succeeded
# (cases of TestCalculateSucceededIndexes)
SUCCEEDED: list[tuple[str, str, int, str]] = [
    ("", "S1", 2, "1"),
    ("", "F2 S5 S5 F10 S10", 11, "5,10"),
    ("", "R0 P1 S2 S3 S5 S6 S7", 8, "2,3,5-7"),
    ("", "S0 F1 S2 S3 S4 S5 S S-2", 6, "0,2-5"),
    ("", "S0 S1 S2 F3 S4 S5 S S-2", 5, "0-2,4"),
    ("0-5,8-10", "", 8, "0-5"),
    ("0-5,8-10", "", 10, "0-5,8,9"),
    ("0,4,5,10-12", "S2 S7 S8", 13, "0,2,4,5,7,8,10-12"),
    ("3,4,6", "S2 S7 S8", 9, "2-4,6-8"),
    ("2,7,8", "S3 S4 S6", 9, "2-4,6-8"),
    ("2-7", "S0 S3 S5 S9", 10, "0,2-7,9"),
    ("0,1-foo,bar", "S3", 4, "0,3"),
]
PHASES = {"S": "Succeeded", "F": "Failed", "R": "Running", "P": "Pending"}


@pytest.mark.parametrize(("before", "words", "completions", "found"), SUCCEEDED)
def test_indexes_that_succeed_join_those_in_the_status(
    before: str, words: str, completions: int, found: str
) -> None:
    wanted = job(completion_mode="Indexed", completions=completions)
    pods = [
        job_pod(str(number), PHASES[word[0]], index=int(word[1:]) if word[1:] else None)
        for number, word in enumerate(words.split())
    ]
    assert str(account(with_status(wanted, completed_indexes=before), pods).completed_indexes) == found


def test_index_that_failed_for_good_does_not_succeed() -> None:
    wanted = job(completion_mode="Indexed", completions=2, backoff_limit_per_index=0)
    pods = [job_pod("a", "Succeeded", index=0), job_pod("b", "Succeeded", index=1)]
    found = account(with_status(wanted, failed_indexes="0"), pods)
    assert (str(found.completed_indexes), str(found.failed_indexes), found.succeeded) == ("1", "0", 1)
    assert pods[0] in found.release


# the limit for each index, the failed indexes in the status, new failed pods as index and earlier failures,
# and the indexes that failed (cases of TestCalculateFailedIndexes)
FAILED: list[tuple[int, str | None, list[tuple[int, str]], str]] = [
    (1, None, [(0, "0"), (1, "1")], "1"),
    (0, None, [(3, "0")], ""),
    (0, "0", [(1, "0")], "0,1"),
    (0, "", [(1, "0")], "1"),
    (0, "9", [(1, "0")], "1"),
]


@pytest.mark.parametrize(("limit", "before", "failures", "found"), FAILED)
def test_indexes_that_fail_join_those_in_the_status(
    limit: int, before: str | None, failures: list[tuple[int, str]], found: str
) -> None:
    wanted = with_status(
        job(completion_mode="Indexed", completions=2, backoff_limit_per_index=limit), failed_indexes=before
    )
    pods = [job_pod(f"p{index}", index=index, failures=count) for index, count in failures]
    assert str(account(wanted, pods).failed_indexes) == found


def test_failed_pod_that_was_counted_fails_no_index() -> None:
    wanted = job(completion_mode="Indexed", completions=2, backoff_limit_per_index=0)
    assert str(account(wanted, [job_pod("a", index=0, failures="0", tracked=False)]).failed_indexes) == ""
