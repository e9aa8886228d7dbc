"""Admission of ContainerRecreateRequests. Upstream: ``pkg/webhook/containerrecreaterequest/mutating``."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.api.core_v1 import Node, Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.client.typed_kinds import typed
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.scheme import Resource
from podling_kruise.names import GROUP
from podling_kruise.recreate.request_rules import (
    Refused,
    check_pod,
    check_spec,
    filled,
    immutability_problem,
)
from podling_kruise.recreate.types import ContainerRecreateRequest


class RecreateAdmission(Plugin):
    """A request takes from its pod what the containers are at that moment, and is immutable from then on."""

    name = "ContainerRecreateRequest"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ours = (resource.group, resource.plural) == (GROUP, "containerrecreaterequests")
        return ours and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        """Return the request with what it takes from its pod. Raises 400 for a wrong one."""
        obj: CustomObject = request.object
        if request.operation is not Operation.CREATE:
            return obj
        wanted = typed(obj, ContainerRecreateRequest)
        try:
            check_spec(wanted.spec)
            made = filled(wanted, *_pod_and_node(wanted, request.namespace, objects))
        except Refused as error:
            raise errors.bad_request(str(error)) from error
        content = {**obj.content, "spec": codec.to_plain(made)["spec"]}
        metadata = structs.replace(obj.metadata, labels=made.metadata.labels)
        return structs.replace(obj, metadata=metadata, content=content)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """Refuse a change of what is immutable. Raises 403."""
        if request.operation is Operation.UPDATE:
            problem = immutability_problem(request.object, request.old)
            if problem:
                raise request.forbidden(problem)


def _pod_and_node(wanted: ContainerRecreateRequest, namespace: str, objects: Objects) -> tuple[Pod, Node]:
    pod = objects.get(Pod, wanted.spec.pod_name, namespace)
    if pod is None:
        raise Refused(f"no found Pod named {wanted.spec.pod_name}")
    check_pod(pod)
    name = pod.spec.node_name or ""
    node = objects.get(Node, name)
    if node is None:
        raise Refused(f'failed to get Node {name}: Node "{name}" not found')
    return pod, node
