"""The pod failure policy of a Job (cases of pod_failure_policy_test.go)."""

from __future__ import annotations

import pytest

from podling.api.batch_v1 import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from podling.api.core_v1 import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.job_failures import Match, match


def ended(name: str, code: int) -> ContainerStatus:
    return ContainerStatus(
        name=name, state=ContainerState(terminated=ContainerStateTerminated(exit_code=code))
    )


def on_codes(action: str, operator: str, *codes: int, container: str | None = None) -> PodFailurePolicyRule:
    requirement = PodFailurePolicyOnExitCodesRequirement(
        container_name=container, operator=operator, values=codes
    )
    return PodFailurePolicyRule(action=action, on_exit_codes=requirement)


def on_condition(action: str, type_: str, status: str = "True") -> PodFailurePolicyRule:
    pattern = PodFailurePolicyOnPodConditionsPattern(type=type_, status=status)
    return PodFailurePolicyRule(action=action, on_pod_conditions=(pattern,))


POD = Pod(
    metadata=ObjectMeta(name="mypod", namespace="default"),
    status=PodStatus(
        phase="Failed",
        container_statuses=(ended("main", 2), ended("helper", 0), ContainerStatus(name="running")),
        init_container_statuses=(ended("init", 7),),
        conditions=(PodCondition(type="DisruptionTarget", status="True"),),
    ),
)
IN_MAIN = "Container main for pod default/mypod failed with exit code 2 matching FailJob rule at index 0"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((), Match()),
        ((on_codes("FailJob", "In", 1, 2),), Match("FailJob", IN_MAIN)),
        ((on_codes("FailJob", "NotIn", 1, 3),), Match("FailJob", IN_MAIN)),
        ((on_codes("FailJob", "In", 0),), Match()),
        ((on_codes("FailJob", "NotIn", 2, container="main"),), Match()),
        ((on_codes("FailJob", "NotIn", 1, container="helper"),), Match()),
        (
            (on_codes("FailIndex", "In", 1), on_codes("Ignore", "In", 7, container="init")),
            Match(
                "Ignore",
                "Container init for pod default/mypod failed with exit code 7 "
                "matching Ignore rule at index 1",
            ),
        ),
        (
            (on_condition("Ignore", "DisruptionTarget"), on_codes("FailJob", "In", 2)),
            Match(
                "Ignore", "Pod default/mypod has condition DisruptionTarget matching Ignore rule at index 0"
            ),
        ),
        (
            (on_codes("Ignore", "In", 1, 3), on_codes("FailJob", "In", 7)),
            Match(
                "FailJob",
                "Container init for pod default/mypod failed with exit code 7 "
                "matching FailJob rule at index 1",
            ),
        ),
        ((on_codes("FailJob", "In", 7, container="main"),), Match()),
        (
            (on_codes("Count", "In", 2), on_codes("FailJob", "In", 2)),
            Match(
                "Count",
                "Container main for pod default/mypod failed with exit code 2 matching Count rule at index 0",
            ),
        ),
        (
            (on_condition("Count", "DisruptionTarget"), on_condition("Ignore", "DisruptionTarget")),
            Match("Count", "Pod default/mypod has condition DisruptionTarget matching Count rule at index 0"),
        ),
        ((on_condition("Ignore", "DisruptionTarget", "False"),), Match()),
        ((on_condition("Ignore", "Other"),), Match()),
    ],
)
def test_first_matching_rule_of_failure_policy_decides(
    rules: tuple[PodFailurePolicyRule, ...], expected: Match
) -> None:
    assert match(PodFailurePolicy(rules=rules), POD) == expected


def test_failure_counts_without_a_policy() -> None:
    assert match(None, POD) == Match("Count", "")


@pytest.mark.parametrize(
    ("wanted", "conditions", "matched"),
    [
        ((("Ready", "False"),), (("Ready", "False"),), "Ready"),
        ((("Ready", "Unknown"),), (("Ready", "Unknown"),), "Ready"),
        ((("Ready", "True"),), (("Ready", "Unknown"),), None),
        (
            (("Ready", "False"), ("DisruptionTarget", "True")),
            (("DisruptionTarget", "True"),),
            "DisruptionTarget",
        ),
        ((("Ready", "False"), ("DisruptionTarget", "True")), (("DisruptionTarget", "False"),), None),
        ((("Ready", "False"),), (), None),
    ],
)
def test_rule_matches_any_condition_with_the_wanted_status(
    wanted: tuple[tuple[str, str], ...], conditions: tuple[tuple[str, str], ...], matched: str | None
) -> None:
    patterns = tuple(
        PodFailurePolicyOnPodConditionsPattern(type=kind, status=status) for kind, status in wanted
    )
    policy = PodFailurePolicy(rules=(PodFailurePolicyRule(action="FailJob", on_pod_conditions=patterns),))
    pod = Pod(
        metadata=POD.metadata,
        status=PodStatus(
            phase="Failed",
            conditions=tuple(PodCondition(type=kind, status=status) for kind, status in conditions),
        ),
    )
    message = f"Pod default/mypod has condition {matched} matching FailJob rule at index 0"
    assert match(policy, pod) == (Match("FailJob", message) if matched else Match())
