"""The pod failure policy of a Job. Pure.

Upstream: ``pkg/controller/job/pod_failure_policy.go``.
"""

from __future__ import annotations

from msgspec import Struct

from podling.api.batch_v1 import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
)
from podling.api.core_v1 import Pod

FAIL_JOB = "FailJob"
FAIL_INDEX = "FailIndex"
IGNORE = "Ignore"
COUNT = "Count"


class Match(Struct, frozen=True):
    """The action of the first rule that matches a failed pod, and how; without one the failure counts."""

    action: str = COUNT
    message: str = ""


def match(policy: PodFailurePolicy | None, pod: Pod) -> Match:
    """Return the action for a failed pod; without a matching rule the failure counts."""
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        message = _matches(rule, number, pod)
        if message is not None:
            return Match(rule.action, message)
    return Match()


def _matches(rule: PodFailurePolicyRule, number: int, pod: Pod) -> str | None:
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        found = _exit_code(rule.on_exit_codes, pod)
        if found is None:
            return None
        container, code = found
        what = f"Container {container} for pod {name} failed with exit code {code}"
        return f"{what} matching {rule.action} rule at index {number}"
    for condition in pod.status.conditions:
        for pattern in rule.on_pod_conditions:
            if condition.type == pattern.type and condition.status == (pattern.status or "True"):
                return (
                    f"Pod {name} has condition {pattern.type} matching {rule.action} rule at index {number}"
                )
    return None


def _exit_code(requirement: PodFailurePolicyOnExitCodesRequirement, pod: Pod) -> tuple[str, int] | None:
    """Return the first container, in the order of statuses, whose exit code meets the requirement."""
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = status.state.terminated
        if ended is None or ended.exit_code == 0:
            continue
        if requirement.container_name and requirement.container_name != status.name:
            continue
        if (ended.exit_code in requirement.values) == (requirement.operator == "In"):
            return status.name, ended.exit_code
    return None
