"""Validation of resource names and quantities in requests and limits of containers and pods.

Upstream: ``ValidateContainerResourceRequirements``, ``validatePodResources`` and ``pkg/apis/core/helper``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from podling.api.core_v1 import ContainerResizePolicy, PodSpec, ResourceClaim, ResourceRequirements
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.pod_scope import PodScope
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.pods import container_limits_total, container_requests_total, is_pod_level_resource
from podling.machinery.quantity import ZERO, Quantity, parse
from podling.machinery.resource_names import HUGE_PAGES, is_extended, is_huge_page, is_native

CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources of containers without a prefix, beside huge pages."""

STANDARD_RESOURCES = CONTAINER_RESOURCES | {
    "storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "requests.storage",
    "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "services",
    "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims",
    "services.nodeports", "services.loadbalancers",
}  # fmt: skip
"""All resource names without a prefix."""

INTEGER_RESOURCES = STANDARD_RESOURCES & {
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
}  # fmt: skip
"""Resources without a prefix that are integers."""


def may_overcommit(name: str) -> bool:
    """Return whether a limit may be above the request."""
    return is_native(name) and not is_huge_page(name)


def is_standard(name: str) -> bool:
    return name in STANDARD_RESOURCES or is_huge_page(name) or is_huge_page(name.removeprefix("requests."))


