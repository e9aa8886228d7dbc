"""Validation of a Job's spec, in a Job and in the template of a CronJob.

Upstream: ``pkg/apis/batch/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.batch_v1 import (
    Job,
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyRule,
    SuccessPolicy,
)
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.filling import change
from podling.apiserver.kinds.pod_validation import validate_pod_template
from podling.machinery import fields
from podling.machinery.fields import Path

INDEXED = "Indexed"
COMPLETION_MODES = (INDEXED, "NonIndexed")
REPLACEMENT_POLICIES = ("Failed", "TerminatingOrFailed")
ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
MAX_RULES = 20
MAX_EXIT_CODES = 255
MAX_PATTERNS = 20
MAX_INDEXED_PARALLELISM = 100_000

_COUNTS = (
    ("parallelism", "parallelism"),
    ("completions", "completions"),
    ("activeDeadlineSeconds", "active_deadline_seconds"),
    ("backoffLimit", "backoff_limit"),
    ("ttlSecondsAfterFinished", "ttl_seconds_after_finished"),
    ("backoffLimitPerIndex", "backoff_limit_per_index"),
    ("maxFailedIndexes", "max_failed_indexes"),
)


def validate_job_spec(path: Path, spec: JobSpec) -> Errors:
    errors: Errors = []
    for name, attribute in _COUNTS:
        errors += checks.non_negative(path.child(name), getattr(spec, attribute))
    errors += _per_index(path, spec)
    errors += _completion_mode(path, spec)
    if spec.pod_failure_policy is not None:
        errors += _failure_policy(path.child("podFailurePolicy"), spec.pod_failure_policy, spec)
    if spec.success_policy is not None:
        errors += _success_policy(path.child("successPolicy"), spec.success_policy, spec)
    where = path.child("podReplacementPolicy")
    errors += checks.one_of(where, spec.pod_replacement_policy, REPLACEMENT_POLICIES)
    if spec.pod_failure_policy is not None and spec.pod_replacement_policy not in (None, "Failed"):
        errors.append(fields.not_supported(where, spec.pod_replacement_policy, ("Failed",)))
    template = path.child("template")
    errors += validate_pod_template(template, spec.template)
    return errors + _restart_policy(template.child("spec", "restartPolicy"), spec)


def _restart_policy(path: Path, spec: JobSpec) -> Errors:
    """A Job's pods end: they may not be restarted for ever."""
    policy = spec.template.spec.restart_policy
    if policy in ("", None, "Always"):
        return [fields.required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [fields.not_supported(path, policy, ("OnFailure", "Never"))]
    if spec.pod_failure_policy is not None and policy != "Never":
        return [fields.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _completion_mode(path: Path, spec: JobSpec) -> Errors:
    errors = checks.one_of(path.child("completionMode"), spec.completion_mode, COMPLETION_MODES)
    if spec.completion_mode != INDEXED:
        return errors
    if spec.completions is None:
        text = "when completion mode is Indexed"
        errors.append(fields.required(path.child("completions"), text))
    if (spec.parallelism or 0) > MAX_INDEXED_PARALLELISM:
        text = f"must be less than or equal to {MAX_INDEXED_PARALLELISM} when completion mode is Indexed"
        errors.append(fields.invalid(path.child("parallelism"), spec.parallelism, text))
    return errors


def _per_index(path: Path, spec: JobSpec) -> Errors:
    errors: Errors = []
    if spec.backoff_limit_per_index is not None and spec.completion_mode != INDEXED:
        text = "requires indexed completion mode"
        where = path.child("backoffLimitPerIndex")
        errors.append(fields.invalid(where, spec.backoff_limit_per_index, text))
    if spec.max_failed_indexes is None:
        return errors
    if spec.backoff_limit_per_index is None:
        text = "when maxFailedIndexes is specified"
        errors.append(fields.required(path.child("backoffLimitPerIndex"), text))
    if spec.completions is not None and spec.max_failed_indexes > spec.completions:
        text = "must be less than or equal to completions"
        errors.append(fields.invalid(path.child("maxFailedIndexes"), spec.max_failed_indexes, text))
    return errors


def _failure_policy(path: Path, policy: PodFailurePolicy, spec: JobSpec) -> Errors:
    errors: Errors = []
    here = path.child("rules")
    if len(policy.rules) > MAX_RULES:
        errors.append(fields.too_many(here, len(policy.rules), MAX_RULES))
    containers = {each.name for each in (*spec.template.spec.containers, *spec.template.spec.init_containers)}
    for position, rule in enumerate(policy.rules):
        errors += _failure_rule(here.index(position), rule, spec, containers)
    return errors


def _failure_rule(path: Path, rule: PodFailurePolicyRule, spec: JobSpec, containers: set[str]) -> Errors:
    errors = checks.required_one_of(path.child("action"), rule.action, ACTIONS)
    if rule.action == "FailIndex" and spec.backoff_limit_per_index is None:
        text = "requires the backoffLimitPerIndex to be set"
        errors.append(fields.invalid(path.child("action"), rule.action, text))
    codes, here = rule.on_exit_codes, path.child("onExitCodes")
    if codes is not None:
        errors += checks.required_one_of(here.child("operator"), codes.operator, ("In", "NotIn"))
        if codes.container_name is not None and codes.container_name not in containers:
            text = "must be one of the container or initContainer names in the pod template"
            errors.append(fields.invalid(here.child("containerName"), codes.container_name, text))
        values = here.child("values")
        if not codes.values:
            errors.append(fields.invalid(values, codes.values, "at least one value is required"))
        elif len(codes.values) > MAX_EXIT_CODES:
            errors.append(fields.too_many(values, len(codes.values), MAX_EXIT_CODES))
        if codes.operator == "In" and 0 in codes.values:
            where = values.index(codes.values.index(0))
            errors.append(fields.invalid(where, 0, "must not be 0 for the In operator"))
        if list(codes.values) != sorted(set(codes.values)):
            errors.append(fields.invalid(values, codes.values, "must be ordered"))
    for position, pattern in enumerate(rule.on_pod_conditions):
        where = path.child("onPodConditions").index(position)
        errors += checks.label_name(where.child("type"), pattern.type)
        errors += checks.required_one_of(where.child("status"), pattern.status, ("False", "True", "Unknown"))
    if len(rule.on_pod_conditions) > MAX_PATTERNS:
        where = path.child("onPodConditions")
        errors.append(fields.too_many(where, len(rule.on_pod_conditions), MAX_PATTERNS))
    if codes is not None and rule.on_pod_conditions:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(fields.invalid(path, "", text))
    if codes is None and not rule.on_pod_conditions:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(fields.invalid(path, "", text))
    return errors


def _success_policy(path: Path, policy: SuccessPolicy, spec: JobSpec) -> Errors:
    if spec.completion_mode != INDEXED:
        return [fields.invalid(path, policy, "requires indexed completion mode")]
    if not policy.rules:
        return [
            fields.required(
                path.child("rules"), "at least one rules must be specified when the successPolicy"
            )
        ]
    errors: Errors = []
    for position, rule in enumerate(policy.rules):
        here = path.child("rules").index(position)
        if rule.succeeded_count is None and rule.succeeded_indexes is None:
            text = "at least one of succeededCount or succeededIndexes must be specified"
            errors.append(fields.required(here, text))
        if rule.succeeded_count is not None:
            errors += checks.non_negative(here.child("succeededCount"), rule.succeeded_count)
            completions = spec.completions or 0
            if rule.succeeded_count > completions:
                text = f"must be less than or equal to {completions} (the number of specified completions)"
                errors.append(fields.invalid(here.child("succeededCount"), rule.succeeded_count, text))
    return errors


def validate_job_change(new: Job, old: Job) -> Errors:
    """What of a Job stays as it was created."""
    path = Path("spec")
    errors = _completions_change(path.child("completions"), new.spec, old.spec)
    errors += checks.immutable(path.child("selector"), new.spec.selector, old.spec.selector)
    errors += checks.immutable(path.child("template"), _comparable(new, old), old.spec.template)
    for name, attribute in (
        ("completionMode", "completion_mode"),
        ("podFailurePolicy", "pod_failure_policy"),
        ("backoffLimitPerIndex", "backoff_limit_per_index"),
        ("managedBy", "managed_by"),
        ("successPolicy", "success_policy"),
    ):
        errors += checks.immutable(
            path.child(name), getattr(new.spec, attribute), getattr(old.spec, attribute)
        )
    return errors


def _completions_change(path: Path, new: JobSpec, old: JobSpec) -> Errors:
    """Only an indexed Job may be resized, and only together with its parallelism."""
    if new.completions == old.completions:
        return []
    if new.completions is None or new.completion_mode != INDEXED:
        return checks.immutable(path, new.completions, old.completions)
    if new.completions == new.parallelism:
        return []
    text = f"can only be modified in tandem with {path.text.rpartition('.')[0]}.parallelism"
    return [fields.invalid(path, new.completions, text)]


def _comparable(new: Job, old: Job) -> object:
    """The new template; of a suspended Job that never started, with what may still change set back."""
    template = new.spec.template
    if not old.spec.suspend or old.status.start_time is not None:
        return template
    before = old.spec.template
    affinity = template.spec.affinity
    if affinity is not None or before.spec.affinity is not None:
        affinity = before.spec.affinity
    spec = change(
        template.spec,
        affinity=affinity,
        node_selector=before.spec.node_selector,
        tolerations=before.spec.tolerations,
        scheduling_gates=before.spec.scheduling_gates,
    )
    metadata = change(
        template.metadata, annotations=before.metadata.annotations, labels=before.metadata.labels
    )
    return change(template, spec=spec, metadata=metadata)
