"""Failure and success policies of Jobs, and limits for each index: what becomes of the pods that are there.

Cases of ``TestSyncJobWithJobPodFailurePolicy``, ``TestSyncJobWithJobSuccessPolicy`` and
``TestSyncJobWithJobBackoffLimitPerIndex`` in job_controller_test.go, followed until nothing changes any more.
"""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.batch_v1 import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from podling.testing import ControlPlane
from tests.support.workloads import job
from tests.unit.controllers.workloads.jobs import Found, result

INDEXED: dict[str, Any] = {"completion_mode": "Indexed"}
NO_LIMIT = 2**31 - 1
GIVEN_UP, DONE = "FailureTarget Failed", "SuccessCriteriaMet Complete"


def at_codes(action: str, *codes: int, operator: str = "In") -> PodFailurePolicyRule:
    requirement = PodFailurePolicyOnExitCodesRequirement(operator=operator, values=codes)
    return PodFailurePolicyRule(action=action, on_exit_codes=requirement)


def disrupted(action: str) -> PodFailurePolicyRule:
    pattern = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")
    return PodFailurePolicyRule(action=action, on_pod_conditions=(pattern,))


def failing(*rules: PodFailurePolicyRule) -> dict[str, Any]:
    return {"pod_failure_policy": PodFailurePolicy(rules=rules), "pod_replacement_policy": "Failed"}


def succeeding(indexes: str | None = None, count: int | None = None) -> dict[str, Any]:
    rule = SuccessPolicyRule(succeeded_indexes=indexes, succeeded_count=count)
    return {**INDEXED, "success_policy": SuccessPolicy(rules=(rule,))}


CODES = (at_codes("Ignore", 1, 2, 3), at_codes("FailJob", 5, 6, 7))
BY_POLICY = "PodFailurePolicy"

# parallelism and completions, the rules, the limit of failures, the pods that are there, and the end
FAILURES: list[tuple[int, tuple[PodFailurePolicyRule, ...], int, str, Found]] = [
    (1, CODES, 6, "R=5", Found(active=1)),
    (1, CODES, 6, "F=5", Found(failed=1, conditions=GIVEN_UP, reason=BY_POLICY)),
    (
        2,
        CODES,
        6,
        "R F=5",
        Found(deleted=1, failed=2, terminating=1, conditions="FailureTarget", reason=BY_POLICY),
    ),
    (
        1,
        (at_codes("FailJob", 5, 6, 7, operator="NotIn"),),
        6,
        "F=42",
        Found(failed=1, conditions=GIVEN_UP, reason=BY_POLICY),
    ),
    (1, (at_codes("FailJob", 5, 6, 7, operator="NotIn"),), 6, "F=5", Found(made="1", active=1, failed=1)),
    (1, CODES, 0, "F=1", Found(made="1", active=1)),
    (1, CODES, 0, "F=10", Found(failed=1, conditions=GIVEN_UP, reason="BackoffLimitExceeded")),
    (1, (at_codes("Count", 1, 2), at_codes("Ignore", 2, 3)), 6, "F=2", Found(made="1", active=1, failed=1)),
    (1, (disrupted("Ignore"),), 0, "F~", Found(made="1", active=1)),
    (1, (disrupted("FailJob"),), 6, "F~", Found(failed=1, conditions=GIVEN_UP, reason=BY_POLICY)),
    (1, (disrupted("Count"),), 0, "R!", Found(terminating=1)),
]


@pytest.mark.parametrize(("number", "rules", "limit", "words", "found"), FAILURES)
async def test_failure_policy_decides_about_failed_pods(
    cluster: ControlPlane,
    number: int,
    rules: tuple[PodFailurePolicyRule, ...],
    limit: int,
    words: str,
    found: Found,
) -> None:
    wanted = job(parallelism=number, completions=number, backoff_limit=limit, **failing(*rules))
    assert await result(cluster, wanted, words) == found


async def test_index_fails_the_job_by_its_policy(cluster: ControlPlane) -> None:
    found = Found(failed=1, conditions=GIVEN_UP, reason=BY_POLICY)
    assert await result(cluster, job(**INDEXED, **failing(*CODES)), "F0=5") == found


TWO = "0,1"
MET = {"type": "SuccessCriteriaMet", "status": "True", "reason": "SuccessPolicy", "message": "Matched"}
MISSED = {"type": "FailureTarget", "status": "True", "reason": BY_POLICY, "message": "Matched"}
COUNTED: dict[str, Any] = {"succeeded": 1, "completedIndexes": "1"}

