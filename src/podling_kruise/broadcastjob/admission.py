"""Admission of BroadcastJobs: defaults and validation. Upstream: ``pkg/webhook/broadcastjob``."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import structs

from podling.apiserver.admission.base import AdmissionRequest, Objects
from podling.client.typed_kinds import typed
from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery import errors, fields
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.fields import FieldError, Path
from podling.machinery.numbers import INT32_MAX
from podling_kruise.broadcastjob.job_plan import JOB_LABELS
from podling_kruise.broadcastjob.types import (
    ALWAYS,
    CONTINUE,
    FAIL_FAST,
    NEVER,
    PAUSE,
    BroadcastJob,
    BroadcastJobSpec,
)
from podling_kruise.names import GROUP
from podling_kruise.object_names import name_errors
from podling_kruise.template_admission import TemplateAdmission
from podling_kruise.template_validation import SPEC, TEMPLATE


class BroadcastJobAdmission(TemplateAdmission):
    name = "BroadcastJob"
    plural: ClassVar[str] = "broadcastjobs"

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        spec = obj.content.get("spec")
        if not isinstance(spec, dict):
            return obj
        made = {
            **spec,
            "parallelism": spec.get("parallelism", INT32_MAX),
            "completionPolicy": {"type": ALWAYS, **(spec.get("completionPolicy") or {})},
            "failurePolicy": {"type": FAIL_FAST, **(spec.get("failurePolicy") or {})},
            **self.filled(request, spec),
        }
        return obj if made == spec else structs.replace(obj, content={**obj.content, "spec": made})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        job = typed(request.object, BroadcastJob)
        name = job.metadata.name or job.metadata.generate_name or ""
        found = name_errors(name, "BroadcastJob") + spec_errors(job.spec)
        found += self.template_errors(job.spec.template, (), request)
        if found:
            raise errors.invalid(request.kind, GROUP, job.metadata.name or "", found)


def spec_errors(spec: BroadcastJobSpec) -> list[FieldError]:
    """Return what is wrong with a spec, but for its template."""
    found: list[FieldError] = []
    policy, where = spec.completion_policy, SPEC.child("completionPolicy")
    for name, value in (
        ("ttlSecondsAfterFinished", policy.ttl_seconds_after_finished),
        ("activeDeadlineSeconds", policy.active_deadline_seconds),
    ):
        if value is not None and policy.type == NEVER:
            text = f"{name} can just work with Always CompletionPolicyType"
            found.append(fields.invalid(where.child(name), value, text))
    found += _choice(where.child("type"), policy.type, (ALWAYS, NEVER))
    found += _choice(
        SPEC.child("failurePolicy", "type"), spec.failure_policy.type, (CONTINUE, FAIL_FAST, PAUSE)
    )
    try:
        scaled(spec.parallelism, 1, round_up=True)
    except ValueError as error:
        found.append(fields.invalid(SPEC.child("parallelism"), spec.parallelism, str(error)))
    restart = spec.template.spec.restart_policy
    if restart not in ("OnFailure", "Never"):
        text = "pod restartPolicy can only be Never or OnFailure"
        found.append(fields.invalid(TEMPLATE.child("spec", "restartPolicy"), restart, text))
    labels = spec.template.metadata.labels
    if any(labels.get(name) for name in JOB_LABELS):
        text = '"{}" and "{}" are not allowed to preset in pod labels'.format(*JOB_LABELS)
        found.append(fields.invalid(TEMPLATE.child("metadata", "labels"), labels, text))
    return found


def _choice(where: Path, value: str, known: tuple[str, ...]) -> list[FieldError]:
    return [] if value in ("", *known) else [fields.not_supported(where, value, known)]
