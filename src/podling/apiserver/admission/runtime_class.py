"""RuntimeClass: a pod that names one gets its overhead and goes only to nodes that have it.

Upstream: ``plugin/pkg/admission/runtimeclass``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.core_v1 import Pod, PodSpec
from podling.api.node_v1 import RuntimeClass, Scheduling
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.kinds.common.filling import change
from podling.machinery.quantity import parse
from podling.machinery.scheme import Resource


class RuntimeClassAdmission(Plugin):
    name = "RuntimeClass"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return (
            operation is Operation.CREATE
            and (resource.group, resource.plural) == ("", "pods")
            and not subresource
        )

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        pod: Pod = request.object
        found = _class_of(request, objects)
        if found is None:
            return pod
        spec = pod.spec
        if found.overhead is not None and found.overhead.pod_fixed:
            fixed = found.overhead.pod_fixed
            if spec.overhead and not _equal(spec.overhead, fixed):
                raise request.forbidden(
                    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
                )
            spec = change(spec, overhead=dict(fixed))
        if found.scheduling is not None:
            spec = _steered(request, spec, found.scheduling)
        return change(pod, spec=spec)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        pod: Pod = request.object
        if not pod.spec.overhead:
            return
        found = _class_of(request, objects)
        if found is None or found.overhead is None or not found.overhead.pod_fixed:
            raise request.forbidden(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )


def _class_of(request: AdmissionRequest, objects: Objects) -> RuntimeClass | None:
    name = request.object.spec.runtime_class_name
    if not name:
        return None
    found = objects.get(RuntimeClass, name)
    if found is None:
        raise request.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
    return found


def _equal(left: Mapping[str, str], right: Mapping[str, str]) -> bool:
    return left.keys() == right.keys() and all(parse(left[name]) == parse(right[name]) for name in left)


def _steered(request: AdmissionRequest, spec: PodSpec, scheduling: Scheduling) -> PodSpec:
    for key, value in scheduling.node_selector.items():
        own = spec.node_selector.get(key, value)
        if own != value:
            raise request.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own}"
            )
    missing = tuple(each for each in scheduling.tolerations if each not in spec.tolerations)
    return change(
        spec,
        node_selector={**spec.node_selector, **scheduling.node_selector},
        tolerations=(*spec.tolerations, *missing),
    )