def resource_name_errors(path: Path, name: str) -> Errors:
    """Return the errors in any resource name: qualified, and known if it has no prefix."""
    errors = checks.label_name(path, name)
    if not errors and "/" not in name and not is_standard(name):
        errors.append(fields.invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def container_resource_name_errors(path: Path, name: str) -> Errors:
    errors = resource_name_errors(path, name)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not is_huge_page(name):
            errors.append(fields.invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(fields.invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def quantity_errors(path: Path, name: str, value: Quantity) -> Errors:
    """Return errors for a negative quantity, or a fraction of an integer resource."""
    errors: Errors = []
    if value < ZERO:
        errors.append(fields.invalid(path, str(value), checks.NOT_NEGATIVE))
    if (name in INTEGER_RESOURCES or is_extended(name)) and value.milli_value % 1000:
        errors.append(fields.invalid(path, str(value), "must be an integer"))
    return errors


def validate_resources(path: Path, resources: ResourceRequirements, scope: PodScope) -> Errors:
    """Return the errors in a container's resources."""
    errors = requirement_errors(path, resources)
    return errors + _claim_errors(path.child("claims"), resources.claims, scope)


def requirement_errors(path: Path, resources: ResourceRequirements) -> Errors:
    """Return the errors in limits and requests of a container, or in a pod's overhead."""
    return _requirements_errors(path, resources, container_resource_name_errors)


def _requirements_errors(
    path: Path, resources: ResourceRequirements, name_errors: Callable[[Path, str], Errors]
) -> Errors:
    limits = {name: parse(value) for name, value in resources.limits.items()}
    requests = {name: parse(value) for name, value in resources.requests.items()}
    errors: Errors = []
    for name, value in limits.items():
        here = path.child("limits").key(name)
        errors += name_errors(here, name) + quantity_errors(here, name, value)
        errors += _huge_page_errors(here, name, value) if is_huge_page(name) else []
    for name, value in requests.items():
        here = path.child("requests").key(name)
        errors += name_errors(here, name) + quantity_errors(here, name, value)
        errors += _limit_errors(path, name, value, limits.get(name))
        errors += _huge_page_errors(here, name, value) if is_huge_page(name) else []
    wanted = limits.keys() | requests.keys()
    if any(map(is_huge_page, wanted)) and not wanted & {"cpu", "memory"}:
        errors.append(fields.forbidden(path, "HugePages require cpu or memory"))
    return errors


def _huge_page_errors(path: Path, name: str, value: Quantity) -> Errors:
    """Return an error unless the quantity is a multiple of the page size."""
    try:
        page = parse(name.removeprefix(HUGE_PAGES))
    except ValueError:
        page = ZERO
    if page > ZERO and page.milli_value % 1000 == 0 and value.value % page.value == 0:
        return []
    return [fields.invalid(path, str(value), f"{value} is not positive integer multiple of {name}")]


def _limit_errors(path: Path, name: str, request: Quantity, limit: Quantity | None) -> Errors:
    if limit is None:
        if may_overcommit(name):
            return []
        text = "Limit must be set for non overcommitable resources"
        return [fields.required(path.child("limits"), text)]
    if request != limit and not may_overcommit(name):
        text = f"must be equal to {name} limit of {limit}"
    elif request > limit:
        text = f"must be less than or equal to {name} limit of {limit}"
    else:
        return []
    return [fields.invalid(path.child("requests"), str(request), text)]


def _claim_errors(path: Path, claims: tuple[ResourceClaim, ...], scope: PodScope) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        here = path.index(position)
        if not claim.name:
            errors.append(fields.required(here))
            continue
        if claim.name in seen:
            errors.append(fields.duplicate(here, claim.name))
        elif claim.request:
            key = f"{claim.name}/{claim.request}"
            errors += checks.dns_label(here.child("request"), claim.request)
            errors += [fields.duplicate(here, key)] if key in seen else []
            seen.add(key)
        else:
            parts = [other for other in seen if other.startswith(f"{claim.name}/")]
            errors += [fields.duplicate(here, claim.name) for _ in parts]
            seen.add(claim.name)
        if claim.name not in scope.claim_names:
            known = ": " + ", ".join(sorted(scope.claim_names)) if scope.claim_names else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{known}"
            errors.append(replace(fields.not_found(here, claim.name), detail=detail))
    return errors


def validate_overhead(path: Path, overhead: Mapping[str, str]) -> Errors:
    """Return the errors in a pod's overhead."""
    return _requirements_errors(
        path, ResourceRequirements(limits=dict(overhead)), container_resource_name_errors
    )


def validate_pod_resources(path: Path, spec: PodSpec, resources: ResourceRequirements) -> Errors:
    """Return the errors in pod-level ``resources``, alone and compared with the containers'."""
    if spec.os is not None and spec.os.name == "windows":
        return [fields.forbidden(path, "may not be set for a windows pod")]
    errors: Errors = []
    if resources.claims:
        errors.append(
            fields.forbidden(path.child("claims"), "claims may not be set for Resources at pod-level")
        )
    errors += _requirements_errors(path, resources, _pod_resource_name_errors)
    errors += _total_errors(
        path.child("requests"), "requests", container_requests_total(spec), resources.requests
    )
    if any(HUGE_PAGES in name for name in resources.limits):
        pages = {name: total for name, total in container_limits_total(spec).items() if HUGE_PAGES in name}
        errors += _total_errors(path.child("limits"), "limits", pages, resources.limits)
    return errors + _container_limit_errors(path, spec, resources)


def _total_errors(path: Path, what: str, totals: Mapping[str, Quantity], given: Mapping[str, str]) -> Errors:
    """Return errors for pod-level values below the containers' total; missing pod-level values are valid."""
    return [
        fields.invalid(
            path.key(name),
            str(parse(given[name])),
            f"must be greater than or equal to aggregate container {what} of {total}",
        )
        for name, total in totals.items()
        if name in given and total > parse(given[name])
    ]


def _container_limit_errors(path: Path, spec: PodSpec, resources: ResourceRequirements) -> Errors:
    errors: Errors = []
    for position, container in enumerate(spec.containers):
        for name, value in container.resources.limits.items():
            allowed = resources.limits.get(name)
            if allowed is not None and parse(value) > parse(allowed):
                where = path.child("containers").index(position).key(name).child("limits")
                text = f"must be less than or equal to pod limits of {parse(allowed)}"
                errors.append(fields.invalid(where, str(parse(value)), text))
    return errors


def _pod_resource_name_errors(path: Path, name: str) -> Errors:
    errors = resource_name_errors(path, name)
    if not errors and not is_pod_level_resource(name):
        errors.append(fields.not_supported(path, name, ("cpu", HUGE_PAGES, "memory")))
    return errors


def validate_resize_policy(
    path: Path, policies: tuple[ContainerResizePolicy, ...], restart_policy: str
) -> Errors:
    """Return the errors in a container's resize policy; ``restart_policy`` is the pod's."""
    errors: Errors = []
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        if policy.resource_name in seen:
            errors.append(fields.duplicate(path.index(position), policy.resource_name))
        seen.add(policy.resource_name)
        errors += checks.required_one_of(path, policy.resource_name, ("cpu", "memory"))
        errors += checks.required_one_of(path, policy.restart_policy, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and policy.restart_policy != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(fields.invalid(path, policy.restart_policy, text))
    return errors
