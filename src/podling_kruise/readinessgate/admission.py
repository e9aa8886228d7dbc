"""Gives new pods of OpenKruise's workloads the readiness gate. Upstream: ``pkg/webhook/pod/mutating``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.core_v1 import Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.controllers.owner_references import controller_of
from podling.machinery.scheme import Resource
from podling_kruise.names import GROUP, POD_READINESS_GATE
from podling_kruise.pod_readiness import with_readiness_gate


class ReadinessGateAdmission(Plugin):
    """Args: ``gates``: the feature gates; one of them gives every pod the readiness gate."""

    name = "KruisePodReadinessGate"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        created = operation is Operation.CREATE and not subresource
        return created and (resource.group, resource.plural) == ("", "pods")

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        pod: Pod = request.object
        owner = controller_of(pod)
        is_ours = owner is not None and (owner.api_version or "").partition("/")[0] == GROUP
        return with_readiness_gate(pod) if is_ours or self._gates[POD_READINESS_GATE] else pod
