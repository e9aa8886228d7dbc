"""Pods that a Job runs and removes, and its back-off after failures (cases of backoff_utils_test.go)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import (
    JobStatus,
    PodFailurePolicy,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from podling.api.core_v1 import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodStatus,
)
from podling.controllers.pod_state import removal_order
from podling.controllers.workloads.job_accounting import account
from podling.controllers.workloads.job_indexes import index_of
from podling.controllers.workloads.job_rules import Backoff, after, backoff_seconds, next_step, to_remove
from podling.sim.loop import EPOCH
from tests.support.workloads import job, job_pod


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (50, 600)]
)
def test_failures_in_a_row_double_the_wait(failures: int, seconds: float) -> None:
    assert backoff_seconds(Backoff(failures, EPOCH), EPOCH) == seconds
    assert backoff_seconds(Backoff(failures, EPOCH), EPOCH + timedelta(seconds=seconds)) == 0


def ended(name: str, phase: str, milliseconds: int) -> Pod:
    pod = job_pod(name, phase)
    finished = EPOCH + timedelta(milliseconds=milliseconds)
    state = ContainerState(terminated=ContainerStateTerminated(exit_code=0, finished_at=finished))
    return structs.replace(
        pod, status=PodStatus(phase=phase, container_statuses=(ContainerStatus(name="c", state=state),))
    )


BEFORE_AND_AFTER: list[tuple[int, list[int], list[int], int, int | None]] = [
    (0, [], [0], 1, 0),
    (0, [], [0, -1], 2, 0),
    (0, [0], [-2, -1], 0, None),
    (0, [-2], [0, -4, -3, -1], 2, 0),
    (2, [], [0], 3, 0),
    (0, [0], [0], 0, None),
    (0, [], [], 0, None),
    (0, [0], [], 0, None),
]


@pytest.mark.parametrize(("before", "good", "bad", "failures", "last"), BEFORE_AND_AFTER)
def test_back_off_counts_failures_since_the_last_success(
    before: int, good: list[int], bad: list[int], failures: int, last: int | None
) -> None:
    pods = [ended(f"s{number}", "Succeeded", each) for number, each in enumerate(good)]
    pods += [ended(f"f{number}", "Failed", each) for number, each in enumerate(bad)]
    found = after(Backoff(before), account(job(), pods))
    moment = None if last is None else EPOCH + timedelta(milliseconds=last)
    assert (found.failures, found.last) == (failures, moment)


def test_ignored_failure_backs_off_once() -> None:
    rule = PodFailurePolicyRule(
        action="Ignore",
        on_pod_conditions=(PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True"),),
    )
    wanted = job(pod_failure_policy=PodFailurePolicy(rules=(rule,)))
    found = account(wanted, [job_pod("a", "Failed", disrupted=True)])
    assert (found.all_failed, [pod.metadata.uid for pod in found.release]) == (0, ["a"])
    once = after(Backoff(), found)
    assert (once.failures, after(once, found).failures) == (1, 1)


# completions, pods as (index, phase), and the indexes that go and stay
MISPLACED: list[tuple[int, list[tuple[int | None, str]], list[int | None], list[int]]] = [
    (6, [(None, "Pending"), (2, "Pending"), (5, "Running"), (6, "Running")], [None, 6], [2, 5]),
    (
        6,
        [
            (5, "Pending"),
            (0, "Running"),
            (3, "Pending"),
            (0, "Running"),
            (3, "Running"),
            (0, "Pending"),
            (6, "Running"),
            (6, "Pending"),
        ],
        [0, 0, 3, 6, 6],
        [0, 3, 5],
    ),
    (
        6,
        [(None, "Running"), (0, "Pending"), (1, "Pending"), (1, "Pending"), (1, "Running")],
        [None, 1, 1],
        [0, 1],
    ),
]


@pytest.mark.parametrize(("completions", "pods", "gone", "left"), MISPLACED)
def test_pods_without_a_place_of_their_own_go(
    completions: int, pods: list[tuple[int | None, str]], gone: list[int | None], left: list[int]
) -> None:
    made = [job_pod(f"p{number}", phase, index=index) for number, (index, phase) in enumerate(pods)]
    found = to_remove(
        job(completion_mode="Indexed", completions=completions), removal_order(made, made, EPOCH), 0
    )
    removed = {pod.metadata.uid for pod in found}

    def indexes(which: list[Pod]) -> list[str]:
        return sorted(str(index_of(pod)) for pod in which)

    assert indexes(found) == sorted(map(str, gone))
    kept = [pod for pod in made if pod.metadata.uid not in removed]
    assert indexes(kept) == sorted(map(str, left))
    running = {index for index, phase in pods if phase == "Running"} & set(left)
    assert all(pod.status.phase == "Running" for pod in kept if index_of(pod) in running)


# parallelism, completions, states of pods by index ("!" is being deleted), status, and the new indexes
PENDING: list[tuple[int, int, dict[int, str], dict[str, Any], list[int]]] = [
    (5, 3, {}, {}, [0, 1, 2]),
    (2, 5, {}, {}, [0, 1]),
    (5, 10, {0: "Running", 1: "Pending"}, {}, [2, 3, 4]),
    (6, 6, {}, {"completed_indexes": "4-5"}, [0, 1, 2, 3]),
    (5, 20, {5: "Running", 8: "Pending"}, {"completed_indexes": "2-4,9"}, [0, 1, 6]),
    (
        7,
        20,
        {3: "Pending", 10: "Pending"},
        {"completed_indexes": "1,5,9", "failed_indexes": "2,6-7"},
        [0, 4, 8, 11, 12],
    ),
    (3, 3, {0: "Running!", 1: "Running"}, {}, [2]),
]


@pytest.mark.parametrize(("parallelism", "completions", "states", "status", "new"), PENDING)
def test_lowest_indexes_without_a_pod_are_next(
    parallelism: int, completions: int, states: dict[int, str], status: dict[str, Any], new: list[int]
) -> None:
    wanted = job(
        completion_mode="Indexed",
        completions=completions,
        parallelism=parallelism,
        backoff_limit_per_index=1,
        pod_replacement_policy="Failed",
    )
    wanted = structs.replace(wanted, status=JobStatus(**status))
    pods = [
        job_pod(f"p{index}", state.rstrip("!"), index=index, deleted=EPOCH if "!" in state else None)
        for index, state in states.items()
    ]
    active = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    terminating = [pod for pod in pods if pod.metadata.deletion_timestamp is not None]
    found = next_step(wanted, active, active, account(wanted, pods), terminating)
    assert list(found.indexes) == new
