"""NamespaceLifecycle: nothing is created in a namespace that does not exist or is going away.

Upstream: ``apiserver/pkg/admission/plugin/namespace/lifecycle``.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.api.core_v1 import Namespace
from podling.api.meta_v1 import StatusCause, StatusDetails
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource

IMMORTAL = ("default", "kube-system", "kube-public")
"""Namespaces that cannot be deleted."""

_ACCESS_REVIEW = ("authorization.k8s.io", "localsubjectaccessreviews")


class NamespaceLifecycle(Plugin):
    name = "NamespaceLifecycle"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if (resource.group, resource.plural) == ("", "namespaces"):
            return operation is Operation.DELETE
        if (resource.group, resource.plural) == _ACCESS_REVIEW:
            return False
        return resource.namespaced and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        namespace = objects.get(Namespace, request.namespace)
        if namespace is None:
            raise errors.not_found("namespaces", "", request.namespace)
        if request.operation is Operation.CREATE and namespace.status.phase == "Terminating":
            raise _terminating(request)
        return request.object

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        if request.operation is Operation.DELETE and request.name in IMMORTAL:
            raise request.forbidden("this namespace may not be deleted")


def _terminating(request: AdmissionRequest) -> ApiError:
    name = request.namespace
    refusal = request.forbidden(
        f"unable to create new content in namespace {name} because it is being terminated"
    )
    cause = StatusCause(
        reason="NamespaceTerminating",
        message=f"namespace {name} is being terminated",
        field_="metadata.namespace",
    )
    details = structs.replace(refusal.status.details or StatusDetails(), causes=(cause,))
    return ApiError(structs.replace(refusal.status, details=details))
