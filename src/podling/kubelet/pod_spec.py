"""Access to a pod's spec: its containers of all three kinds, under one type.

An ephemeral container lacks some fields of the others, so it is converted to a ``Container``; its target is
looked up by name where needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec import structs

from podling.api.core_v1 import Container, EphemeralContainer, Pod, PodSpec
from podling.machinery.pods import is_sidecar


class ContainerKind(Enum):
    """The kind of a container; the value is the name of its list in field paths."""

    REGULAR = "spec.containers"
    INIT = "spec.initContainers"
    EPHEMERAL = "spec.ephemeralContainers"


_COMMON = tuple(structs.fields(Container))


def as_container(ephemeral: EphemeralContainer) -> Container:
    """Return an ephemeral container as a container, without its target."""
    return Container(**{field.name: getattr(ephemeral, field.name) for field in _COMMON})


def ephemeral_containers(spec: PodSpec) -> tuple[Container, ...]:
    return tuple(as_container(ephemeral) for ephemeral in spec.ephemeral_containers)


def ephemeral_target(spec: PodSpec, name: str) -> str:
    """Return the container whose processes the ephemeral container ``name`` sees; empty if none."""
    found = (c.target_container_name or "" for c in spec.ephemeral_containers if c.name == name)
    return next(found, "")


def containers_with_kind(spec: PodSpec) -> Iterator[tuple[ContainerKind, Container]]:
    """Yield every container: init, regular, ephemeral, each in the order of the spec."""
    for container in spec.init_containers:
        yield ContainerKind.INIT, container
    for container in spec.containers:
        yield ContainerKind.REGULAR, container
    for container in ephemeral_containers(spec):
        yield ContainerKind.EPHEMERAL, container


def find_container(spec: PodSpec, name: str) -> Container | None:
    return next((found for _, found in containers_with_kind(spec) if found.name == name), None)


def container_type(pod: Pod, container: Container) -> str:
    """Return the type of a container as metrics name it."""
    if any(each.name == container.name for each in pod.spec.containers):
        return "container"
    return "init_container" if container in pod.spec.init_containers else "ephemeral_container"


def field_path(spec: PodSpec, name: str) -> str:
    """Return the container's place as events name it: ``spec.containers{app}``."""
    for kind, container in containers_with_kind(spec):
        if container.name == name:
            return f"{kind.value}{{{name}}}"
    return ""


def sidecars(spec: PodSpec) -> tuple[Container, ...]:
    return tuple(container for container in spec.init_containers if is_sidecar(container))


def pod_text(pod: Pod) -> str:
    """Return the pod as messages name it: ``NAME_NAMESPACE(UID)``."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
