"""Kinds that can be stored but that nothing in this cluster acts on: creating one is answered with a warning.

No manifest may be ignored in silence. A row says what does not happen; when a controller or an extension
point lands, its row is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.core_v1 import PodSpec
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.apiserver.admission.pod_security import pod_spec_of
from podling.machinery.feature_gates import is_enabled
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

_POD_GROUPS = ("scheduling.k8s.io", "v1alpha2", "podgroups")


class UnservedKinds(Plugin):
    """Warns about such kinds, and about fields of pods that have no effect without a feature gate."""

    name = "UnservedKinds"

    def __init__(self) -> None:
        self._groups_are_served = False
        self._bundles_are_projected = False

    def initialize(self, server: Server) -> None:
        self._groups_are_served = server.by_path(*_POD_GROUPS) is not None
        self._bundles_are_projected = is_enabled("ClusterTrustBundleProjection", server.feature_gates)

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if operation is not Operation.CREATE or subresource:
            return False
        kind = (resource.group, resource.plural)
        honours_all = self._groups_are_served and self._bundles_are_projected
        return kind in UNSERVED or (kind in POD_SPECS and not honours_all)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        kind = (request.resource.group, request.resource.plural)
        if why := UNSERVED.get(kind):
            request.warnings.append(f"{request.resource.group_resource}: not honoured by this cluster: {why}")
            return
        spec = pod_spec_of(request.object)
        for field in self._fields_without_effect(spec) if spec is not None else ():
            request.warnings.append(f"{POD_SPECS[kind]}.{field}: not honoured by this cluster")

    def _fields_without_effect(self, spec: PodSpec) -> Iterator[str]:
        if spec.scheduling_group is not None and not self._groups_are_served:
            yield "schedulingGroup"
        for number, volume in enumerate(spec.volumes if not self._bundles_are_projected else ()):
            for position, source in enumerate(volume.projected.sources if volume.projected else ()):
                if source.cluster_trust_bundle is not None:
                    yield f"volumes[{number}].projected.sources[{position}].clusterTrustBundle"


_TEMPLATE = "spec.template.spec"
POD_SPECS: dict[tuple[str, str], str] = {
    ("", "pods"): "spec",
    ("", "replicationcontrollers"): _TEMPLATE,
    ("apps", "daemonsets"): _TEMPLATE,
    ("apps", "deployments"): _TEMPLATE,
    ("apps", "replicasets"): _TEMPLATE,
    ("apps", "statefulsets"): _TEMPLATE,
    ("batch", "cronjobs"): f"spec.jobTemplate.{_TEMPLATE}",
    ("batch", "jobs"): _TEMPLATE,
}
"""(group, plural) of the kinds that have the specification of a pod, and where."""
