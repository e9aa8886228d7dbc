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
from podling.apiserver.kinds.checks import Errors, of_the_whole
from podling.apiserver.kinds.filling import change
from podling.apiserver.kinds.pod_update import only_managers
from podling.apiserver.kinds.pod_validation import SPEC, validate_pod
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.pods import MIRROR_ANNOTATION, is_sidecar, qos_class, qos_class_of
from podling.machinery.quantity import parse

RESIZABLE = ("cpu", "memory")
_ONLY_CPU_AND_MEMORY = "only cpu and memory resources are mutable"


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
    errors += _same_containers("containers", new.spec.containers, old.spec.containers)
    errors += _same_containers("initContainers", new.spec.init_containers, old.spec.init_containers)
    if any(error.detail.endswith("on resize") for error in errors):
        return errors
    inits = _pairs("initContainers", new.spec.init_containers, old.spec.init_containers)
    mains = _pairs("containers", new.spec.containers, old.spec.containers)
    for here, wanted, current in (*inits, *mains):
        errors += _removals(here.child("resources"), wanted.resources, current.resources)
    for _, wanted, current in (*mains, *inits):
        same = _fixed(wanted.resources) == _fixed(current.resources)
        if not same or wanted.resize_policy != current.resize_policy:
            errors.append(fields.forbidden(SPEC, _ONLY_CPU_AND_MEMORY))
    for here, wanted, current in inits:
        errors += [] if is_sidecar(wanted) else _init_policy(here.child("resizePolicy"), wanted, current)
    if new.spec.resources is not None or old.spec.resources is not None:
        after_pod, before_pod = (spec.resources or ResourceRequirements() for spec in (new.spec, old.spec))
        errors += _removals(SPEC.child("resources"), after_pod, before_pod)
        if _fixed(after_pod) != _fixed(before_pod):
            errors.append(fields.forbidden(SPEC, _ONLY_CPU_AND_MEMORY))
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
        for field, after, before in (
            ("requests", new.requests, old.requests),
            ("limits", new.limits, old.limits),
        )
        if before.keys() - after.keys()
    ]


def _fixed(resources: ResourceRequirements) -> tuple[object, ...]:
    """What of ``resources`` no resize changes."""
    return _others(resources.requests), _others(resources.limits), resources.claims


def _others(resources: Mapping[str, str]) -> dict[str, object]:
    return {name: parse(value) for name, value in resources.items() if name not in RESIZABLE}


def _init_policy(path: Path, new: Container, old: Container) -> Errors:
    """An init container runs once: restarting it for a resize makes no sense."""
    if new.resources == old.resources:
        return []
    text = "may not be RestartContainer for non-sidecar init containers"
    return [
        fields.forbidden(path.index(position).child("restartPolicy"), text)
        for position, policy in enumerate(new.resize_policy)
        if policy.restart_policy == "RestartContainer"
    ]
