"""Explanations for Jobs that do not go on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.cli.evidence import Explanation
from podling.cli.workloads.jobs import explain_job, is_complete, wanted_by_job

NAMES = {"name": "sum", "namespace": "shop"}
WELL = Explanation(healthy=True, area="none", reason="Ready", text="Nothing is wrong.")
ILL = Explanation(area="end", reason="Error", container="main", text="It ended with exit code 3.")


def job(conditions: tuple[str, ...] = (), status: Any = None, **spec: Any) -> Job:
    found = [
        {"type": each, "status": "True", "reason": "BackoffLimitExceeded", "message": "limit reached"}
        for each in conditions
    ]
    plain = {
        "metadata": NAMES,
        "spec": {"template": {}} | spec,
        "status": {"conditions": found} | (status or {}),
    }
    return msgspec.convert(plain, Job)


def pod(name: str, *, phase: str = "Running", deleted: bool = False) -> Pod:
    metadata = {"name": name, "namespace": "shop"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    return msgspec.convert({"metadata": metadata, "status": {"phase": phase}}, Pod)


@pytest.mark.parametrize(
    ("conditions", "spec", "succeeded", "number"),
    [
        ((), {}, 0, 1),
        ((), {"parallelism": 0}, 0, 0),
        ((), {"parallelism": 3, "completions": 5}, 0, 3),
        ((), {"parallelism": 3, "completions": 5}, 3, 2),
        ((), {"parallelism": 3, "completions": 5}, 6, 0),
        ((), {"parallelism": 3}, 0, 3),
        ((), {"parallelism": 3}, 1, 0),
        (("Complete",), {"parallelism": 3}, 0, 0),
        (("Failed",), {"parallelism": 3}, 0, 0),
        (("FailureTarget",), {"parallelism": 3}, 0, 0),
    ],
)
def test_number_of_pods_a_job_is_to_run(
    conditions: tuple[str, ...], spec: Any, succeeded: int, number: int
) -> None:
    assert wanted_by_job(job(conditions, {"succeeded": succeeded}, **spec)) == number


def test_failed_job_names_its_reason_and_its_last_failed_pod() -> None:
    failed = job(("FailureTarget", "Failed"), {"failedIndexes": "1,3-5"})
    answer = explain_job(failed, "Job sum", [(pod("sum-a"), WELL), (pod("sum-b"), ILL)])
    assert answer is not None
    assert answer.text == (
        "Job sum has failed (BackoffLimitExceeded): limit reached. Failed indexes: 1,3-5. One of its pods is "
        "sum-b: It ended with exit code 3."
    )
    assert (answer.reason, answer.container) == ("BackoffLimitExceeded", "main")
    assert "never starts again" in answer.advice


def test_failing_job_waits_for_its_pods() -> None:
    answer = explain_job(job(("FailureTarget",)), "Job sum", [])
    assert answer is not None
    assert answer.text.startswith("Job sum is failing, and waits for its pods to end (BackoffLimitExceeded)")


@pytest.mark.parametrize(
    ("manager", "conditions", "reason"),
    [
        ("acme.org/queue", (), "ManagedBy"),
        ("kubernetes.io/job-controller", (), None),
        ("acme.org/queue", ("Failed",), "BackoffLimitExceeded"),
    ],
)
def test_job_of_another_controller(manager: str, conditions: tuple[str, ...], reason: str | None) -> None:
    answer = explain_job(job(conditions, managedBy=manager), "Job sum", [])
    assert (answer.reason if answer is not None else None) == reason


@pytest.mark.parametrize(
    ("policy", "pods", "waits"),
    [
        ("Failed", (pod("a", deleted=True),), True),
        ("Failed", (pod("a", deleted=True), pod("b")), False),
        ("Failed", (pod("a", deleted=True, phase="Failed"),), False),
        ("TerminatingOrFailed", (pod("a", deleted=True),), False),
        ("Failed", (), False),
    ],
)
def test_job_that_replaces_pods_when_they_have_ended(policy: str, pods: tuple[Pod, ...], waits: bool) -> None:
    answer = explain_job(job(podReplacementPolicy=policy), "Job sum", [(each, WELL) for each in pods])
    assert (answer is not None and answer.advice == "podling why a -n shop") == waits


def test_job_is_complete_by_its_condition_only() -> None:
    assert is_complete(job(("SuccessCriteriaMet", "Complete")))
    assert not is_complete(job(("SuccessCriteriaMet",)))
