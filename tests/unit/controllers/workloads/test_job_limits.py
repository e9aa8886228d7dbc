"""Deadlines and limits of failures of Jobs: what becomes of the pods that are there.

Cases of ``TestSyncJobPastDeadline``, ``TestJobBackoffForOnFailure`` and
``TestJobBackoffOnRestartPolicyNever`` in job_controller_test.go, followed until nothing changes any more.
"""

from __future__ import annotations

from typing import Any

import pytest

from podling.testing import ControlPlane
from tests.support.workloads import job
from tests.unit.controllers.workloads.jobs import Found, moment, result

GIVEN_UP = "FailureTarget Failed"
LATE, TOO_MANY = "DeadlineExceeded", "BackoffLimitExceeded"

# completions, the deadline, more of the spec, the pods that are there, and the end
DEADLINES: list[tuple[int, int, dict[str, Any], str, Found]] = [
    (
        1,
        10,
        {},
        "R",
        Found(deleted=1, failed=1, terminating=1, conditions="FailureTarget", reason=LATE),
    ),
    (
        2,
        10,
        {},
        "R S",
        Found(deleted=1, succeeded=1, failed=1, terminating=1, conditions="FailureTarget", reason=LATE),
    ),
    (1, 10, {}, "", Found(conditions=GIVEN_UP, reason=LATE)),
    (1, 1, {"backoff_limit": 0}, "F", Found(failed=1, conditions=GIVEN_UP, reason=TOO_MANY)),
    (2, 10, {"suspend": True}, "", Found(conditions="Suspended")),
]


@pytest.mark.parametrize(("completions", "deadline", "more", "words", "found"), DEADLINES)
async def test_job_fails_at_its_deadline(
    cluster: ControlPlane, completions: int, deadline: int, more: dict[str, Any], words: str, found: Found
) -> None:
    wanted = job(completions=completions, active_deadline_seconds=deadline, **more)
    assert await result(cluster, wanted, words, {"startTime": moment()}) == found


async def test_condition_that_was_false_becomes_true_in_place(cluster: ControlPlane) -> None:
    """The case ``TestSingleJobFailedCondition``."""
    before = {"type": "Failed", "status": "False", "reason": LATE, "message": "late"}
    found = await result(
        cluster, job(active_deadline_seconds=10), "", {"startTime": moment(), "conditions": [before]}
    )
    assert (found.conditions, found.reason) == ("Failed FailureTarget", LATE)


# parallelism, completions, the limit of failures, more of the spec, the pods that are there, and the end
RESTARTS: list[tuple[int, int, int, dict[str, Any], str, Found]] = [
    (1, 1, 0, {}, "R*0", Found(active=1)),
    (1, 1, 1, {}, "R*0", Found(active=1)),
    (
        1,
        1,
        1,
        {},
        "R*1",
        Found(deleted=1, failed=1, terminating=1, conditions="FailureTarget", reason=TOO_MANY),
    ),
    (1, 1, 1, {}, "P*1", Found(deleted=1, failed=1, conditions=GIVEN_UP, reason=TOO_MANY)),
    (
        1,
        5,
        2,
        {},
        "R*2",
        Found(deleted=1, failed=1, terminating=1, conditions="FailureTarget", reason=TOO_MANY),
    ),
    (1, 5, 2, {}, "P*2", Found(deleted=1, failed=1, conditions=GIVEN_UP, reason=TOO_MANY)),
    (
        2,
        5,
        2,
        {},
        "R*1 R*1",
        Found(deleted=2, failed=2, terminating=2, conditions="FailureTarget", reason=TOO_MANY),
    ),
    (2, 5, 2, {}, "P*1 P*1", Found(deleted=2, failed=2, conditions=GIVEN_UP, reason=TOO_MANY)),
    (2, 5, 3, {}, "R*1 R*1", Found(active=2)),
    (2, 4, 6, {"suspend": True}, "R*1 R*1", Found(deleted=2, terminating=2, conditions="Suspended")),
    (
        2,
        4,
        6,
        {"suspend": True},
        "S*1 S*1 S*2 S*0",
        Found(succeeded=4, conditions="SuccessCriteriaMet Complete"),
    ),
]


@pytest.mark.parametrize(("parallelism", "completions", "limit", "more", "words", "found"), RESTARTS)
async def test_restarts_of_pods_that_have_not_ended_count_as_failures(
    cluster: ControlPlane,
    parallelism: int,
    completions: int,
    limit: int,
    more: dict[str, Any],
    words: str,
    found: Found,
) -> None:
    spec = {"parallelism": parallelism, "completions": completions, "backoff_limit": limit, **more}
    assert await result(cluster, job("OnFailure", **spec), words) == found


# parallelism and completions, the limit of failures, the pods that are there, and the end
FAILURES: list[tuple[int, int, str, Found]] = [
    (1, 0, "R", Found(active=1)),
    (1, 1, "F", Found(made="1", active=1, failed=1)),
    (1, 1, "F F", Found(failed=2, conditions=GIVEN_UP, reason=TOO_MANY)),
    (2, 6, "R F F F F F F", Found(made="1", active=2, failed=6)),
    (2, 6, "F F F F F F F", Found(failed=7, conditions=GIVEN_UP, reason=TOO_MANY)),
]


@pytest.mark.parametrize(("number", "limit", "words", "found"), FAILURES)
async def test_job_fails_with_more_failures_than_allowed(
    cluster: ControlPlane, number: int, limit: int, words: str, found: Found
) -> None:
    wanted = job(parallelism=number, completions=number, backoff_limit=limit)
    assert await result(cluster, wanted, words) == found
