"""APIServices. Upstream: ``kube-aggregator/pkg/apis/apiregistration/validation`` and ``v1/defaults.go``."""

from __future__ import annotations

from podling.api.apiregistration_v1 import APIService, APIServiceSpec
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
HIGHEST_GROUP_PRIORITY = 20000
HIGHEST_VERSION_PRIORITY = 1000
STATES = ("True", "False", "Unknown")


class APIServiceRules(TableRules[APIService]):
    status_subresource = True
    status_keeps_metadata = True
    unconditional_update = False
    bare_finalizers = True

    def name_errors(self, name: str) -> list[str]:
        return names.path_segment_errors(name)

    def default(self, obj: APIService) -> APIService:
        service = obj.spec.service
        return change(obj, spec=change(obj.spec, service=service and fill_absent(service, port=443)))

    def validate(self, obj: APIService, context: Context) -> Errors:
        spec, name = obj.spec, obj.metadata.name or ""
        group, version = spec.group or "", spec.version or ""
        errors: Errors = []
        if name and not self.name_errors(name) and name != f"{version}.{group}":
            text = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
            errors.append(fields.invalid(Path("metadata.name"), name, text))
        if group:
            errors += checks.dns_subdomain(SPEC.child("group"), group)
        elif version != "v1":
            text = "only v1 may have an empty group and it better be legacy kube"
            errors.append(fields.required(SPEC.child("group"), text))
        errors += fields.invalid_each(SPEC.child("version"), version, names.dns_1035_label_errors(version))
        for field, value, highest in (
            ("groupPriorityMinimum", spec.group_priority_minimum, HIGHEST_GROUP_PRIORITY),
            ("versionPriority", spec.version_priority, HIGHEST_VERSION_PRIORITY),
        ):
            if not 0 < value <= highest:
                text = f"must be positive and less than {highest}"
                errors.append(fields.invalid(SPEC.child(field), value, text))
        return errors + _service_errors(spec)

    def validate_update(self, new: APIService, old: APIService, context: Context) -> Errors:
        if context.subresource != "status":
            return self.validate(new, context)
        path = Path("status.conditions")
        return [
            fields.not_supported(path.index(position).child("status"), condition.status, STATES)
            for position, condition in enumerate(new.status.conditions)
            if condition.status not in STATES
        ]


def _service_errors(spec: APIServiceSpec) -> Errors:
    service, insecure = spec.service, SPEC.child("insecureSkipTLSVerify")
    errors: Errors = []
    if service is None:
        if spec.ca_bundle:
            size = len(spec.ca_bundle) * 3 // 4 - spec.ca_bundle.count("=")
            text = "local APIServices may not have a caBundle"
            errors.append(fields.invalid(SPEC.child("caBundle"), f"{size} bytes", text))
        if spec.insecure_skip_tls_verify:
            text = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(fields.invalid(insecure, True, text))
        return errors
    here = SPEC.child("service")
    errors += [] if service.namespace else [fields.required(here.child("namespace"))]
    errors += [] if service.name else [fields.required(here.child("name"))]
    problems = names.port_number_errors(service.port or 0)
    if problems:
        text = f"port is not valid: {','.join(problems)}"
        errors.append(fields.invalid(here.child("port"), service.port, text))
    if spec.insecure_skip_tls_verify and spec.ca_bundle:
        errors.append(fields.invalid(insecure, True, "may not be true if caBundle is present"))
    return errors
