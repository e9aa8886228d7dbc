"""Validation of a Job's spec, in a Job and in the template of a CronJob.

Upstream: ``pkg/apis/batch/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.batch_v1 import Job, JobSpec
from podling.api.core_v1 import Affinity, Container, PodTemplateSpec
from podling.apiserver.kinds.apps.workloads import template_warnings
from podling.apiserver.kinds.batch.job_policies import failure_policy_errors, success_policy_errors
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.pod.pod_validation import validate_pod_template
from podling.machinery import fields
from podling.machinery.conditions import is_true
from podling.machinery.fields import Path

INDEXED = "Indexed"
COMPLETION_MODES = ("NonIndexed", INDEXED)
REPLACEMENT_POLICIES = ("Failed", "TerminatingOrFailed")
MAX_INDEXED_PARALLELISM = 100_000
MAX_FAILED_INDEXES = 100_000
MANY_COMPLETIONS = 100_000
LOWER_LIMIT = 10_000
"""The limit of parallelism and failed indexes, with many completions and a back-off limit per index."""
LONGEST_MANAGER = 63
TOO_MANY_TO_TRACK = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
    "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)

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
    """Return the errors in a spec, except for the selector, which a template does not have."""
    errors: Errors = []
    for name, attribute in _COUNTS:
        errors += checks.non_negative(path.child(name), getattr(spec, attribute))
    if spec.max_failed_indexes is not None and spec.backoff_limit_per_index is None:
        text = "when maxFailedIndexes is specified"
        errors.append(fields.required(path.child("backoffLimitPerIndex"), text))
    if spec.managed_by is not None:
        errors += checks.domain_prefixed_path(path.child("managedBy"), spec.managed_by)
        if len(spec.managed_by.encode()) > LONGEST_MANAGER:
            errors.append(fields.too_long(path.child("managedBy"), LONGEST_MANAGER))
    errors += checks.one_of(path.child("completionMode"), spec.completion_mode, COMPLETION_MODES)
    if spec.completion_mode == INDEXED:
        errors += _indexed_errors(path, spec)
    elif spec.completion_mode in (None, "NonIndexed"):
        errors += _not_indexed_errors(path, spec)
    if spec.pod_failure_policy is not None:
        errors += failure_policy_errors(path.child("podFailurePolicy"), spec.pod_failure_policy, spec)
    where, success = path.child("successPolicy"), spec.success_policy
    if success is not None and spec.completion_mode == INDEXED:
        errors += success_policy_errors(where, success, spec.completions or 0)
    elif success is not None:
        rules = [
            fields.in_go(SucceededIndexes=rule.succeeded_indexes, SucceededCount=rule.succeeded_count)
            for rule in success.rules
        ]
        shown = fields.in_go(Rules=rules or None)
        errors.append(fields.invalid(where, shown, "requires indexed completion mode"))
    policies = REPLACEMENT_POLICIES if spec.pod_failure_policy is None else ("Failed",)
    errors += checks.one_of(path.child("podReplacementPolicy"), spec.pod_replacement_policy, policies)
    template = path.child("template")
    errors += validate_pod_template(template, spec.template)
    return errors + _restart_policy_errors(template.child("spec", "restartPolicy"), spec)


def job_warnings(path: Path, spec: JobSpec) -> list[str]:
    """Return the warnings about the Job spec at ``path``."""
    completions, parallelism = spec.completions or 0, spec.parallelism or 0
    many = spec.completion_mode == INDEXED and completions > MANY_COMPLETIONS and parallelism > LOWER_LIMIT
    found = [f"{path}: {TOO_MANY_TO_TRACK}"] if many else []
    return found + template_warnings(path.child("template"), spec.template)


def _restart_policy_errors(path: Path, spec: JobSpec) -> Errors:
    """Return an error unless the restart policy lets the pods end."""
    policy = spec.template.spec.restart_policy
    if policy in ("", None, "Always"):
        return [fields.required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [fields.not_supported(path, policy, ("OnFailure", "Never"))]
    if spec.pod_failure_policy is not None and policy != "Never":
        return [fields.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _indexed_errors(path: Path, spec: JobSpec) -> Errors:
    completions, failed = spec.completions, spec.max_failed_indexes
    where = path.child("maxFailedIndexes")
    errors: Errors = []
    if completions is None:
        errors.append(fields.required(path.child("completions"), f"when completion mode is {INDEXED}"))
    if (spec.parallelism or 0) > MAX_INDEXED_PARALLELISM:
        text = f"must be less than or equal to {MAX_INDEXED_PARALLELISM} when completion mode is {INDEXED}"
        errors.append(fields.invalid(path.child("parallelism"), spec.parallelism, text))
    if completions is not None and failed is not None and failed > completions:
        errors.append(fields.invalid(where, failed, "must be less than or equal to completions"))
    if failed is not None and failed > MAX_FAILED_INDEXES:
        errors.append(fields.invalid(where, failed, f"must be less than or equal to {MAX_FAILED_INDEXES}"))
    if completions is None or completions <= MANY_COMPLETIONS or spec.backoff_limit_per_index is None:
        return errors
    text = (
        f"must be less than or equal to {LOWER_LIMIT} when completions are above {MANY_COMPLETIONS} and used "
        "with backoff limit per index"
    )
    if failed is None:
        needed = f"must be specified when completions is above {MANY_COMPLETIONS}"
        errors.append(fields.required(where, needed))
    if (spec.parallelism or 0) > LOWER_LIMIT:
        errors.append(fields.invalid(path.child("parallelism"), spec.parallelism, text))
    if failed is not None and failed > LOWER_LIMIT:
        errors.append(fields.invalid(where, failed, text))
    return errors


def _not_indexed_errors(path: Path, spec: JobSpec) -> Errors:
    return [
        fields.invalid(path.child(name), value, "requires indexed completion mode")
        for name, value in (
            ("backoffLimitPerIndex", spec.backoff_limit_per_index),
            ("maxFailedIndexes", spec.max_failed_indexes),
        )
        if value is not None
    ]


def validate_job_change(new: Job, old: Job) -> Errors:
    """Return errors for changed immutable fields of a Job."""
    path = Path("spec")
    errors = _completions_change_errors(path.child("completions"), new.spec, old.spec)
    errors += checks.immutable(path.child("selector"), new.spec.selector, old.spec.selector)
    errors += _template_change_errors(path.child("template"), new, old)
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


def _completions_change_errors(path: Path, new: JobSpec, old: JobSpec) -> Errors:
    """Return an error unless an indexed Job changes completions and parallelism together."""
    if new.completions == old.completions:
        return []
    if new.completions is None or new.completion_mode != INDEXED:
        return checks.immutable(path, new.completions, old.completions)
    if new.completions == new.parallelism:
        return []
    text = f"can only be modified in tandem with {path.text.rpartition('.')[0]}.parallelism"
    return [fields.invalid(path, new.completions, text)]


def _template_change_errors(path: Path, new: Job, old: Job) -> Errors:
    """Return an error for a changed template. An idle suspended Job may change scheduling and resources."""
    template, before = new.spec.template, old.spec.template
    if not _is_idle(old):
        return checks.immutable(path, template, before)
    before = _with_new_directives(before, template)
    spec = change(
        before.spec,
        containers=_with_new_resources(before.spec.containers, template.spec.containers),
        init_containers=_with_new_resources(before.spec.init_containers, template.spec.init_containers),
    )
    return checks.immutable(path.child("spec"), template.spec, spec)


def _is_idle(job: Job) -> bool:
    """Return whether the Job is suspended without pods. One that has started says so by its condition."""
    if not job.spec.suspend or job.status.active:
        return False
    return job.status.start_time is None or is_true(job.status.conditions, "Suspended")


def _with_new_resources(old: tuple[Container, ...], new: tuple[Container, ...]) -> tuple[Container, ...]:
    if len(old) != len(new):
        return old
    pairs = zip(old, new, strict=True)
    return tuple(
        change(before, resources=after.resources) if before.name == after.name else before
        for before, after in pairs
    )


def _with_new_directives(old: PodTemplateSpec, new: PodTemplateSpec) -> PodTemplateSpec:
    """Return the old template with the fields that an idle Job may change: scheduling and labels."""
    spec = change(
        old.spec,
        affinity=_with_new_node_affinity(old.spec.affinity, new.spec.affinity),
        node_selector=new.spec.node_selector,
        tolerations=new.spec.tolerations,
        scheduling_gates=new.spec.scheduling_gates,
    )
    metadata = change(old.metadata, annotations=new.metadata.annotations, labels=new.metadata.labels)
    return change(old, spec=spec, metadata=metadata)


def _with_new_node_affinity(old: Affinity | None, new: Affinity | None) -> Affinity | None:
    """Return the old affinity with the new node affinity."""
    if old is None and new is None:
        return None
    made = change(old or Affinity(), node_affinity=new.node_affinity if new is not None else None)
    return None if new is None and made == Affinity() else made
