"""``pods/resize``: changes of resources while containers run.

Requests and limits of cpu and memory may be added and changed but not removed, and the quality of service
class may not change. Other resources and the resize policies may not change. All other changes in the request
are dropped.

Upstream: ``ValidatePodResize`` in ``pkg/apis/core/validation/validation.go``, ``podResizeStrategy`` in
``pkg/registry/core/pod/strategy.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podling.api.core_v1 import Container, Pod, ResourceRequirements
from podling.apiserver.kinds.common.checks import Errors, error_of_whole_object
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.pod.pod_update import with_new_managed_fields
from podling.apiserver.kinds.pod.pod_validation import SPEC, validate_pod
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.pods import MIRROR_ANNOTATION, is_sidecar, qos_class, qos_class_of
from podling.machinery.quantity import parse

RESIZABLE = ("cpu", "memory")


def keep_only_resources(new: Pod, old: Pod) -> Pod:
    """Return ``old`` with the resources and resize policies of ``new``."""
    spec = change(
        old.spec,
        containers=_with_new_resources(new.spec.containers, old.spec.containers),
        init_containers=_with_new_resources(new.spec.init_containers, old.spec.init_containers),
        resources=new.spec.resources,
    )
    return change(old, spec=spec, metadata=with_new_managed_fields(new.metadata, old.metadata))


def _with_new_resources(new: Sequence[Container], old: Sequence[Container]) -> tuple[Container, ...]:
    """Return ``old`` with new resources; ``new`` if the containers differ, which validation refuses."""
    if [container.name for container in new] != [container.name for container in old]:
        return tuple(new)
    return tuple(
        change(before, resources=after.resources, resize_policy=after.resize_policy)
        for after, before in zip(new, old, strict=True)
    )


def validate_resize(new: Pod, old: Pod) -> Errors:
    if MIRROR_ANNOTATION in old.metadata.annotations:
        return [error_of_whole_object(fields.forbidden(Path(), "static pods cannot be resized"))]
    if old.spec.os is not None and old.spec.os.name == "windows":
        return [error_of_whole_object(fields.forbidden(Path(), "windows pods cannot be resized"))]
    errors = validate_pod(new)
    if qos_class_of(old) != qos_class(new.spec):
        text = "Pod QOS Class may not change as a result of resizing"
        errors.append(fields.invalid(SPEC, new.status.qos_class, text))
    if not _node_can_resize(old):
        errors.append(fields.forbidden(SPEC, "Pod running on node without support for resize"))
    errors += _pod_level_errors(new.spec.resources, old.spec.resources)
    if old.status.node_allocatable_resource_claim_statuses:
        text = "pods with node allocatable resource claims cannot be resized"
        errors.append(fields.forbidden(SPEC, text))
    others = _container_set_errors("containers", new.spec.containers, old.spec.containers)
    others += _container_set_errors("initContainers", new.spec.init_containers, old.spec.init_containers)
    if others:
        return errors + others
    inits = _pairs("initContainers", new.spec.init_containers, old.spec.init_containers)
    mains = _pairs("containers", new.spec.containers, old.spec.containers)
    for here, wanted, current in (*inits, *mains):
        errors += _removal_errors(here.child("resources"), wanted.resources, current.resources)
    for _, wanted, current in mains:
        if _immutable_parts(wanted) != _immutable_parts(current):
            errors.append(fields.forbidden(SPEC, "only cpu and memory resources are mutable"))
    for here, wanted, current in inits:
        errors += _init_container_errors(here, wanted, current)
    return errors


def _node_can_resize(pod: Pod) -> bool:
    """Return whether the kubelet supports resize: it then reports the resources of running containers."""
    for status in pod.status.container_statuses:
        if status.state.running is not None:
            return status.resources is not None
    return True


def _container_set_errors(field: str, new: Sequence[Container], old: Sequence[Container]) -> Errors:
    here = SPEC.child(field)
    if len(new) != len(old):
        return [fields.forbidden(here, f"{field} may not be added or removed on resize")]
    return [
        fields.forbidden(
            here.index(position).child("name"), f"{field} may not be renamed or reordered on resize"
        )
        for position, (after, before) in enumerate(zip(new, old, strict=True))
        if after.name != before.name
    ]


def _pairs(
    field: str, new: Sequence[Container], old: Sequence[Container]
) -> list[tuple[Path, Container, Container]]:
    here = SPEC.child(field)
    return [
        (here.index(position), wanted, current)
        for position, (wanted, current) in enumerate(zip(new, old, strict=True))
    ]


def _removal_errors(path: Path, new: ResourceRequirements, old: ResourceRequirements) -> Errors:
    return [
        fields.forbidden(path.child(field), f"resource {field} cannot be removed")
        for field in _fields_with_removals(new, old)
    ]


def _fields_with_removals(new: ResourceRequirements, old: ResourceRequirements) -> list[str]:
    """Return the fields in which a resource was removed."""
    pairs = (("requests", new.requests, old.requests), ("limits", new.limits, old.limits))
    return [field for field, after, before in pairs if before.keys() - after.keys()]


def _immutable_parts(container: Container) -> tuple[object, ...]:
    """Return the resources and policies that no resize may change."""
    return *_immutable_resources(container.resources), container.resize_policy


def _immutable_resources(resources: ResourceRequirements) -> tuple[object, ...]:
    return _other_resources(resources.requests), _other_resources(resources.limits), resources.claims


def _other_resources(resources: Mapping[str, str]) -> dict[str, object]:
    return {name: parse(value) for name, value in resources.items() if name not in RESIZABLE}


def _init_container_errors(path: Path, new: Container, old: Container) -> Errors:
    """Return the errors in a resized init container. It runs once, so a resize cannot restart it."""
    errors: Errors = []
    if _immutable_parts(new) != _immutable_parts(old):
        text = "only cpu and memory resources for init or sidecar containers are mutable"
        errors.append(fields.forbidden(path, text))
    restarts = any(policy.restart_policy == "RestartContainer" for policy in new.resize_policy)
    if restarts and not is_sidecar(new) and new != old:
        text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        errors.append(fields.forbidden(path, text))
    return errors


def _pod_level_errors(new: ResourceRequirements | None, old: ResourceRequirements | None) -> Errors:
    """Return the errors in resized pod-level resources."""
    if not any(each is not None and (each.requests or each.limits) for each in (new, old)):
        return []
    here = SPEC.child("resources")
    if new is None:
        return [fields.forbidden(here, "pod-level resources cannot be removed")]
    before = old or ResourceRequirements()
    errors = [
        fields.forbidden(here.child(field), f"pod-level resource {field} cannot be removed")
        for field in _fields_with_removals(new, before)
    ]
    if _immutable_resources(new) != _immutable_resources(before):
        errors.append(fields.forbidden(SPEC, "only cpu and memory resources are mutable at pod-level"))
    return errors
