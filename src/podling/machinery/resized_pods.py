"""The resources that a pod holds while it is resized.

A container counts with the maximum of its specification, its allocation and its actual resources, unless the
node found the resize infeasible: then the specification does not count.

Upstream: ``determineContainerReqs`` and its like for limits in ``component-helpers/resource/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import structs

from podling.api.core_v1 import Container, ContainerStatus, Pod, PodSpec
from podling.machinery.pods import condition, is_sidecar
from podling.machinery.quantity import parse

NOTHING: Mapping[str, str] = {}


def effective_spec(pod: Pod) -> PodSpec:
    """Return the spec with the resources that its containers hold, where they differ from the specified."""
    statuses = {status.name: status for status in statuses_with_resources(pod)}
    if not statuses or not pod.spec.node_name:
        return pod.spec
    pending = condition(pod, "PodResizePending")
    infeasible = pending is not None and pending.reason == "Infeasible"

    def held(container: Container) -> Container:
        status = statuses.get(container.name)
        return container if status is None else _at_least(container, status, ignore_spec=infeasible)

    return structs.replace(
        pod.spec,
        containers=tuple(held(container) for container in pod.spec.containers),
        init_containers=tuple(
            held(container) if is_sidecar(container) else container for container in pod.spec.init_containers
        ),
    )


def statuses_with_resources(pod: Pod) -> list[ContainerStatus]:
    """Return the statuses of containers that report what they hold."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return [status for status in statuses if status.resources is not None]


def _at_least(container: Container, status: ContainerStatus, *, ignore_spec: bool) -> Container:
    own, actual = container.resources, status.resources
    given = actual.requests if actual else NOTHING
    limited = actual.limits if actual else NOTHING
    requests = _most([NOTHING if ignore_spec else own.requests, given, status.allocated_resources])
    limits = _most([NOTHING if ignore_spec else own.limits, limited])
    return structs.replace(container, resources=structs.replace(own, requests=requests, limits=limits))


def _most(sources: Iterable[Mapping[str, str]]) -> dict[str, str]:
    most: dict[str, str] = {}
    for source in sources:
        for name, value in source.items():
            if name not in most or parse(most[name]) < parse(value):
                most[name] = value
    return most
