"""Defaults and protection of claims, volumes and ingresses: default classes, and finalizers.

Upstream: ``plugin/pkg/admission/storage/storageclass/setdefault``,
``plugin/pkg/admission/network/defaultingressclass``,
``plugin/pkg/admission/storage/persistentvolume/resize`` and
``plugin/pkg/admission/storage/storageobjectinuseprotection``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from podling.api.core_v1 import PersistentVolumeClaim
from podling.api.networking_v1 import Ingress, IngressClass
from podling.api.storage_v1 import StorageClass
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.kinds.common.filling import change
from podling.machinery.quantity import parse
from podling.machinery.scheme import Resource
from podling.machinery.storage_classes import class_of, default_class, has_class

DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"
INGRESS_CLASS_ANNOTATION = "kubernetes.io/ingress.class"

_NEVER = datetime.min.replace(tzinfo=UTC)
_NOT_EXPANDABLE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
    "support resize"
)


PROTECTION = {
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
}
"""The finalizer of each kind that is not to vanish under its users; controllers take it away."""


class StorageObjectInUseProtection(Plugin):
    name = "StorageObjectInUseProtection"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        known = (resource.group, resource.plural) in PROTECTION
        return operation is Operation.CREATE and known and not subresource

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        """Return the finalizer that its controller would give it in a moment, given at once."""
        metadata = request.object.metadata
        finalizer = PROTECTION[request.resource.group, request.resource.plural]
        if finalizer in metadata.finalizers:
            return request.object
        return change(request.object, metadata=change(metadata, finalizers=(*metadata.finalizers, finalizer)))


class DefaultStorageClass(Plugin):
    name = "DefaultStorageClass"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        claims = (resource.group, resource.plural) == ("", "persistentvolumeclaims")
        return operation is Operation.CREATE and claims and not subresource

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        claim: PersistentVolumeClaim = request.object
        if has_class(claim):
            return claim
        chosen = default_class(await objects.list(StorageClass))
        if chosen is None:
            return claim
        return change(claim, spec=change(claim.spec, storage_class_name=chosen.metadata.name))


class DefaultIngressClass(Plugin):
    name = "DefaultIngressClass"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ingresses = (resource.group, resource.plural) == ("networking.k8s.io", "ingresses")
        return operation is Operation.CREATE and ingresses and not subresource

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        ingress: Ingress = request.object
        if ingress.spec.ingress_class_name is not None:
            return ingress
        if INGRESS_CLASS_ANNOTATION in ingress.metadata.annotations:
            return ingress
        marked = [
            each
            for each in await objects.list(IngressClass)
            if each.metadata.annotations.get(DEFAULT_INGRESS_CLASS) == "true"
        ]
        if not marked:
            return ingress
        newest = max(marked, key=lambda each: each.metadata.creation_timestamp or _NEVER)
        return change(ingress, spec=change(ingress.spec, ingress_class_name=newest.metadata.name))


class PersistentVolumeClaimResize(Plugin):
    name = "PersistentVolumeClaimResize"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        claims = (resource.group, resource.plural) == ("", "persistentvolumeclaims")
        return operation is Operation.UPDATE and claims and not subresource

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        new, old = _storage(request.object), _storage(request.old)
        if parse(new) <= parse(old):
            return
        claim: PersistentVolumeClaim = request.old
        if claim.status.phase != "Bound":
            raise request.forbidden("Only bound persistent volume claims can be expanded")
        name = class_of(claim)
        found = objects.get(StorageClass, name) if name and name == class_of(request.object) else None
        if found is None or not found.allow_volume_expansion:
            raise request.forbidden(_NOT_EXPANDABLE)


def _storage(claim: PersistentVolumeClaim) -> str:
    return claim.spec.resources.requests.get("storage", "0")
