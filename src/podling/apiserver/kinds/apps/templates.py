"""PodTemplates and ControllerRevisions: what a workload was made of.

Upstream: ``ValidatePodTemplate`` in ``pkg/apis/core/validation``, ``ValidateControllerRevision`` in
``pkg/apis/apps/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PodTemplate
from podling.apiserver.kinds.apps.workloads import template_warnings
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.common.plain_tables import TableRules
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.apiserver.kinds.pod.pod_validation import validate_pod_template
from podling.machinery import fields
from podling.machinery.fields import Path


class PodTemplateRules(TableRules[PodTemplate]):
    generation = True
    returns_deleted = True

    def default(self, obj: PodTemplate) -> PodTemplate:
        return change(obj, template=default_pod_template(obj.template))

    def validate(self, obj: PodTemplate, context: Context) -> Errors:
        return validate_pod_template(Path("template"), obj.template)

    def intent(self, obj: PodTemplate) -> Any:
        return obj.template

    def warnings(self, obj: PodTemplate, old: PodTemplate | None, context: Context) -> list[str]:
        changed = old is None or obj.template != old.template
        return template_warnings(Path("template"), obj.template) if changed else []


class ControllerRevisionRules(TableRules[ControllerRevision]):
    def validate(self, obj: ControllerRevision, context: Context) -> Errors:
        errors = checks.non_negative(Path("revision"), obj.revision)
        if obj.data is None:
            errors.append(fields.required(Path("data"), "data is mandatory"))
        elif not isinstance(obj.data, Mapping):
            errors.append(fields.required(Path("data"), "data must be a valid JSON object"))
        return errors

    def validate_update(self, new: ControllerRevision, old: ControllerRevision, context: Context) -> Errors:
        errors = checks.non_negative(Path("revision"), new.revision)
        return errors + checks.immutable(Path("data"), new.data, old.data)
