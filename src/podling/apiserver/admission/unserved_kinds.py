"""Kinds that can be stored but that nothing in this cluster acts on: creating one is answered with a warning.

No manifest may be ignored in silence. A row says what does not happen; when a controller or an extension
point lands, its row is deleted.
"""

from __future__ import annotations

from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.machinery.scheme import Resource

_NO_DEVICES = "devices are not allocated"
_NO_DRIVER = "volumes of drivers are not mounted"

UNSERVED: dict[tuple[str, str], str] = {
    ("networking.k8s.io", "ingresses"): "nothing listens for it",
    ("resource.k8s.io", "deviceclasses"): _NO_DEVICES,
    ("resource.k8s.io", "resourceclaims"): _NO_DEVICES,
    ("resource.k8s.io", "resourceclaimtemplates"): _NO_DEVICES,
    ("resource.k8s.io", "resourceslices"): _NO_DEVICES,
    ("storage.k8s.io", "csidrivers"): _NO_DRIVER,
    ("storage.k8s.io", "volumeattachments"): _NO_DRIVER,
    ("storage.k8s.io", "volumeattributesclasses"): _NO_DRIVER,
}
"""(group, plural) to what a user would expect and does not get."""


class UnservedKinds(Plugin):
    name = "UnservedKinds"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        known = (resource.group, resource.plural) in UNSERVED
        return known and operation is Operation.CREATE and not subresource

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        why = UNSERVED[request.resource.group, request.resource.plural]
        request.warnings.append(f"{request.resource.group_resource}: not honoured by this cluster: {why}")
