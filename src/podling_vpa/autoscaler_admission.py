"""Admission of VerticalPodAutoscalers: the default update policy, validation and warnings.

Upstream: ``admission-controller/resource/vpa/handler.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.client.typed_kinds import typed
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.scheme import Resource
from podling_vpa.names import GROUP, RECREATE
from podling_vpa.types import VerticalPodAutoscaler
from podling_vpa.validation import autoscaler_errors, autoscaler_warnings

PLURAL = "verticalpodautoscalers"


class AutoscalerAdmission(Plugin):
    """Args: ``gates``: the feature gates."""

    name = "VerticalPodAutoscaler"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        is_write = operation in (Operation.CREATE, Operation.UPDATE)
        return is_write and (resource.group, resource.plural) == (GROUP, PLURAL) and not subresource

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        spec = obj.content.get("spec")
        if not isinstance(spec, dict) or spec.get("updatePolicy") is not None:
            return obj
        spec = {**spec, "updatePolicy": {"updateMode": RECREATE}}
        return structs.replace(obj, content={**obj.content, "spec": spec})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        new = typed(request.object, VerticalPodAutoscaler)
        old = typed(request.old, VerticalPodAutoscaler) if request.old is not None else None
        found = autoscaler_errors(new, old, self._gates)
        request.warnings.extend(autoscaler_warnings(new, old))
        if found:
            raise errors.invalid(request.kind, GROUP, new.metadata.name or "", found)
