"""Validation of a Job's pod failure policy and success policy.

Upstream: ``validatePodFailurePolicy`` and ``validateSuccessPolicy`` in
``pkg/apis/batch/validation/validation.go``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from podling.api.batch_v1 import (
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from podling.apiserver.kinds.batch.index_list_validation import IndexesError, count_indexes
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import OMITTED, Path

ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS = ("In", "NotIn")
STATES = ("False", "True", "Unknown")
MAX_RULES = 20
MAX_EXIT_CODES = 255
MAX_PATTERNS = 20
LONGEST_INDEXES = 64 * 1024


def failure_policy_errors(path: Path, policy: PodFailurePolicy, spec: JobSpec) -> Errors:
    here = path.child("rules")
    errors: Errors = []
    if len(policy.rules) > MAX_RULES:
        errors.append(fields.too_many(here, len(policy.rules), MAX_RULES))
    containers = {each.name for each in (*spec.template.spec.containers, *spec.template.spec.init_containers)}
    for position, rule in enumerate(policy.rules):
        errors += _failure_rule_errors(here.index(position), rule, spec, containers)
    return errors


def _choice_errors(path: Path, value: str | None, supported: Sequence[str]) -> Errors:
    """Check as ``checks.required_one_of`` does, but list the supported values for a missing one too."""
    if not value:
        listed = " ".join(json.dumps(each) for each in supported)
        return [fields.required(path, f"valid values: [{listed}]")]
    return checks.one_of(path, value, supported)


def _failure_rule_errors(
    path: Path, rule: PodFailurePolicyRule, spec: JobSpec, containers: set[str]
) -> Errors:
    where, codes, patterns = path.child("action"), rule.on_exit_codes, rule.on_pod_conditions
    errors = _choice_errors(where, rule.action, ACTIONS)
    if rule.action == "FailIndex" and spec.backoff_limit_per_index is None:
        errors.append(fields.invalid(where, rule.action, "requires the backoffLimitPerIndex to be set"))
    if codes is not None:
        errors += _exit_code_errors(path.child("onExitCodes"), codes, containers)
    errors += _pattern_errors(path.child("onPodConditions"), patterns)
    if codes is not None and patterns:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(fields.invalid(path, OMITTED, text))
    if codes is None and not patterns:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(fields.invalid(path, OMITTED, text))
    return errors


def _exit_code_errors(
    path: Path, codes: PodFailurePolicyOnExitCodesRequirement, containers: set[str]
) -> Errors:
    errors = _choice_errors(path.child("operator"), codes.operator, OPERATORS)
    if codes.container_name is not None and codes.container_name not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(fields.invalid(path.child("containerName"), codes.container_name, text))
    where, values = path.child("values"), codes.values
    if not values:
        errors.append(fields.invalid(where, values, "at least one value is required"))
    elif len(values) > MAX_EXIT_CODES:
        errors.append(fields.too_many(where, len(values), MAX_EXIT_CODES))
    for position, value in enumerate(values):
        if codes.operator == "In" and value == 0:
            errors.append(fields.invalid(where.index(position), 0, "must not be 0 for the In operator"))
        if value in values[:position]:
            errors.append(fields.duplicate(where.index(position), value))
    if list(values) != sorted(values):
        errors.append(fields.invalid(where, values, "must be ordered"))
    return errors


def _pattern_errors(path: Path, patterns: Sequence[PodFailurePolicyOnPodConditionsPattern]) -> Errors:
    errors: Errors = []
    if len(patterns) > MAX_PATTERNS:
        errors.append(fields.too_many(path, len(patterns), MAX_PATTERNS))
    for position, pattern in enumerate(patterns):
        here = path.index(position)
        errors += checks.label_name(here.child("type"), pattern.type)
        errors += _choice_errors(here.child("status"), pattern.status, STATES)
    return errors


def success_policy_errors(path: Path, policy: SuccessPolicy, completions: int) -> Errors:
    here = path.child("rules")
    errors: Errors = []
    if not policy.rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.append(fields.required(here, text))
    if len(policy.rules) > MAX_RULES:
        errors.append(fields.too_many(here, len(policy.rules), MAX_RULES))
    for position, rule in enumerate(policy.rules):
        errors += _success_rule_errors(here.index(position), rule, completions)
    return errors


def _success_rule_errors(path: Path, rule: SuccessPolicyRule, completions: int) -> Errors:
    count, indexes = rule.succeeded_count, rule.succeeded_indexes
    errors: Errors = []
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(fields.required(path, text))
    total = 0
    if indexes is not None:
        where = path.child("succeededIndexes")
        if len(indexes.encode()) > LONGEST_INDEXES:
            errors.append(fields.too_long(where, LONGEST_INDEXES))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            errors.append(fields.invalid(where, indexes, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return errors
    where = path.child("succeededCount")
    errors += checks.non_negative(where, count)
    if count > completions:
        text = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(fields.invalid(where, count, text))
    if indexes is not None and count > total:
        text = (
            f"must be less than or equal to {total} (the number of indexes in the specified "
            "succeededIndexes field)"
        )
        errors.append(fields.invalid(where, count, text))
    return errors
