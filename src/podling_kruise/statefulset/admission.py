"""Admission of Advanced StatefulSets: defaults, and validation of what a schema cannot say.

Upstream: ``pkg/webhook/statefulset`` and ``SetDefaultsStatefulSet``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.api.storage_v1 import StorageClass
from podling.apiserver.admission.base import AdmissionRequest, Objects
from podling.client.typed_kinds import typed
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomObject
from podling_kruise.names import AUTO_RESIZE_CLAIMS, GROUP
from podling_kruise.policies import IN_PLACE, RECREATE, ROLLING_UPDATE, as_rolling, with_gate_in
from podling_kruise.statefulset.claim_validation import claim_template_errors
from podling_kruise.statefulset.conversion import BETA, convert
from podling_kruise.statefulset.stateful_set_validation import ORDERED, spec_errors, update_errors
from podling_kruise.statefulset.types import ON_CLAIM_DELETE, StatefulSet
from podling_kruise.template_admission import TemplateAdmission

REVISIONS = 10
KEEP = {"whenDeleted": "Retain", "whenScaled": "Retain"}


class StatefulSetAdmission(TemplateAdmission):
    name = "AdvancedStatefulSet"
    plural = "statefulsets"

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        given = obj.content.get("spec")
        if not isinstance(given, dict):
            return obj
        spec = _with_policy(given)
        defaults: dict[str, Any] = {
            "replicas": 1,
            "revisionHistoryLimit": REVISIONS,
            "podManagementPolicy": ORDERED,
        }
        made = {**defaults, **spec, "updateStrategy": _strategy(spec)}
        if obj.api_version == BETA:
            policy = spec.get("persistentVolumeClaimRetentionPolicy") or {}
            made["persistentVolumeClaimRetentionPolicy"] = {**KEEP, **policy}
            if self._gates[AUTO_RESIZE_CLAIMS]:
                strategy = spec.get("volumeClaimUpdateStrategy") or {}
                made["volumeClaimUpdateStrategy"] = {"type": ON_CLAIM_DELETE, **strategy}
        made |= self.filled(request, spec)
        return obj if made == given else structs.replace(obj, content={**obj.content, "spec": made})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        obj: CustomObject = request.object
        new = _typed(obj)
        found = spec_errors(new.spec)
        found += self.template_errors(new.spec.template, new.spec.volume_claim_templates, request)
        if request.old is not None and obj.metadata.deletion_timestamp is None:
            found += update_errors(new, _typed(request.old))
            if not found and self._gates[AUTO_RESIZE_CLAIMS]:
                classes = await objects.list(StorageClass)
                found = claim_template_errors(new.spec, _typed(request.old).spec, classes)
        if found:
            raise errors.invalid(request.kind, GROUP, obj.metadata.name or "", found)


def _typed(obj: CustomObject) -> StatefulSet:
    return typed(obj if obj.api_version == BETA else convert(obj, BETA), StatefulSet)


def _with_policy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec with a rolling update where its strategy's type is a policy for pods.

    The readiness gate, which the policy needs, comes with it.
    """
    strategy = spec.get("updateStrategy") or {}
    rolling = as_rolling(strategy, "podUpdatePolicy", {})
    made = {**spec, "updateStrategy": rolling}
    if rolling != strategy and rolling["rollingUpdate"]["podUpdatePolicy"] in IN_PLACE:
        made["template"] = with_gate_in(spec.get("template"))
    return made


def _strategy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the strategy with its defaults."""
    made = {"type": ROLLING_UPDATE, **spec["updateStrategy"]}
    if made["type"] == ROLLING_UPDATE:
        defaults = {"partition": 0, "maxUnavailable": 1, "podUpdatePolicy": RECREATE, "minReadySeconds": 0}
        made["rollingUpdate"] = {**defaults, **(made.get("rollingUpdate") or {})}
    return made
