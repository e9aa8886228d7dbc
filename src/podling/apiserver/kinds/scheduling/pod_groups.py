"""PodGroups and Workloads: rules and tables.

Upstream: ``pkg/apis/scheduling/validation``, ``v1alpha2/zz_generated.validations.go``, and the strategies
below ``pkg/registry/scheduling``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from podling.api.scheduling_v1alpha2 import (
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupTemplate,
    PodGroupTemplateReference,
    TypedLocalObjectReference,
    Workload,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.condition_validation import condition_errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
TEMPLATES_MAX = 8
"""``WorkloadMaxPodGroupTemplates``."""

_ONE_POLICY = "must specify one of: `basic`, `gang`"
_MANY_POLICIES = "exactly one of `basic`, `gang` is required, but multiple fields are set"

UNSUPPORTED = {
    "scheduling_constraints": "schedulingConstraints",
    "disruption_mode": "disruptionMode",
    "priority": "priority",
    "priority_class_name": "priorityClassName",
    "resource_claims": "resourceClaims",
}
"""Fields behind the gates ``TopologyAwareWorkloadScheduling``, ``WorkloadAwarePreemption`` and
``DRAWorkloadResourceClaims``, which Podling does not have."""


class PodGroupRules(KindRules[PodGroup]):
    status_subresource = True
    status_keeps_metadata = True
    generation = True
    columns = (NAME, AGE)

    def warnings(self, obj: PodGroup, old: PodGroup | None, context: Context) -> list[str]:
        return _unsupported(SPEC, obj.spec) if old is None else []

    def validate(self, obj: PodGroup, context: Context) -> Errors:
        spec = obj.spec
        errors = _reference_errors(SPEC.child("podGroupTemplateRef"), spec.pod_group_template_ref)
        return errors + _policy_errors(SPEC.child("schedulingPolicy"), spec.scheduling_policy)

    def validate_update(self, new: PodGroup, old: PodGroup, context: Context) -> Errors:
        if context.subresource == "status":
            return condition_errors(Path("status").child("conditions"), new.status.conditions)
        after, before = new.spec, old.spec
        errors = checks.immutable(
            SPEC.child("podGroupTemplateRef"), after.pod_group_template_ref, before.pod_group_template_ref
        )
        where = SPEC.child("schedulingPolicy")
        return errors + checks.immutable(where, after.scheduling_policy, before.scheduling_policy)

    def row(self, obj: PodGroup, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, age(obj, now)


class WorkloadRules(KindRules[Workload]):
    generation = True
    columns = (NAME, AGE)

    def warnings(self, obj: Workload, old: Workload | None, context: Context) -> list[str]:
        if old is not None:
            return []
        where = SPEC.child("podGroupTemplates")
        templates = enumerate(obj.spec.pod_group_templates or ())
        return [text for position, each in templates for text in _unsupported(where.index(position), each)]

    def validate(self, obj: Workload, context: Context) -> Errors:
        spec = obj.spec
        errors = _controller_errors(SPEC.child("controllerRef"), spec.controller_ref)
        return errors + _template_errors(SPEC.child("podGroupTemplates"), spec.pod_group_templates or ())

    def validate_update(self, new: Workload, old: Workload, context: Context) -> Errors:
        where, after, before = SPEC.child("controllerRef"), new.spec, old.spec
        errors = checks.immutable(where, after.controller_ref, before.controller_ref)
        where = SPEC.child("podGroupTemplates")
        return errors + checks.immutable(
            where, tuple(after.pod_group_templates or ()), tuple(before.pod_group_templates or ())
        )

    def row(self, obj: Workload, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, age(obj, now)


def _unsupported(path: Path, spec: PodGroupSpec | PodGroupTemplate) -> list[str]:
    return [
        f"{path.child(shown)}: not honoured by this cluster"
        for name, shown in UNSUPPORTED.items()
        if getattr(spec, name)
    ]


def _policy_errors(path: Path, policy: PodGroupSchedulingPolicy) -> Errors:
    found = [name for name in ("basic", "gang") if getattr(policy, name) is not None]
    if not found:
        return [fields.invalid(path, "", _ONE_POLICY)]
    if len(found) > 1:
        return [fields.invalid(path, "{`basic`, `gang`}", _MANY_POLICIES)]
    return _gang_errors(path.child("gang"), policy.gang) if policy.gang is not None else []


def _gang_errors(path: Path, gang: GangSchedulingPolicy) -> Errors:
    where = path.child("minCount")
    if not gang.min_count:
        return [fields.required(where)]
    if gang.min_count < 0:
        return [fields.invalid(where, gang.min_count, "must be greater than or equal to 1")]
    return []


def _reference_errors(path: Path, reference: PodGroupTemplateReference | None) -> Errors:
    if reference is None:
        return []
    if reference.workload is None:
        return [fields.invalid(path, "", "must specify one of: `workload`")]
    where, found = path.child("workload"), reference.workload
    return _name_errors(
        where.child("workloadName"), found.workload_name, names.dns_subdomain_errors
    ) + _name_errors(
        where.child("podGroupTemplateName"), found.pod_group_template_name, names.dns_label_errors
    )


def _name_errors(path: Path, name: str, errors_in: Callable[[str], list[str]]) -> Errors:
    return fields.invalid_each(path, name, errors_in(name)) if name else [fields.required(path)]


def _controller_errors(path: Path, reference: TypedLocalObjectReference | None) -> Errors:
    if reference is None:
        return []
    group = reference.api_group
    errors = checks.dns_subdomain(path.child("apiGroup"), group) if group else []
    errors += _name_errors(path.child("kind"), reference.kind, names.path_segment_errors)
    return errors + _name_errors(path.child("name"), reference.name, names.path_segment_errors)


def _template_errors(path: Path, templates: Sequence[PodGroupTemplate]) -> Errors:
    if not templates:
        return [fields.required(path)]
    if len(templates) > TEMPLATES_MAX:
        return [fields.too_many(path, len(templates), TEMPLATES_MAX)]
    errors: Errors = []
    seen: set[str] = set()
    for position, template in enumerate(templates):
        here = path.index(position)
        if template.name in seen:
            errors.append(fields.duplicate(here, template))
        seen.add(template.name)
        errors += _name_errors(here.child("name"), template.name, names.dns_label_errors)
        errors += _policy_errors(here.child("schedulingPolicy"), template.scheduling_policy)
    return errors
