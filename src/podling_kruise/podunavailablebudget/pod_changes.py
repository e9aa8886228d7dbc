"""Changes of a pod that may make it unavailable. Pure.

Upstream: ``IsPodUnavailableChanged`` and ``CanResizeInplace`` of ``pub_control.go``.
"""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import Container, Pod, PodSpec, ResourceRequirements
from podling.machinery import quantity
from podling.machinery.pods import is_static, qos_class
from podling_kruise.podunavailablebudget.protection import has_unavailable_label
from podling_kruise.podunavailablebudget.types import RESIZE, UPDATE

RESIZABLE = ("cpu", "memory")


def operation_of(old: Pod, new: Pod) -> str:
    """Return the operation that a change is to a budget; empty for one that leaves the pod available."""
    labelled = has_unavailable_label(new) and not has_unavailable_label(old)
    if old.spec == new.spec and not labelled:
        return ""
    return RESIZE if not labelled and is_resized_in_place(old, new) else UPDATE


def is_resized_in_place(old: Pod, new: Pod) -> bool:
    """Return whether a changed pod differs in resources only, and none of its containers is restarted."""
    if _without_resources(old.spec) != _without_resources(new.spec) or is_static(new) or is_static(old):
        return False
    if qos_class(old.spec) != qos_class(new.spec):
        return False
    return all(map(_is_resized_alive, old.spec.containers, new.spec.containers))


def _without_resources(spec: PodSpec) -> PodSpec:
    bare = ResourceRequirements()
    containers = tuple(structs.replace(each, resources=bare) for each in spec.containers)
    return structs.replace(spec, containers=containers)


def _is_resized_alive(old: Container, new: Container) -> bool:
    """Return whether a container goes on while its resources change."""
    restarts = {each.resource_name for each in new.resize_policy if each.restart_policy == "RestartContainer"}
    return all(name in RESIZABLE and name not in restarts for name in _changed(old, new))


def _changed(old: Container, new: Container) -> set[str]:
    """Return the names of the resources whose request or limit differs."""
    found = set()
    for before, after in (
        (old.resources.requests, new.resources.requests),
        (old.resources.limits, new.resources.limits),
    ):
        for name in {*before, *after}:
            one, other = before.get(name), after.get(name)
            if one is None or other is None or quantity.parse(one) != quantity.parse(other):
                found.add(name)
    return found
