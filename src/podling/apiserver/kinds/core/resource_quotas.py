"""ResourceQuotas: limits for all objects of a namespace together.

Upstream: ``ValidateResourceQuota`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import (
    ResourceQuota,
    ResourceQuotaSpec,
    ScopedResourceSelectorRequirement,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.resource_validation import (
    quantity_errors,
    resource_name_errors,
)
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import parse
from podling.machinery.resource_names import is_huge_page
from podling.machinery.tables import Column

QUOTA_RESOURCES = frozenset({
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
    "persistentvolumeclaims", "configmaps", "pods", "replicationcontrollers", "resourcequotas", "secrets",
    "services", "services.loadbalancers", "services.nodeports",
})  # fmt: skip
"""Resources without a prefix that a quota may limit, beside huge pages."""

SCOPES = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
    "CrossNamespacePodAffinity", "VolumeAttributesClass",
)  # fmt: skip
_EXCLUSIVE = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTENCE_SCOPES = (*SCOPES[:4], "CrossNamespacePodAffinity")
_EFFORT_SCOPES = ("BestEffort",)
_POD_SCOPES = ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
POD_RESOURCES = frozenset({
    "cpu", "memory", "ephemeral-storage", "pods", "requests.cpu", "requests.memory",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
})  # fmt: skip
"""Resources of pods, which a quota may limit for some pods only."""

_NOT_APPLICABLE = "unsupported scope applied to resource"
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuotaRules(KindRules[ResourceQuota]):
    status_subresource = True
    returns_deleted = True
    columns = (
        NAME,
        Column("Request", description="What is used and allowed of requests and objects"),
        Column("Limit", description="What is used and allowed of limits"),
        AGE,
    )

    def validate(self, obj: ResourceQuota, context: Context) -> Errors:
        return _amount_errors(Path("spec.hard"), obj.spec.hard) + _scope_errors(obj.spec)

    def validate_update(self, new: ResourceQuota, old: ResourceQuota, context: Context) -> Errors:
        if context.subresource == "status":
            errors = _amount_errors(Path("status.hard"), new.status.hard)
            return errors + _amount_errors(Path("status.used"), new.status.used)
        errors = self.validate(new, context)
        if sorted(new.spec.scopes) != sorted(old.spec.scopes):
            errors.append(fields.invalid(Path("spec.scopes"), new.spec.scopes, checks.IMMUTABLE))
        return errors

    def row(self, obj: ResourceQuota, now: datetime) -> Sequence[Any]:
        requests: list[str] = []
        limits: list[str] = []
        for name in sorted(obj.status.hard):
            used = obj.status.used.get(name, "0")
            text = f"{name}: {used}/{obj.status.hard[name]}"
            (limits if name.startswith("limits.") else requests).append(text)
        return obj.metadata.name, ", ".join(requests), ", ".join(limits), age(obj, now)


def quota_name_errors(path: Path, name: str) -> Errors:
    errors = resource_name_errors(path, name)
    if "/" in name or name in QUOTA_RESOURCES or is_huge_page(name.removeprefix("requests.")):
        return errors
    return [*errors, fields.invalid(path, name, "must be a standard resource for quota")]


def _amount_errors(path: Path, amounts: Mapping[str, str]) -> Errors:
    errors: Errors = []
    for name, value in sorted(amounts.items()):
        errors += quota_name_errors(path.key(name), name)
        errors += quantity_errors(path.key(name), name, parse(value))
    return errors


def _scope_errors(spec: ResourceQuotaSpec) -> Errors:
    path = Path("spec.scopes")
    errors: Errors = []
    for scope in spec.scopes:
        if scope not in SCOPES:
            errors.append(fields.invalid(path, spec.scopes, "unsupported scope"))
        errors += [fields.invalid(path, spec.scopes, _NOT_APPLICABLE) for _ in _out_of_scope(scope, spec)]
    errors += _conflict_errors(spec, set(spec.scopes))
    if spec.scope_selector is None:
        return errors
    here = Path("spec.scopeSelector.matchExpressions")
    for requirement in spec.scope_selector.match_expressions:
        scope = requirement.scope_name
        if scope not in SCOPES:
            errors.append(fields.invalid(here.child("scopeName"), scope, "unsupported scope"))
        errors += [
            fields.invalid(here, spec.scope_selector, _NOT_APPLICABLE) for _ in _out_of_scope(scope, spec)
        ]
        errors += _operator_errors(here, requirement)
    chosen = {requirement.scope_name for requirement in spec.scope_selector.match_expressions}
    return errors + _conflict_errors(spec, chosen)


def _conflict_errors(spec: ResourceQuotaSpec, chosen: set[str]) -> Errors:
    path = Path("spec.scopes")
    return [
        fields.invalid(path, spec.scopes, "conflicting scopes") for pair in _EXCLUSIVE if set(pair) <= chosen
    ]


def _out_of_scope(scope: str, spec: ResourceQuotaSpec) -> list[str]:
    """Return the limited resources that ``scope`` does not apply to."""
    if scope in _POD_SCOPES:
        valid = POD_RESOURCES
    elif scope in _EFFORT_SCOPES:
        valid = frozenset({"pods"})
    elif scope == "VolumeAttributesClass":
        valid = frozenset({"persistentvolumeclaims", "requests.storage"})
    else:
        return []
    return [name for name in sorted(spec.hard) if name in QUOTA_RESOURCES and name not in valid]


def _operator_errors(path: Path, requirement: ScopedResourceSelectorRequirement) -> Errors:
    where, values, operator = path.child("operator"), requirement.values, requirement.operator
    errors: Errors = []
    if requirement.scope_name in _EXISTENCE_SCOPES and operator != "Exists":
        errors.append(fields.invalid(where, operator, _ONLY_EXISTS))
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(fields.required(path.child("values"), text))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(fields.invalid(path.child("values"), values, text))
    else:
        errors.append(fields.invalid(where, operator, "not a valid selector operator"))
    return errors
