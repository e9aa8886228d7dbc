"""The status of a Job: numbers after a step, suspension, and the two conditions of its end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job, JobCondition, JobStatus, UncountedTerminatedPods
from podling.controllers.workloads.job_accounting import Later, account
from podling.controllers.workloads.job_rules import Step, Verdict
from podling.controllers.workloads.job_status import (
    is_finished,
    status_of,
    suspension,
    target,
    with_verdict,
)
from podling.sim.loop import EPOCH
from tests.support.workloads import job, job_pod

NOW = EPOCH + timedelta(hours=1)


def condition(type_: str, status: str = "True", reason: str = "", message: str = "") -> JobCondition:
    return JobCondition(type=type_, status=status, reason=reason, message=message)


def with_status(wanted: Job, **status: Any) -> Job:
    return structs.replace(wanted, status=JobStatus(**status))


@pytest.mark.parametrize(
    ("types", "ends"),
    [
        ([], None),
        (["SuccessCriteriaMet"], True),
        (["FailureTarget"], False),
        (["FailureTarget", "SuccessCriteriaMet"], True),
        (["Suspended"], None),
    ],
)
def test_interim_condition_decides_the_end(types: list[str], ends: bool | None) -> None:
    found = target(with_status(job(), conditions=tuple(map(condition, types))))
    assert (None if found is None else found.succeeded) == ends


SUCCESS, FAILURE = Verdict(True, "Enough", "enough"), Verdict(False, "TooMany", "too many")
LATER = Later(succeeded=1)
ENDS: list[tuple[Verdict, list[str], dict[str, Any], Later, list[str]]] = [
    (SUCCESS, [], {}, Later(), ["SuccessCriteriaMet"]),
    (SUCCESS, ["SuccessCriteriaMet"], {}, Later(), ["SuccessCriteriaMet", "Complete"]),
    (SUCCESS, ["SuccessCriteriaMet"], {"active": 1}, Later(), ["SuccessCriteriaMet"]),
    (SUCCESS, ["SuccessCriteriaMet"], {"terminating": 1}, Later(), ["SuccessCriteriaMet"]),
    (SUCCESS, ["SuccessCriteriaMet"], {}, LATER, ["SuccessCriteriaMet"]),
    (FAILURE, [], {}, Later(), ["FailureTarget"]),
    (FAILURE, ["FailureTarget"], {}, Later(), ["FailureTarget", "Failed"]),
    (
        FAILURE,
        ["FailureTarget"],
        {"uncounted_terminated_pods": UncountedTerminatedPods(failed=("a",))},
        Later(),
        ["FailureTarget"],
    ),
]


@pytest.mark.parametrize(("verdict", "before", "numbers", "later", "types"), ENDS)
def test_job_ends_once_its_last_pod_is_counted(
    verdict: Verdict, before: list[str], numbers: dict[str, Any], later: Later, types: list[str]
) -> None:
    wanted = with_status(job(), conditions=tuple(map(condition, before)))
    status = JobStatus(
        conditions=wanted.status.conditions,
        **{"uncounted_terminated_pods": UncountedTerminatedPods(), **numbers},
    )
    found = with_verdict(wanted, status, verdict, later, NOW)
    assert [each.type for each in found.conditions] == types
    last = found.conditions[-1]
    if last.type not in before:
        assert (last.reason, last.message) == (verdict.reason, verdict.message)
    assert (found.completion_time is not None) == ("Complete" in types)
    assert is_finished(structs.replace(wanted, status=found)) == (types[-1] in ("Complete", "Failed"))


@pytest.mark.parametrize(
    ("suspend", "before", "after"),
    [
        (False, None, None),
        (True, None, ("True", "JobSuspended", "Job suspended")),
        (True, "False", ("True", "JobSuspended", "Job suspended")),
        (False, "True", ("False", "JobResumed", "Job resumed")),
        (False, "False", ("False", "", "")),
        (True, "True", ("True", "", "")),
    ],
)
def test_suspension_is_a_condition_once_there_was_one(
    suspend: bool, before: str | None, after: tuple[str, str, str] | None
) -> None:
    held = () if before is None else (condition("Suspended", before),)
    wanted = with_status(job(suspend=suspend), conditions=held)
    found = suspension(wanted, wanted.status, NOW)
    texts = [(each.status, each.reason, each.message) for each in found]
    assert texts == ([] if after is None else [after])


@pytest.mark.parametrize(
    ("suspend", "started", "suspended", "managed", "expected"),
    [
        (False, None, False, False, NOW),
        (True, None, False, True, None),
        (True, EPOCH, False, True, None),
        (True, EPOCH, True, True, None),
        (True, EPOCH, False, False, EPOCH),
        (False, EPOCH, False, True, EPOCH),
        (False, EPOCH, True, True, NOW),
        (False, EPOCH, True, False, EPOCH),
    ],
)
def test_start_time_is_that_of_the_last_resumption_and_none_while_suspended(
    suspend: bool, started: Any, suspended: bool, managed: bool, expected: Any
) -> None:
    held = (condition("Suspended"),) if suspended else ()
    wanted = with_status(job(suspend=suspend), start_time=started, conditions=held)
    found = status_of(wanted, [], account(wanted, []), Step(), NOW, managed=managed)
    assert found.start_time == expected


def test_numbers_are_those_after_the_step() -> None:
    wanted = job(parallelism=3, completions=5)
    pods = [
        job_pod("a", "Running"),
        job_pod("b", "Pending"),
        job_pod("c", "Running", deleted=NOW),
        job_pod("d", "Succeeded"),
    ]
    step = Step(create=2, delete=(pods[0],))
    found = status_of(wanted, pods, account(wanted, pods), step, NOW, managed=True)
    assert (found.active, found.ready, found.terminating) == (3, 0, 1)
    assert found.uncounted_terminated_pods == UncountedTerminatedPods(succeeded=("d",), failed=("c",))
    assert (found.completed_indexes, found.failed_indexes) == ("", None)
