"""PodTopologyLabels: a bound pod carries its node's zone and region, where its containers can read them.

Upstream: ``plugin/pkg/admission/podtopologylabels``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Binding, Node
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.kinds.common.filling import change
from podling.machinery.scheme import Resource

LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(Plugin):
    name = "PodTopologyLabels"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if operation is not Operation.CREATE or resource.group:
            return False
        return (resource.plural, subresource) in (("pods", "binding"), ("bindings", ""))

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        binding: Binding = request.object
        if binding.target.kind not in (None, "", "Node") or not binding.target.name:
            return binding
        node = objects.get(Node, binding.target.name)
        labels = node.metadata.labels if node is not None else {}
        found = {key: labels[key] for key in LABELS if key in labels}
        if not found:
            return binding
        metadata = change(binding.metadata, labels={**binding.metadata.labels, **found})
        return change(binding, metadata=metadata)
