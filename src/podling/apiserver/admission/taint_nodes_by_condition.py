"""TaintNodesByCondition: a new node takes no pods until it is found to be ready.

Upstream: ``plugin/pkg/admission/nodetaint``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Node, Taint
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.kinds.common.filling import change
from podling.machinery.scheme import Resource

NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")


class TaintNodesByCondition(Plugin):
    name = "TaintNodesByCondition"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return (
            operation is Operation.CREATE
            and (resource.group, resource.plural) == ("", "nodes")
            and not subresource
        )

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        node: Node = request.object
        if any((taint.key, taint.effect) == (NOT_READY.key, NOT_READY.effect) for taint in node.spec.taints):
            return node
        return change(node, spec=change(node.spec, taints=(*node.spec.taints, NOT_READY)))
