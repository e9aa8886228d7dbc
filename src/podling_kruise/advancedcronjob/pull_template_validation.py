"""Validation of the ImageListPullJobs of AdvancedCronJobs. Pure.

Upstream: ``validateImageListPullJobTemplateSpec`` of ``pkg/webhook/advancedcronjob/validating``.
"""

from __future__ import annotations

from typing import Any

from podling.machinery import fields
from podling.machinery.encoding import codec
from podling.machinery.fields import FieldError, Path
from podling_kruise.advancedcronjob.types import FORBID, REPLACE, AdvancedCronJobSpec
from podling_kruise.imagelistpull.list_rules import images_problem
from podling_kruise.imagelistpull.types import ImageListPullJobSpec
from podling_kruise.imagepull.job_rules import selector_problem
from podling_kruise.imagepull.types import ALWAYS
from podling_kruise.template_validation import SPEC

DEADLINE_SECONDS_MAX = 24 * 3600
POLICIES = (REPLACE, FORBID)


def pull_template_errors(spec: AdvancedCronJobSpec) -> list[FieldError]:
    """Return what is wrong with the ImageListPullJobs of a schedule; nothing if it has none."""
    template = spec.template.image_list_pull_job_template
    if template is None:
        return []
    found = []
    if spec.concurrency_policy not in POLICIES:
        text = "concurrencyPolicy should be Replace or Forbid, but current value is: "
        where = SPEC.child("spec", "concurrencyPolicy")  # upstream's path
        found.append(fields.invalid(where, spec.concurrency_policy, text + spec.concurrency_policy))
    where = SPEC.child("template", "imageListPullJobTemplate", "spec")
    wrong = _problem(template.spec, where)
    if wrong is not None:
        found.append(fields.invalid(*wrong))
    return found


def _problem(spec: ImageListPullJobSpec, where: Path) -> tuple[Path, Any, str] | None:
    """Return the first wrong field, its value, and what is wrong with it."""
    plain = codec.to_plain(spec)
    if text := selector_problem(spec):
        name = "podSelector" if text.startswith("invalid podSelector") else "selector"
        return where.child(name), plain.get(name, {}), text
    if text := images_problem(spec):
        return where.child("images"), list(spec.images), text
    return _completion_problem(spec, where.child("completionPolicy"))


def _completion_problem(spec: ImageListPullJobSpec, where: Path) -> tuple[Path, Any, str] | None:
    policy, timeout = spec.completion_policy, spec.pull_policy.timeout_seconds
    deadline = policy.active_deadline_seconds
    if policy.type != ALWAYS:
        text = f"completionPolicy should be Always, but current value is: {policy.type}"
        return where.child("type"), policy.type, text
    if deadline is not None and deadline > DEADLINE_SECONDS_MAX:
        limit = f"must be less than {DEADLINE_SECONDS_MAX}, current value is: {deadline}"
        return where.child("activeDeadlineSeconds"), deadline, f"activeDeadlineSeconds {limit}"
    if deadline is not None and timeout is not None and timeout > deadline:
        limit = f"must be greater than pullPolicy.timeoutSeconds({timeout})"
        text = f"completionPolicy.activeDeadlineSeconds {limit}"
        return where.child("activeDeadlineSeconds"), deadline, text
    if policy.ttl_seconds_after_finished is not None:
        text = "ttlSecondsAfterFinished is not supported in advancedCronJob"
        return where.child("ttlSecondsAfterFinished"), policy.ttl_seconds_after_finished, text
    return None
