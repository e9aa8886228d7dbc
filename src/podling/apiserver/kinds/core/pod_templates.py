"""PodTemplates: rules.

Upstream: ``ValidatePodTemplate`` in ``pkg/apis/core/validation``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import PodTemplate
from podling.apiserver.kinds.apps.workloads import template_warnings
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.apiserver.kinds.pod.pod_validation import validate_pod_template
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
