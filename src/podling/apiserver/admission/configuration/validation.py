"""Validation of the plugins' configurations, in Kubernetes' words. Pure.

Upstream: ``apis/resourcequota/validation`` in ``k8s.io/apiserver/pkg/admission/plugin/resourcequota``, and
``k8s.io/pod-security-admission/admission/api/validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from podling.api.core_v1 import ScopedResourceSelectorRequirement
from podling.apiserver.admission.configuration.types import (
    PodSecurityConfiguration,
    ResourceQuotaConfiguration,
)
from podling.apiserver.admission.pod_security_policy import level_problem, version_problem
from podling.machinery import fields, names
from podling.machinery.fields import FieldError, Path

_WITH_OPERATOR = ("PriorityClass", "VolumeAttributesClass")
"""Scopes that look at the operator; the others only have to be there."""


def quota_errors(found: ResourceQuotaConfiguration) -> Iterator[FieldError]:
    path = Path("limitedResources")
    for number, limited in enumerate(found.limited_resources):
        here = path.index(number)
        if not limited.resource:
            yield fields.required(here.child("resource"))
        for position, scope in enumerate(limited.match_scopes):
            if scope.scope_name in _WITH_OPERATOR:
                yield from _operator_errors(here.child("matchScopes").index(position), scope)


def _operator_errors(path: Path, scope: ScopedResourceSelectorRequirement) -> Iterator[FieldError]:
    if scope.operator in ("In", "NotIn"):
        if not scope.values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield fields.required(path.child("values"), text)
    elif scope.operator not in ("Exists", "DoesNotExist"):
        yield fields.invalid(path.child("operator"), scope.operator, "not a valid selector operator")


def pod_security_errors(found: PodSecurityConfiguration) -> Iterator[FieldError]:
    path, given = Path("defaults"), found.defaults
    for mode in ("enforce", "warn", "audit"):
        level, version = getattr(given, mode), getattr(given, f"{mode}_version")
        if why := level_problem(level):
            yield fields.invalid(path.child(mode), level, why)
        if why := version_problem(version):
            yield fields.invalid(path.child(f"{mode}-version"), version, why)
    path, exempt = Path("exemptions"), found.exemptions
    yield from _name_errors(path.child("namespaces"), exempt.namespaces, names.dns_label_errors)
    yield from _name_errors(path.child("runtimeClasses"), exempt.runtime_classes, names.dns_subdomain_errors)
    yield from _user_errors(path.child("usernames"), exempt.usernames)


def _name_errors(
    path: Path, given: tuple[str, ...], problems: Callable[[str], list[str]]
) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, name in enumerate(given):
        if why := problems(name):
            yield fields.invalid(path.index(number), name, ", ".join(why))
        elif name in seen:
            yield fields.duplicate(path.index(number), name)
        seen.add(name)


def _user_errors(path: Path, given: tuple[str, ...]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, name in enumerate(given):
        if not name:
            yield fields.required(path.index(number))
        elif name in seen:
            yield fields.duplicate(path.index(number), name)
        seen.add(name)
