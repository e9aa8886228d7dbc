"""Jobs. Upstream: ``pkg/apis/batch``, ``pkg/registry/batch/job``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.batch_v1 import Job, JobSpec, PodFailurePolicy, PodFailurePolicyRule
from podling.api.meta_v1 import DeleteOptions, LabelSelector
from podling.apiserver.kinds.apps.workloads import SPEC, name_warnings, selector_match_errors
from podling.apiserver.kinds.batch.job_status_validation import job_status_errors
from podling.apiserver.kinds.batch.job_validation import job_warnings, validate_job_change, validate_job_spec
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import (
    AGE,
    NAME,
    POD_TEMPLATE_COLUMNS,
    age,
    selector_text,
    template_cells,
)
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty, map_items
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path
from podling.machinery.selectors import SelectorError, from_label_selector
from podling.machinery.tables import Column, human_duration

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"
LEGACY_CONTROLLER_UID = "controller-uid"
LEGACY_JOB_NAME = "job-name"

PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning"
)

_STATES = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")


class JobRules(KindRules[Job]):
    status_subresource = True
    generation = True
    columns = (
        NAME,
        Column("Status", description="What the Job's conditions come to"),
        Column("Completions", description="Pods that succeeded, of those wanted"),
        Column("Duration", description="How long the Job ran, or runs"),
        AGE,
        *POD_TEMPLATE_COLUMNS,
    )
    field_labels = ("status.successful",)
    orphans_dependents = True

    def warnings_on_delete(self, options: DeleteOptions) -> list[str]:
        given = options.propagation_policy is not None or options.orphan_dependents is not None
        return [] if given else [PODS_STAY]

    def default(self, obj: Job) -> Job:
        labels = obj.spec.template.metadata.labels
        if labels and not obj.metadata.labels:
            obj = change(obj, metadata=change(obj.metadata, labels=dict(labels)))
        return change(obj, spec=default_job_spec(obj.spec))

    def prepare_create(self, obj: Job, context: Context) -> Job:
        obj = super().prepare_create(obj, context)
        # Labels default to the template's, which are complete only at this point.
        return self.default(obj if obj.spec.manual_selector else _with_selector(obj))

    def validate(self, obj: Job, context: Context) -> Errors:
        errors = [] if obj.spec.manual_selector else _generated_selector_errors(obj)
        errors += _spec_errors(obj)
        name, completions = obj.metadata.name or "", obj.spec.completions or 0
        if obj.spec.completion_mode == "Indexed" and completions > 0:
            # The pod of the last index must have a valid host name.
            last = f"{name}-{completions - 1}"
            if names.dns_label_errors(last):
                text = f"will not able to create pod with invalid DNS label: {last}"
                errors.append(fields.invalid(Path("metadata.name"), name, text))
        return errors

    def validate_update(self, new: Job, old: Job, context: Context) -> Errors:
        if context.subresource == "status":
            return job_status_errors(new, old)
        return _spec_errors(new) + validate_job_change(new, old)

    def warnings(self, obj: Job, old: Job | None, context: Context) -> list[str]:
        changed = old is None or obj.spec != old.spec
        return name_warnings(obj, old) + (job_warnings(SPEC, obj.spec) if changed else [])

    def selectable_fields(self, obj: Job) -> dict[str, str]:
        return {"status.successful": str(obj.status.succeeded or 0)}

    def row(self, obj: Job, now: datetime) -> Sequence[Any]:
        return (
            obj.metadata.name,
            job_status(obj),
            _completions(obj),
            _duration(obj, now),
            age(obj, now),
            *template_cells(obj.spec.template.spec),
            selector_text(obj.spec.selector),
        )


def default_job_spec(spec: JobSpec) -> JobSpec:
    if spec.completions is None and spec.parallelism is None:
        spec = change(spec, completions=1, parallelism=1)
    limit = 6 if spec.backoff_limit_per_index is None else checks.MAX_INT32
    spec = fill_absent(spec, parallelism=1, backoff_limit=limit, completion_mode="NonIndexed", suspend=False)
    policy = spec.pod_failure_policy
    replacement = "TerminatingOrFailed" if policy is None else "Failed"
    spec = fill_absent(spec, pod_replacement_policy=replacement)
    if policy is not None:
        spec = change(spec, pod_failure_policy=_default_failure_policy(policy))
    return change(spec, template=default_pod_template(spec.template))


def _default_failure_policy(policy: PodFailurePolicy) -> PodFailurePolicy:
    def default_rule(rule: PodFailurePolicyRule) -> PodFailurePolicyRule:
        patterns = map_items(rule.on_pod_conditions, lambda pattern: fill_empty(pattern, status="True"))
        return change(rule, on_pod_conditions=patterns)

    return change(policy, rules=map_items(policy.rules, default_rule))


def _with_selector(job: Job) -> Job:
    """Return a Job that selects pods by its own UID, which no other Job's pods can have.

    The user's labels and selector stay; validation reports conflicts with the generated ones.
    """
    labels = {**_own_labels(job), **job.spec.template.metadata.labels}
    selector = job.spec.selector or LabelSelector()
    if CONTROLLER_UID not in selector.match_labels:
        uid = job.metadata.uid or ""
        selector = change(selector, match_labels={**selector.match_labels, CONTROLLER_UID: uid})
    template = job.spec.template
    template = change(template, metadata=change(template.metadata, labels=labels))
    return change(job, spec=change(job.spec, template=template, selector=selector))


def _own_labels(job: Job) -> dict[str, str]:
    uid, name = job.metadata.uid or "", job.metadata.name or ""
    return {LEGACY_CONTROLLER_UID: uid, LEGACY_JOB_NAME: name, CONTROLLER_UID: uid, JOB_NAME: name}


def _generated_selector_errors(job: Job) -> Errors:
    """Return errors if the labels or the selector differ from the generated ones."""
    if job.spec.selector is None:
        return []
    expected, labels = _own_labels(job), job.spec.template.metadata.labels
    errors: Errors = []
    for key, value in expected.items():
        where, text = SPEC.child("template", "metadata", "labels").key(key), f"must be '{value}'"
        if key not in labels:
            errors.append(fields.required(where, text))
        elif labels[key] != value:
            errors.append(fields.invalid(where, labels, text))
    try:
        found = from_label_selector(job.spec.selector).matches(expected)
    except SelectorError:
        return errors
    if not found:
        where = SPEC.child("selector")
        errors.append(fields.invalid(where, job.spec.selector, "`selector` not auto-generated"))
    return errors


def _spec_errors(job: Job) -> Errors:
    errors = validate_job_spec(SPEC, job.spec)
    path = SPEC.child("selector")
    if job.spec.selector is None:
        errors.append(fields.required(path))
    else:
        errors += label_checks.label_selector(path, job.spec.selector)
    return errors + selector_match_errors(job.spec.template, job.spec.selector)


def job_status(job: Job) -> str:
    """Return the STATUS cell."""
    true = {condition.type for condition in job.status.conditions if condition.status == "True"}
    for state in _STATES[:2]:
        if state in true:
            return state
    if job.metadata.deletion_timestamp is not None:
        return "Terminating"
    return next((state for state in _STATES[2:] if state in true), "Running")


def _completions(job: Job) -> str:
    succeeded, parallelism = job.status.succeeded or 0, job.spec.parallelism or 0
    if job.spec.completions is not None:
        return f"{succeeded}/{job.spec.completions}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Job, now: datetime) -> str:
    if job.status.start_time is None:
        return ""
    return human_duration((job.status.completion_time or now) - job.status.start_time)
