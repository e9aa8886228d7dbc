"""Protection of objects from deletion, by the label ``policy.kruise.io/delete-protection``.

``Always`` refuses every deletion; ``Cascading`` refuses that of an object which still has others: a workload
with replicas, a namespace with active pods or bound claims, a definition with custom objects.
Upstream: ``pkg/webhook/util/deletionprotection``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.controllers.pod_state import is_active
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.scheme import Resource
from podling_kruise.names import CRD_CASCADING, DELETION_PROTECTION, DELETION_PROTECTION_GATE, GROUP

ALWAYS, CASCADING = "Always", "Cascading"
WORKLOADS = {
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    (GROUP, "clonesets"),
    (GROUP, "statefulsets"),
}
WITHOUT_PARTS = {("", "services"), ("networking.k8s.io", "ingresses")}
"""Kinds that own nothing: only ``Always`` protects them."""
NAMESPACES = ("", "namespaces")
DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
_KINDS = {*WORKLOADS, *WITHOUT_PARTS, NAMESPACES, DEFINITIONS}


class DeletionProtection(Plugin):
    """Args: ``gates``: the feature gates."""

    name = "ResourcesDeletionProtection"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._server: Server

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if operation is not Operation.DELETE or subresource or not self._gates[DELETION_PROTECTION_GATE]:
            return False
        return (resource.group, resource.plural) in _KINDS

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """Refuse the deletion of a protected object. Raises 403."""
        held = request.old
        if held is None or held.metadata.deletion_timestamp is not None:
            return
        protection = held.metadata.labels.get(DELETION_PROTECTION, "")
        head = f"forbidden by ResourcesProtectionDeletion for {DELETION_PROTECTION}={protection}"
        if protection == ALWAYS:
            raise request.forbidden(head)
        if protection == CASCADING and (why := await self._parts(request, objects, head)):
            raise request.forbidden(why)

    async def _parts(self, request: AdmissionRequest, objects: Objects, head: str) -> str:
        """Return the reason why an object that still has others must not be deleted; empty if it has none."""
        kind = (request.resource.group, request.resource.plural)
        if kind in WORKLOADS:
            replicas = replicas_of(request.old)
            return f"{head} and replicas {replicas}>0" if replicas > 0 else ""
        if kind == NAMESPACES:
            return await _namespace_parts(request.old.metadata.name, objects, head)
        if kind == DEFINITIONS:
            return await self._custom_objects(request.old, objects, head)
        return ""

    async def _custom_objects(self, definition: Any, objects: Objects, head: str) -> str:
        if not self._gates[CRD_CASCADING]:
            return f"feature-gate {CRD_CASCADING} is not enabled"
        spec = definition.spec
        stored = next(each.name for each in spec.versions if each.storage)
        resource = self._server.resource(spec.group, stored, spec.names.kind)
        found = await objects.list(resource.type) if resource is not None else ()
        active = sum(each.metadata.deletion_timestamp is None for each in found)
        return f"{head} and active CRs {active}>0" if active else ""


def replicas_of(workload: Any) -> int:
    """Return the desired number of a workload's pods; without one, that is left to its default: none."""
    if isinstance(workload, CustomObject):
        spec = workload.content.get("spec")
        found = spec.get("replicas") if isinstance(spec, dict) else None
    else:
        found = workload.spec.replicas
    return found if isinstance(found, int) else 0


async def _namespace_parts(name: str, objects: Objects, head: str) -> str:
    active = sum(is_active(pod) for pod in await objects.list(Pod, name))
    if active:
        return f"{head} and active pods {active}>0"
    claims = await objects.list(PersistentVolumeClaim, name)
    bound = sum(each.metadata.deletion_timestamp is None and each.status.phase == "Bound" for each in claims)
    return f'{head} and "Bound" status pvc {bound}>0' if bound else ""
