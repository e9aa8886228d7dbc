"""``pods/resize``: changing what containers may use while they run.

Requests and limits of cpu and memory may be added and changed but not taken away, and the quality of
service class stays. Other resources and the resize policies may not change; all else in the request is
dropped.

Upstream: ``ValidatePodResize`` in ``pkg/apis/core/validation/validation.go``, ``podResizeStrategy`` in
``pkg/registry/core/pod/strategy.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podling.api.core_v1 import Container, Pod, ResourceRequirements
from podling.apiserver.kinds.common.checks import Errors, of_the_whole
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.pod.pod_update import only_managers
from podling.apiserver.kinds.pod.pod_validation import SPEC, validate_pod
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.pods import MIRROR_ANNOTATION, is_sidecar, qos_class, qos_class_of
from podling.machinery.quantity import parse

RESIZABLE = ("cpu", "memory")


def keep_only_resources(new: Pod, old: Pod) -> Pod:
    """``old`` with the resources and resize policies that ``new`` asks for."""
    spec = change(
        old.spec,
        containers=_resized(new.spec.containers, old.spec.containers),
        init_containers=_resized(new.spec.init_containers, old.spec.init_containers),
        resources=new.spec.resources,
    )
    return change(old, spec=spec, metadata=only_managers(new.metadata, old.metadata))


def _resized(new: Sequence[Container], old: Sequence[Container]) -> tuple[Container, ...]:
    """A different set of containers is left as it is: validation refuses it and says why."""
    if [container.name for container in new] != [container.name for container in old]:
        return tuple(new)
    return tuple(
        change(before, resources=after.resources, resize_policy=after.resize_policy)
        for after, before in zip(new, old, strict=True)
    )


def validate_resize(new: Pod, old: Pod) -> Errors:
    if MIRROR_ANNOTATION in old.metadata.annotations:
        return [of_the_whole(fields.forbidden(Path(), "static pods cannot be resized"))]
    if old.spec.os is not None and old.spec.os.name == "windows":
        return [of_the_whole(fields.forbidden(Path(), "windows pods cannot be resized"))]
    errors = validate_pod(new)
    if qos_class_of(old) != qos_class(new.spec):
        text = "Pod QOS Class may not change as a result of resizing"
        errors.append(fields.invalid(SPEC, new.status.qos_class, text))
    if not _node_can_resize(old):
        errors.append(fields.forbidden(SPEC, "Pod running on node without support for resize"))
    errors += _pod_level(new.spec.resources, old.spec.resources)
    if old.status.node_allocatable_resource_claim_statuses:
        text = "pods with node allocatable resource claims cannot be resized"
        errors.append(fields.forbidden(SPEC, text))
    others = _same_containers("containers", new.spec.containers, old.spec.containers)
    others += _same_containers("initContainers", new.spec.init_containers, old.spec.init_containers)
    if others:
        return errors + others
    inits = _pairs("initContainers", new.spec.init_containers, old.spec.init_containers)
    mains = _pairs("containers", new.spec.containers, old.spec.containers)
    for here, wanted, current in (*inits, *mains):
        errors += _removals(here.child("resources"), wanted.resources, current.resources)
    for _, wanted, current in mains:
        if _fixed(wanted) != _fixed(current):
            errors.append(fields.forbidden(SPEC, "only cpu and memory resources are mutable"))
    for here, wanted, current in inits:
        errors += _init_changes(here, wanted, current)
    return errors


def _node_can_resize(pod: Pod) -> bool:
    """A kubelet that resizes reports what running containers have; before any runs nobody knows."""
    for status in pod.status.container_statuses:
        if status.state.running is not None:
            return status.resources is not None
    return True


def _same_containers(field: str, new: Sequence[Container], old: Sequence[Container]) -> Errors:
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


def _removals(path: Path, new: ResourceRequirements, old: ResourceRequirements) -> Errors:
    return [
        fields.forbidden(path.child(field), f"resource {field} cannot be removed")
        for field in _missing(new, old)
    ]


def _missing(new: ResourceRequirements, old: ResourceRequirements) -> list[str]:
    """Where something is gone that had an amount."""
    pairs = (("requests", new.requests, old.requests), ("limits", new.limits, old.limits))
    return [field for field, after, before in pairs if before.keys() - after.keys()]


def _fixed(container: Container) -> tuple[object, ...]:
    """What of a container's resources no resize changes."""
    return *_fixed_resources(container.resources), container.resize_policy


def _fixed_resources(resources: ResourceRequirements) -> tuple[object, ...]:
    return _others(resources.requests), _others(resources.limits), resources.claims


def _others(resources: Mapping[str, str]) -> dict[str, object]:
    return {name: parse(value) for name, value in resources.items() if name not in RESIZABLE}


def _init_changes(path: Path, new: Container, old: Container) -> Errors:
    """An init container runs once: restarting it for a resize makes no sense."""
    errors: Errors = []
    if _fixed(new) != _fixed(old):
        text = "only cpu and memory resources for init or sidecar containers are mutable"
        errors.append(fields.forbidden(path, text))
    restarts = any(policy.restart_policy == "RestartContainer" for policy in new.resize_policy)
    if restarts and not is_sidecar(new) and new != old:
        text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        errors.append(fields.forbidden(path, text))
    return errors


def _pod_level(new: ResourceRequirements | None, old: ResourceRequirements | None) -> Errors:
    """The same rules for what all containers share."""
    if not any(each is not None and (each.requests or each.limits) for each in (new, old)):
        return []
    here = SPEC.child("resources")
    if new is None:
        return [fields.forbidden(here, "pod-level resources cannot be removed")]
    before = old or ResourceRequirements()
    errors = [
        fields.forbidden(here.child(field), f"pod-level resource {field} cannot be removed")
        for field in _missing(new, before)
    ]
    if _fixed_resources(new) != _fixed_resources(before):
        errors.append(fields.forbidden(SPEC, "only cpu and memory resources are mutable at pod-level"))
    return errors