# parallelism and completions, more of the spec, the status before, the pods that are there, and the end
SUCCESSES: list[tuple[int, dict[str, Any], dict[str, Any] | None, str, Found]] = [
    (
        3,
        succeeding(TWO, 1),
        None,
        "F0 R0 S1 R2",
        Found(deleted=2, succeeded=1, failed=1, terminating=2, indexes="1", conditions="SuccessCriteriaMet"),
    ),
    (
        2,
        {**succeeding(TWO, 1), **failing(disrupted("FailJob"))},
        None,
        "F0 R0 S1",
        Found(deleted=1, succeeded=1, failed=1, terminating=1, indexes="1", conditions="SuccessCriteriaMet"),
    ),
    (
        2,
        {**succeeding(TWO, 1), "backoff_limit_per_index": 2},
        None,
        "F0 R0 S1",
        Found(deleted=1, succeeded=1, failed=1, terminating=1, indexes="1", conditions="SuccessCriteriaMet"),
    ),
    (
        2,
        {**succeeding(TWO, 1), "backoff_limit_per_index": 2},
        {"conditions": [MET]},
        "F0 S1",
        Found(succeeded=1, failed=1, indexes="1", conditions=DONE),
    ),
    (
        3,
        {**succeeding(TWO, 1), "backoff_limit_per_index": 3},
        {"conditions": [MET]},
        "F0 R1 S1 R2",
        Found(deleted=2, succeeded=1, failed=1, terminating=2, indexes="1", conditions="SuccessCriteriaMet"),
    ),
    (
        2,
        {**succeeding(TWO, 1), **failing(disrupted("FailJob"))},
        None,
        "F0~ R0 S1",
        Found(
            deleted=1,
            succeeded=1,
            failed=2,
            terminating=1,
            indexes="1",
            conditions="FailureTarget",
            reason=BY_POLICY,
        ),
    ),
    (
        2,
        {**succeeding(TWO, 1), "backoff_limit_per_index": 1},
        None,
        "F0#1 S1",
        Found(
            succeeded=1,
            failed=1,
            indexes="1",
            failed_indexes="0",
            conditions=GIVEN_UP,
            reason="FailedIndexes",
        ),
    ),
    (
        2,
        {**succeeding(TWO, 1), "backoff_limit": 1},
        None,
        "F0 F0 S1",
        Found(succeeded=1, failed=2, indexes="1", conditions=GIVEN_UP, reason="BackoffLimitExceeded"),
    ),
    (
        2,
        {**succeeding(count=1), **failing(disrupted("FailJob"))},
        {**COUNTED, "conditions": [MET]},
        "F0~ S1",
        Found(succeeded=1, failed=1, indexes="1", conditions=DONE),
    ),
    (
        2,
        {**succeeding("1"), "backoff_limit_per_index": 1},
        {**COUNTED, "conditions": [MET]},
        "F0#1 S1",
        Found(succeeded=1, failed=1, indexes="1", failed_indexes="0", conditions=DONE),
    ),
    (
        2,
        {**succeeding(TWO, 1), "backoff_limit": 1},
        {**COUNTED, "conditions": [MET]},
        "F0 S1",
        Found(succeeded=1, failed=1, indexes="1", conditions=DONE),
    ),
    (
        2,
        {**succeeding(TWO, 1), **failing(disrupted("FailJob"))},
        {"failed": 1, "conditions": [MISSED]},
        "F0~- S1",
        Found(succeeded=1, failed=1, indexes="1", conditions=GIVEN_UP, reason=BY_POLICY),
    ),
    (1, INDEXED, None, "S0", Found(succeeded=1, indexes="0", conditions=DONE)),
]


@pytest.mark.parametrize(("number", "more", "before", "words", "found"), SUCCESSES)
async def test_first_verdict_about_a_job_stays(
    cluster: ControlPlane,
    number: int,
    more: dict[str, Any],
    before: dict[str, Any] | None,
    words: str,
    found: Found,
) -> None:
    spec = {"backoff_limit": NO_LIMIT, **more}
    wanted = job(parallelism=number, completions=number, **spec)
    assert await result(cluster, wanted, words, before) == found


# parallelism and completions, more of the spec, the pods that are there, and the end
INDEXES: list[tuple[int, dict[str, Any], str, Found]] = [
    (2, {}, "F0#0 S0#1 S1#0", Found(succeeded=2, failed=1, indexes="0,1", conditions=DONE)),
    (2, {}, "F0#0", Found(made="0-1", active=2, failed=1)),
    (2, {}, "F0#0 P0#1", Found(made="1", active=2, failed=1)),
    (2, {}, "F0#1", Found(made="1", active=1, failed=1, failed_indexes="0")),
    (
        2,
        failing(at_codes("FailIndex", 3)),
        "F0#0=3",
        Found(made="1", active=1, failed=1, failed_indexes="0"),
    ),
    (
        2,
        {**failing(at_codes("FailJob", 3)), "backoff_limit": 6},
        "F0#0=3",
        Found(failed=1, conditions=GIVEN_UP, reason=BY_POLICY),
    ),
    (2, {**failing(at_codes("Ignore", 3)), "backoff_limit": 6}, "F0#0=3", Found(made="0-1", active=2)),
    (
        2,
        {"backoff_limit": 1},
        "F0#0 F1#0",
        Found(failed=2, conditions=GIVEN_UP, reason="BackoffLimitExceeded"),
    ),
    (
        2,
        {},
        "F0#1 S1#0",
        Found(
            succeeded=1,
            failed=1,
            indexes="1",
            failed_indexes="0",
            conditions=GIVEN_UP,
            reason="FailedIndexes",
        ),
    ),
    (
        3,
        {"max_failed_indexes": 1},
        "F0#1 R1#0 R2#0",
        Found(active=2, failed=1, failed_indexes="0"),
    ),
    (2, {"backoff_limit_per_index": 0}, "F0 R0 R1", Found(active=2, failed=1, failed_indexes="0")),
    (
        4,
        {"max_failed_indexes": 1},
        "F0#1 S1#0 F2#1 R3#0",
        Found(
            deleted=1,
            succeeded=1,
            failed=3,
            terminating=1,
            indexes="1",
            failed_indexes="0,2",
            conditions="FailureTarget",
            reason="MaxFailedIndexesExceeded",
        ),
    ),
]


@pytest.mark.parametrize(("number", "more", "words", "found"), INDEXES)
async def test_each_index_may_fail_once(
    cluster: ControlPlane, number: int, more: dict[str, Any], words: str, found: Found
) -> None:
    spec = {**INDEXED, "backoff_limit": NO_LIMIT, "backoff_limit_per_index": 1, **more}
    assert await result(cluster, job(parallelism=number, completions=number, **spec), words) == found
