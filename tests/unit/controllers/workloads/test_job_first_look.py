"""A Job controller that finds pods in some state: what it makes, deletes and counts.

Cases of ``TestControllerSyncJob`` in job_controller_test.go, followed until nothing changes any more.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.admissionregistration_v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.api.batch_v1 import Job, PodFailurePolicy
from podling.testing import ControlPlane
from tests.support.manifests import obj
from tests.support.workloads import job
from tests.unit.controllers.workloads.jobs import Found, result

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
    (2, 5, {"backoff_limit": 0}, "F", Found(failed=1, conditions=GIVEN_UP, reason="BackoffLimitExceeded")),
    (2, 5, INDEXED, "", Found(made="0-1", active=2)),
    (2, 5, {**INDEXED, **FAILED_ONLY}, "R1!", Found(made="0", active=1, terminating=1)),
    (2, 5, INDEXED, "R1!", Found(made="0-1", active=2, failed=1, terminating=1)),
    (2, 3, INDEXED, "S0 F1 S1 S2", Found(succeeded=3, failed=1, indexes="0-2", conditions=DONE)),
    (
        2,
        3,
        {**INDEXED, "backoff_limit": 0},
        "S0 F1 R2",
        Found(
            deleted=1,
            succeeded=1,
            failed=2,
            terminating=1,
            indexes="0",
            conditions="FailureTarget",
            reason="BackoffLimitExceeded",
        ),
    ),
    (
        2,
        3,
        {"backoff_limit": 0},
        "+ + F",
        Found(deleted=2, failed=3, terminating=2, conditions="FailureTarget", reason="BackoffLimitExceeded"),
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
    wanted = job(parallelism=parallelism, completions=completions, **more)
    assert await result(cluster, wanted, words) == found


def condition(type_: str, status: str, reason: str = "ConditionAddedManually") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": reason, "message": "Testing"}


# parallelism, completions, the conditions before, the pods that are there, and the end
CONDITIONS: list[tuple[int, int, dict[str, str], str, Found]] = [
    (1, 1, condition("FailureTarget", "False"), "+", Found(active=1, ready=1, conditions="!FailureTarget")),
    (
        1,
        1,
        condition("SuccessCriteriaMet", "False"),
        "+",
        Found(active=1, ready=1, conditions="!SuccessCriteriaMet"),
    ),
    (
        2,
        4,
        condition("Suspended", "True", "JobSuspended"),
        "",
        Found(made="2", active=2, conditions="!Suspended"),
    ),
]


@pytest.mark.parametrize(("parallelism", "completions", "before", "words", "found"), CONDITIONS)
async def test_controller_continues_from_the_conditions_it_finds(
    cluster: ControlPlane,
    parallelism: int,
    completions: int,
    before: dict[str, str],
    words: str,
    found: Found,
) -> None:
    wanted = job(parallelism=parallelism, completions=completions)
    assert await result(cluster, wanted, words, {"conditions": [before]}) == found


def deleted(**spec: Any) -> Job:
    """Return a job that stays when it is deleted, until another finalizer goes."""
    wanted = job(**spec)
    metadata = structs.replace(wanted.metadata, finalizers=("example.com/hold",))
    return structs.replace(wanted, metadata=metadata)


# more of the spec of a job that is being deleted, the pods that are there, and the end
DELETIONS: list[tuple[dict[str, Any], str, Found]] = [
    ({}, "P R S", Found(active=2, succeeded=1)),
    (
        {"backoff_limit": 0},
        "F",
        Found(failed=1, conditions="FailureTarget Failed", reason="BackoffLimitExceeded"),
    ),
    ({"suspend": True}, "R R", Found(active=2)),
]


@pytest.mark.parametrize(("more", "words", "found"), DELETIONS)
async def test_job_that_is_being_deleted_is_counted_and_runs_nothing(
    cluster: ControlPlane, more: dict[str, Any], words: str, found: Found
) -> None:
    assert await result(cluster, deleted(parallelism=2, completions=5, **more), words) == found


# parallelism, completions, more of the spec, the pods that are there, and the end
SUPERFLUOUS: list[tuple[int, int | None, dict[str, Any], str, Found]] = [
    (2, 2, {}, "S S R", Found(deleted=1, succeeded=2, terminating=1, conditions="SuccessCriteriaMet")),
    (
        2,
        2,
        {"suspend": True},
        "S S R",
        Found(deleted=1, succeeded=2, terminating=1, conditions="SuccessCriteriaMet"),
    ),
    (
        2,
        None,
        {"suspend": True},
        "S R",
        Found(deleted=1, succeeded=1, terminating=1, conditions="SuccessCriteriaMet"),
    ),
]


@pytest.mark.parametrize(("parallelism", "completions", "more", "words", "found"), SUPERFLUOUS)
async def test_job_succeeds_as_soon_as_its_superfluous_pods_are_deleted(
    cluster: ControlPlane,
    parallelism: int,
    completions: int | None,
    more: dict[str, Any],
    words: str,
    found: Found,
) -> None:
    """It is never suspended after its last success."""
    wanted = job(parallelism=parallelism, completions=completions, **more)
    assert await result(cluster, wanted, words) == found


REFUSAL = """
metadata: {name: keep}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [pods]}]
  validations: [{expression: "oldObject.metadata.name == 'p1'"}]
"""
BINDING = "{metadata: {name: keep}, spec: {policyName: keep, validationActions: [Deny]}}"

# parallelism, completions, more of the spec, and the end for three running pods of which one can be deleted
REFUSED: list[tuple[int, int, dict[str, Any], Found]] = [
    (1, 5, {}, Found(deleted=1, active=2, terminating=1)),
    (1, 5, {"suspend": True}, Found(deleted=1, active=2, terminating=1, conditions="Suspended")),
    (3, 5, {"active_deadline_seconds": 1}, Found(deleted=1, active=2, failed=1, terminating=1)),
]


@pytest.mark.parametrize(("parallelism", "completions", "more", "found"), REFUSED)
async def test_pods_that_cannot_be_deleted_stay_active(
    cluster: ControlPlane, parallelism: int, completions: int, more: dict[str, Any], found: Found
) -> None:
    await cluster.client.create(obj(ValidatingAdmissionPolicy, REFUSAL))
    await cluster.client.create(obj(ValidatingAdmissionPolicyBinding, BINDING))
    wanted = job(parallelism=parallelism, completions=completions, **more)
    assert await result(cluster, wanted, "R R R") == found
