"""Validation of users, devices and resource claims in the container statuses of a pod.

Upstream: ``validateContainerStatusUsers``, ``validateContainerStatusAllocatedResourcesStatus``,
``validatePodResourceClaimStatuses`` and ``validatePodExtendedResourceClaimStatus`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podling.api.core_v1 import (
    Container,
    ContainerStatus,
    LinuxContainerUser,
    Pod,
    PodExtendedResourceClaimStatus,
    PodSpec,
    ResourceStatus,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import Path

HEALTH = ("Healthy", "Unhealthy", "Unknown")
LONGEST_MESSAGE = 1024
_NO_CLAIM = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
    "'claim:<claimName>' if request is empty"
)
_NO_REQUESTED = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests"
)


def validate_container_statuses(path: Path, pod: Pod) -> Errors:
    """Return the errors in users, then in resources, of all containers; ``path`` is the status."""
    spec, status = pod.spec, pod.status
    lists: tuple[tuple[str, Sequence[ContainerStatus], Sequence[Container] | None], ...] = (
        ("containerStatuses", status.container_statuses, spec.containers),
        ("initContainerStatuses", status.init_container_statuses, spec.init_containers),
        ("ephemeralContainerStatuses", status.ephemeral_container_statuses, None),
    )
    errors: Errors = []
    for name, statuses, _ in lists:
        for position, each in enumerate(statuses):
            if each.user is not None and each.user.linux is not None:
                where = path.child(name).index(position).child("user", "linux")
                errors += _user_errors(where, each.user.linux, spec)
    for name, statuses, containers in lists:
        for position, each in enumerate(statuses):
            if each.allocated_resources_status:
                where = path.child(name).index(position).child("allocatedResourcesStatus")
                errors += _resource_errors(where, each, containers)
    return errors


def _user_errors(path: Path, user: LinuxContainerUser, spec: PodSpec) -> Errors:
    if spec.os is not None and spec.os.name == "windows":
        return [fields.forbidden(path, "cannot be set for a windows pod")]
    errors = checks.numeric_id(path.child("uid"), user.uid)
    errors += checks.numeric_id(path.child("gid"), user.gid)
    for position, group in enumerate(user.supplemental_groups):
        errors += checks.numeric_id(path.child("supplementalGroups").index(position), group)
    return errors


def _resource_errors(path: Path, status: ContainerStatus, containers: Iterable[Container] | None) -> Errors:
    """Return errors for resources that the container does not request; ephemeral ones request none."""
    if containers is None:
        return [fields.forbidden(path, "must not be specified in container status")]
    container = next((each for each in containers if each.name == status.name), None)
    errors: Errors = []
    for position, resource in enumerate(status.allocated_resources_status):
        here = path.index(position)
        if container is not None and resource.name not in _requested_names(container):
            claim = resource.name.startswith("claim:")
            text = _NO_CLAIM if claim else "must match one of the container's resource requests"
            errors.append(fields.invalid(here.child("name"), resource.name, text))
        errors += _device_errors(here.child("resources"), resource)
    return errors


def _requested_names(container: Container) -> set[str]:
    resources = container.resources
    claims = {
        f"claim:{claim.name}" + (f"/{claim.request}" if claim.request else "") for claim in resources.claims
    }
    return claims | {name for name in resources.requests if not name.startswith("claim:")}


def _device_errors(path: Path, resource: ResourceStatus) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, device in enumerate(resource.resources):
        here = path.index(position)
        if device.health not in HEALTH:
            errors.append(fields.not_supported(here.child("health"), device.health or "", HEALTH))
        if device.message == "":
            errors.append(fields.required(here.child("message"), "must be non-empty if specified"))
        elif device.message is not None and len(device.message.encode()) > LONGEST_MESSAGE:
            errors.append(fields.too_long(here.child("message"), LONGEST_MESSAGE))
        if device.resource_id in seen:
            errors.append(fields.duplicate(here.child("resourceID"), device.resource_id))
        seen.add(device.resource_id)
    return errors


def validate_claim_statuses(path: Path, pod: Pod) -> Errors:
    """Return errors unless each entry names another one of the pod's claims."""
    known = {claim.name for claim in pod.spec.resource_claims}
    errors: Errors = []
    seen: set[str] = set()
    for position, status in enumerate(pod.status.resource_claim_statuses):
        where = path.index(position).child("name")
        if status.name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(fields.invalid(where, status.name, text))
        errors += [fields.duplicate(where, status.name)] if status.name in seen else []
        seen.add(status.name)
        if status.resource_claim_name is not None:
            errors += checks.dns_subdomain(where, status.resource_claim_name)
    return errors


def validate_extended_claim(path: Path, status: PodExtendedResourceClaimStatus, spec: PodSpec) -> Errors:
    """Return the errors in the claim for the extended resources that containers request."""
    requests = {each.name: each.resources.requests for each in (*spec.init_containers, *spec.containers)}
    here = path.child("requestMappings")
    errors: Errors = []
    if not status.request_mappings:
        errors.append(fields.required(here, "at least one request mapping is required"))
    for position, mapping in enumerate(status.request_mappings):
        where = here.index(position)
        if mapping.container_name not in requests:
            text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            errors.append(fields.invalid(where.child("containerName"), mapping.container_name, text))
        elif mapping.resource_name not in requests[mapping.container_name]:
            errors.append(fields.invalid(where.child("resourceName"), mapping.resource_name, _NO_REQUESTED))
        errors += checks.dns_label(path.child("requestName"), mapping.request_name)
        if mapping in status.request_mappings[:position]:
            errors += [
                fields.duplicate(where.child("containerName"), mapping.container_name),
                fields.duplicate(where.child("resourceName"), mapping.resource_name),
                fields.duplicate(where.child("requestName"), mapping.request_name),
            ]
    name, where = status.resource_claim_name, path.child("resourceClaimName")
    return errors + (checks.dns_subdomain(where, name) if name else [fields.required(where)])
