"""DefaultTolerationSeconds: pods outlive a node's silence for five minutes unless they say otherwise.

Upstream: ``plugin/pkg/admission/defaulttolerationseconds``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Pod, Toleration
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.kinds.common.filling import change
from podling.machinery.scheme import Resource

SECONDS = 300
TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
TOLERATIONS = tuple(
    Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=SECONDS) for key in TAINTS
)


class DefaultTolerationSeconds(Plugin):
    name = "DefaultTolerationSeconds"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        written = operation in (Operation.CREATE, Operation.UPDATE)
        return written and (resource.group, resource.plural) == ("", "pods") and not subresource

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        pod: Pod = request.object
        own = pod.spec.tolerations
        added = TOLERATIONS
        if own:
            added = tuple(each for each in TOLERATIONS if not _has_opinion(own, each.key or ""))
        return change(pod, spec=change(pod.spec, tolerations=(*own, *added))) if added else pod


def _has_opinion(tolerations: tuple[Toleration, ...], key: str) -> bool:
    return any(
        (not toleration.key or toleration.key == key)
        and (not toleration.effect or toleration.effect == "NoExecute")
        for toleration in tolerations
    )
