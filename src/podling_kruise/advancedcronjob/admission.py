"""Admission of AdvancedCronJobs: defaults and validation. Upstream: ``pkg/webhook/advancedcronjob``."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import structs

from podling.apiserver.admission.base import AdmissionRequest, Objects
from podling.client.typed_kinds import typed
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling_kruise.advancedcronjob.types import ALLOW, REPLACE, AdvancedCronJob, CronJobTemplate
from podling_kruise.advancedcronjob.validation import object_errors, pod_templates
from podling_kruise.imagepull.job_rules import filled_template
from podling_kruise.imagepull.types import IF_NOT_PRESENT
from podling_kruise.names import GROUP, TEMPLATE_NO_DEFAULTS
from podling_kruise.template_admission import TemplateAdmission, report_unknown

DEFAULTS = {
    "paused": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}
TEMPLATES = ("jobTemplate", "broadcastJobTemplate")
PULLS = "imageListPullJobTemplate"


class AdvancedCronJobAdmission(TemplateAdmission):
    name = "AdvancedCronJob"
    plural: ClassVar[str] = "advancedcronjobs"

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        spec = obj.content.get("spec")
        if not isinstance(spec, dict):
            return obj
        made = {**DEFAULTS, **spec, **self._filled_templates(request, spec)}
        template = made.get("template")
        if not made.get("concurrencyPolicy") and isinstance(template, dict):
            made["concurrencyPolicy"] = REPLACE if template.get(PULLS) else ALLOW
        return obj if made == spec else structs.replace(obj, content={**obj.content, "spec": made})

    def _filled_templates(self, request: AdmissionRequest, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the templates of jobs with the defaults of pods; nothing for old templates."""
        template = spec.get("template")
        old = request.old.content.get("spec", {}) if request.old is not None else {}
        if not isinstance(template, dict) or template == old.get("template"):
            return {}
        held = {"spec": {"template": template}}  # the schemas of its parts are open
        report_unknown(request, codec.convert(held, AdvancedCronJob)[1])
        made = self._filled_pull_jobs(template)
        if self._gates[TEMPLATE_NO_DEFAULTS]:
            return {"template": {**template, **made}} if made else {}
        made |= {
            name: self._filled_job(template[name])
            for name in TEMPLATES
            if isinstance(template.get(name), dict)
        }
        return {"template": {**template, **made}}

    def _filled_pull_jobs(self, template: dict[str, Any]) -> dict[str, Any]:
        """Return the ImageListPullJobs with their defaults, which depend on the type of their end."""
        held = codec.convert(template, CronJobTemplate)[0].image_list_pull_job_template
        if held is None or held.spec.completion_policy.type:
            return {}
        spec = filled_template(held.spec)
        spec = structs.replace(spec, image_pull_policy=spec.image_pull_policy or IF_NOT_PRESENT)
        return {PULLS: {**template[PULLS], "spec": codec.to_plain(spec)}}

    def _filled_job(self, job: dict[str, Any]) -> dict[str, Any]:
        spec = job.get("spec")
        pods = spec.get("template") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(pods, dict):
            return job
        return {**job, "spec": {**spec, "template": self.filled_template(pods)}}

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        new = typed(request.object, AdvancedCronJob)
        old = typed(request.old, AdvancedCronJob) if request.old is not None else None
        found = object_errors(new, old)
        for template in pod_templates(new.spec.template):
            found += self.template_errors(template, (), request)
        if found:
            raise errors.invalid(request.kind, GROUP, new.metadata.name or "", found)
