"""Pods of a Job: when they have failed, when they ended, and what their index has been through.

Cases of ``indexed_job_utils_test.go`` and ``backoff_utils_test.go``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import (
    Job,
    JobStatus,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from podling.api.core_v1 import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
)
from podling.controllers.workloads.job_indexes import Indexes
from podling.controllers.workloads.job_pod_rules import (
    delayed_pods,
    fail_message,
    failure_count,
    finished_at,
    has_failed,
    index_history,
    newly_failed,
)
from podling.controllers.workloads.job_rules import index_backoff_seconds
from podling.sim.loop import EPOCH
from tests.support.workloads import job, job_pod

NOW = EPOCH


def indexed(completions: int = 2, limit: int | None = 1, **spec: Any) -> Job:
    return job(completion_mode="Indexed", completions=completions, backoff_limit_per_index=limit, **spec)


def at_codes(action: str, *codes: int) -> PodFailurePolicy:
    requirement = PodFailurePolicyOnExitCodesRequirement(operator="In", values=codes)
    return PodFailurePolicy(rules=(PodFailurePolicyRule(action=action, on_exit_codes=requirement),))


DISRUPTED = PodFailurePolicy(
    rules=(
        PodFailurePolicyRule(
            action="Ignore",
            on_pod_conditions=(
                PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True"),
            ),
        ),
    )
)


@pytest.mark.parametrize(
    ("policy", "phase", "deleted", "failed"),
    [
        ("TerminatingOrFailed", "Failed", False, True),
        ("TerminatingOrFailed", "Running", True, True),
        ("TerminatingOrFailed", "Pending", True, True),
        ("TerminatingOrFailed", "Succeeded", True, False),
        ("TerminatingOrFailed", "Running", False, False),
        ("Failed", "Running", True, False),
        ("Failed", "Failed", True, True),
    ],
)
def test_replacement_policy_decides_when_a_pod_has_failed(
    policy: str, phase: str, deleted: bool, failed: bool
) -> None:
    pod = job_pod("a", phase, deleted=NOW if deleted else None)
    assert has_failed(job(pod_replacement_policy=policy), pod) == failed


def test_failure_policy_waits_for_the_end_of_a_pod() -> None:
    """Jobs of older versions may have a failure policy and the other replacement policy."""
    wanted = job(pod_failure_policy=DISRUPTED, pod_replacement_policy="TerminatingOrFailed")
    assert not has_failed(wanted, job_pod("a", "Running", deleted=NOW))


@pytest.mark.parametrize(
    ("text", "count"),
    [(None, 0), ("2", 2), (str(2**31 - 1), 2**31 - 1), (str(2**31), 0), ("-1", 0), ("xyz", 0)],
)
def test_failure_count_is_a_32_bit_number(text: str | None, count: int) -> None:
    assert failure_count(job_pod("a", "Failed", failures=text)) == count


NEWLY_FAILED: list[tuple[str, Job, list[Pod], set[int]]] = [
    (
        "limit of one",
        indexed(),
        [job_pod("a", index=0, failures="0"), job_pod("b", index=1, failures="1")],
        {1},
    ),
    ("limit of zero", indexed(limit=0), [job_pod("a", index=0, failures="0")], {0}),
    ("outside of the completions", indexed(limit=0), [job_pod("a", index=3, failures="0")], set()),
    ("no index", indexed(limit=0), [job_pod("a", failures="0")], set()),
    ("running", indexed(limit=0), [job_pod("a", "Running", index=0)], set()),
    (
        "failed by policy",
        indexed(pod_failure_policy=at_codes("FailIndex", 3)),
        [job_pod("a", index=0, failures="0", code=3)],
        {0},
    ),
    (
        "not matched by policy",
        indexed(pod_failure_policy=at_codes("FailIndex", 3)),
        [job_pod("a", index=0, failures="0", code=4)],
        set(),
    ),
    (
        "ignored by policy",
        indexed(limit=0, pod_failure_policy=at_codes("Ignore", 3)),
        [job_pod("a", index=0, failures="0", code=3)],
        set(),
    ),
    ("not limited by index", indexed(limit=None), [job_pod("a", index=0, failures="7")], set()),
]


@pytest.mark.parametrize(("why", "wanted", "pods", "indexes"), NEWLY_FAILED)
def test_index_fails_beyond_its_limit(why: str, wanted: Job, pods: list[Pod], indexes: set[int]) -> None:
    assert newly_failed(wanted, pods, Indexes()) == indexes, why


LATER, EARLIER = NOW, NOW - timedelta(seconds=1)
DELAYED: list[tuple[str, Job, list[Pod], set[str]]] = [
    (
        "indexes that may be tried again",
        indexed(3),
        [
            job_pod("a", index=0, failures="0"),
            job_pod("b", index=1, failures="1"),
            job_pod("c", index=2, failures="0"),
        ],
        {"a", "c"},
    ),
    ("released already", indexed(), [job_pod("a", index=0, failures="0", tracked=False)], set()),
    ("outside of the completions", indexed(), [job_pod("a", index=4, failures="0")], set()),
    (
        "replaced",
        indexed(),
        [job_pod("a", index=0, failures="0"), job_pod("b", "Running", index=0, failures="1")],
        set(),
    ),
    (
        "succeeded since",
        indexed(),
        [job_pod("a", index=0, failures="0"), job_pod("b", "Succeeded", index=0, failures="1")],
        set(),
    ),
    (
        "the one with the most failures",
        indexed(limit=4),
        [
            job_pod("a1", index=0, failures="0"),
            job_pod("a3", index=0, failures="2"),
            job_pod("a2", index=0, failures="1"),
        ],
        {"a3"},
    ),
    (
        "the last of those with as many failures",
        indexed(limit=4),
        [
            job_pod("a1", index=0, failures="1", deleted=EARLIER),
            job_pod("a3", index=0, failures="1", deleted=LATER),
            job_pod("a2", index=0, failures="1", deleted=EARLIER - timedelta(seconds=1)),
        ],
        {"a3"},
    ),
    ("not limited by index", indexed(limit=None), [job_pod("a", index=0, failures="0")], set()),
    (
        "completed before",
        structs.replace(indexed(), status=JobStatus(completed_indexes="0")),
        [job_pod("a", index=0, failures="0")],
        set(),
    ),
]


@pytest.mark.parametrize(("why", "wanted", "pods", "kept"), DELAYED)
def test_last_failed_pod_of_an_index_stays_until_it_is_replaced(
    why: str, wanted: Job, pods: list[Pod], kept: set[str]
) -> None:
    failed = newly_failed(wanted, pods, Indexes())
    assert {pod.metadata.uid for pod in delayed_pods(wanted, pods, failed).values()} == kept, why


@pytest.mark.parametrize(
    ("policy", "last", "history"),
    [
        (None, None, (0, 0)),
        (None, job_pod("a", index=0, failures="0"), (1, 0)),
        (None, job_pod("a", index=0, failures="3"), (4, 0)),
        (DISRUPTED, job_pod("a", index=0, failures="3", disrupted=True), (3, 1)),
        (DISRUPTED, job_pod("a", index=0, failures="3", ignored="2", disrupted=True), (3, 3)),
        (DISRUPTED, job_pod("a", index=0, failures="3"), (4, 0)),
    ],
)
def test_new_pod_of_an_index_knows_its_failures(
    policy: PodFailurePolicy | None, last: Pod | None, history: tuple[int, int]
) -> None:
    assert index_history(indexed(pod_failure_policy=policy), last) == history


@pytest.mark.parametrize(
    ("last", "seconds"),
    [
        (None, 0),
        (job_pod("a", failures="0", deleted=NOW), 10),
        (job_pod("a", failures="2", deleted=NOW), 40),
        (job_pod("a", failures="1", ignored="1", deleted=NOW), 40),
        (job_pod("a", failures="0", ignored="2", deleted=NOW), 40),
        (job_pod("a", failures="9", deleted=NOW), 600),
        (job_pod("a", failures="0", deleted=NOW - timedelta(seconds=9)), 1),
        (job_pod("a", failures="0", deleted=NOW - timedelta(seconds=11)), 0),
    ],
)
def test_index_waits_longer_after_each_failure(last: Pod | None, seconds: float) -> None:
    assert index_backoff_seconds(last, NOW) == seconds


def terminated(moment: datetime | None) -> ContainerStatus:
    state = ContainerState(terminated=ContainerStateTerminated(exit_code=0, finished_at=moment))
    return ContainerStatus(name="c", state=state)


RUNNING = ContainerStatus(name="c", state=ContainerState(running=ContainerStateRunning()))


def ready(status: str, moment: datetime) -> PodCondition:
    return PodCondition(type="Ready", status=status, last_transition_time=moment)


BEFORE = NOW - timedelta(seconds=30)
ENDS: list[tuple[str, PodStatus, datetime | None, int | None, datetime]] = [
    (
        "the last container",
        PodStatus(container_statuses=(terminated(EARLIER), terminated(NOW), terminated(BEFORE))),
        None,
        None,
        NOW,
    ),
    (
        "one still runs",
        PodStatus(container_statuses=(terminated(EARLIER), RUNNING, terminated(BEFORE))),
        NOW,
        None,
        NOW,
    ),
    ("the deletion", PodStatus(container_statuses=(RUNNING,)), NOW, None, NOW),
    ("the start of the deletion", PodStatus(container_statuses=(RUNNING,)), NOW, 30, BEFORE),
    (
        "not ready any more",
        PodStatus(container_statuses=(terminated(None),), conditions=(ready("False", NOW),)),
        None,
        None,
        NOW,
    ),
    (
        "ready says nothing",
        PodStatus(container_statuses=(terminated(None),), conditions=(ready("True", BEFORE),)),
        NOW,
        None,
        NOW,
    ),
    ("the creation", PodStatus(container_statuses=(terminated(None),)), None, None, BEFORE),
    (
        "the last sidecar",
        PodStatus(container_statuses=(terminated(EARLIER),), init_container_statuses=(terminated(NOW),)),
        None,
        None,
        NOW,
    ),
    (
        "a sidecar still runs",
        PodStatus(container_statuses=(terminated(EARLIER),), init_container_statuses=(RUNNING,)),
        NOW,
        None,
        NOW,
    ),
    (
        "the one that is known",
        PodStatus(container_statuses=(terminated(None), terminated(EARLIER))),
        NOW,
        None,
        EARLIER,
    ),
]


@pytest.mark.parametrize(("why", "status", "deleted", "grace", "moment"), ENDS)
def test_end_of_a_pod_is_read_from_the_best_source(
    why: str, status: PodStatus, deleted: datetime | None, grace: int | None, moment: datetime
) -> None:
    pod = job_pod("a")
    metadata = structs.replace(
        pod.metadata,
        creation_timestamp=BEFORE,
        deletion_timestamp=deleted,
        deletion_grace_period_seconds=grace,
    )
    assert finished_at(structs.replace(pod, metadata=metadata, status=status)) == moment, why


def test_any_failed_pod_may_fail_the_job() -> None:
    wanted = job(pod_failure_policy=at_codes("FailJob", 42))
    counted = job_pod("a", code=42, tracked=False)
    assert fail_message(wanted, [job_pod("b", code=1), counted]) == (
        "Container main for pod default/a failed with exit code 42 matching FailJob rule at index 0"
    )
    assert fail_message(wanted, [job_pod("b", code=1), job_pod("c", "Running", code=42)]) == ""
    assert fail_message(job(), [counted]) == ""
