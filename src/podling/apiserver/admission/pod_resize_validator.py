"""PodResizeValidator: a resize that the pod's node can never grant is refused at once.

Upstream: ``plugin/pkg/admission/podresize``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import StatusCause, StatusDetails
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.machinery.errors import ApiError
from podling.machinery.pods import pod_requests
from podling.machinery.quantity import ZERO, Quantity, parse
from podling.machinery.scheme import Resource

OS_LABEL = "kubernetes.io/os"


class PodResizeValidator(Plugin):
    name = "PodResizeValidator"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        pods = (resource.group, resource.plural) == ("", "pods")
        return operation is Operation.UPDATE and pods and subresource == "resize"

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        pod: Pod = request.object
        name = pod.spec.node_name
        if not name or pod.spec == request.old.spec:
            return
        node = objects.get(Node, name)
        if node is None:
            raise request.forbidden(f'node "{name}" not found')
        system = node.metadata.labels.get(OS_LABEL, "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _because(request.forbidden(why), "UnsupportedPlatform")
        if beyond := _beyond(pod_requests(pod.spec), node.status.allocatable):
            why = f"node didn't have enough allocatable resources: {'; '.join(beyond)}"
            raise _because(request.forbidden(why), "NodeCapacity")


def _beyond(requests: Mapping[str, Quantity], allocatable: Mapping[str, str]) -> list[str]:
    """Return messages about the resources of which the pod requests more than the node can allocate."""
    cpu, most_cpu = requests.get("cpu", ZERO), parse(allocatable.get("cpu", "0"))
    memory, most_memory = requests.get("memory", ZERO), parse(allocatable.get("memory", "0"))
    found = []
    if cpu > most_cpu:
        found.append(f"cpu, requested: {cpu.milli_value}, allocatable: {most_cpu.milli_value}")
    if memory > most_memory:
        found.append(f"memory, requested: {memory.value}, allocatable: {most_memory.value}")
    return found


def _because(error: ApiError, reason: str) -> ApiError:
    """Return the error with a cause: autoscalers distinguish the two reasons by it."""
    details = structs.replace(error.status.details or StatusDetails(), causes=(StatusCause(reason=reason),))
    return ApiError(structs.replace(error.status, details=details))
