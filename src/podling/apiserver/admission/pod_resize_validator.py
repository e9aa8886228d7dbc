"""PodResizeValidator: a resize that the pod's node can never grant is refused at once.

Upstream: ``plugin/pkg/admission/podresize``.
"""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import StatusCause, StatusDetails
from podling.apiserver.admission.base import Objects, Operation, Plugin, Request
from podling.machinery.errors import ApiError
from podling.machinery.pods import pod_requests
from podling.machinery.quantity import ZERO, parse
from podling.machinery.scheme import Resource


class PodResizeValidator(Plugin):
    name = "PodResizeValidator"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        pods = (resource.group, resource.plural) == ("", "pods")
        return operation is Operation.UPDATE and pods and subresource == "resize"

    async def validate(self, request: Request, objects: Objects) -> None:
        pod: Pod = request.object
        node = objects.get(Node, pod.spec.node_name) if pod.spec.node_name else None
        if node is None:
            return
        system = node.status.node_info.operating_system
        if system and system != "linux":
            text = f"in-place resize is not supported on {system} nodes"
            raise _with_cause(request.forbidden(text), "UnsupportedPlatform", text)
        before = pod_requests(request.old.spec)
        for name, wanted in pod_requests(pod.spec).items():
            if name not in ("cpu", "memory") or wanted <= before.get(name, ZERO):
                continue
            allocatable = parse(node.status.allocatable.get(name, "0"))
            if wanted > allocatable:
                text = (
                    f"node didn't have enough allocatable resources: {name}, "
                    f"requested: {_shown(name, wanted)}, allocatable: {_shown(name, allocatable)}"
                )
                raise _with_cause(request.forbidden(text), "NodeCapacity", text)


def _shown(name: str, amount: object) -> int:
    value = parse(str(amount))
    return value.milli_value if name == "cpu" else value.value


def _with_cause(error: ApiError, reason: str, message: str) -> ApiError:
    details = structs.replace(
        error.status.details or StatusDetails(), causes=(StatusCause(reason=reason, message=message),)
    )
    return ApiError(structs.replace(error.status, details=details))
