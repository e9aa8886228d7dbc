"""Priority: a pod's priority comes from its PriorityClass and from nowhere else.

Upstream: ``plugin/pkg/admission/priority``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Pod
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.kinds.common.filling import change
from podling.machinery.scheme import Resource

PREEMPT = "PreemptLowerPriority"
_PODS = ("", "pods")
_CLASSES = ("scheduling.k8s.io", "priorityclasses")


class Priority(Plugin):
    name = "Priority"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if subresource or operation not in (Operation.CREATE, Operation.UPDATE):
            return False
        return (resource.group, resource.plural) in (_PODS, _CLASSES)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        if request.resource.plural != "pods":
            return request.object
        if request.operation is Operation.UPDATE:
            return _kept(request.object, request.old)
        return await _classified(request, objects)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        if request.resource.plural != "priorityclasses" or not request.object.global_default:
            return
        for other in await objects.list(PriorityClass):
            if other.global_default and other.metadata.name != request.name:
                raise request.forbidden(
                    f"PriorityClass {other.metadata.name} is already marked as default. "
                    "Only one default can exist"
                )


def _kept(new: Pod, old: Pod) -> Pod:
    """An update that leaves the computed fields out does not mean to remove them."""
    spec = new.spec
    if spec.priority is None and old.spec.priority is not None:
        spec = change(spec, priority=old.spec.priority)
    if spec.preemption_policy is None and old.spec.preemption_policy is not None:
        spec = change(spec, preemption_policy=old.spec.preemption_policy)
    return change(new, spec=spec)


async def _classified(request: AdmissionRequest, objects: Objects) -> Pod:
    pod: Pod = request.object
    name = pod.spec.priority_class_name
    found = objects.get(PriorityClass, name) if name else await _default_class(objects)
    if name and found is None:
        raise request.forbidden(f"no PriorityClass with name {name} was found")
    value = (found.value or 0) if found is not None else 0
    policy = (found.preemption_policy if found is not None else None) or PREEMPT
    if pod.spec.priority is not None and pod.spec.priority != value:
        raise request.forbidden(
            f"the integer value of priority ({pod.spec.priority}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
    if pod.spec.preemption_policy is not None and pod.spec.preemption_policy != policy:
        raise request.forbidden(
            f"the string value of PreemptionPolicy ({pod.spec.preemption_policy}) must not be provided in "
            f"pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        )
    class_name = found.metadata.name if found is not None else name
    spec = change(pod.spec, priority_class_name=class_name, priority=value, preemption_policy=policy)
    return change(pod, spec=spec)


async def _default_class(objects: Objects) -> PriorityClass | None:
    """Return the class for pods that name none. Of several marked as default the lowest counts."""
    lowest: PriorityClass | None = None
    for found in await objects.list(PriorityClass):
        if found.global_default and (lowest is None or (found.value or 0) < (lowest.value or 0)):
            lowest = found
    return lowest
