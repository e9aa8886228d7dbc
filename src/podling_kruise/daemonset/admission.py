"""Admission of Advanced DaemonSets: defaults, and validation of what a schema cannot say.

Upstream: ``pkg/webhook/daemonset`` and ``SetDefaultsDaemonSetV1beta1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.apiserver.admission.base import AdmissionRequest, Objects
from podling.client.typed_kinds import typed
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomObject
from podling_kruise.daemonset.conversion import BETA, convert
from podling_kruise.daemonset.daemon_set_validation import spec_errors, update_errors
from podling_kruise.daemonset.types import BURST, STANDARD, DaemonSet
from podling_kruise.names import GROUP
from podling_kruise.policies import RECREATE, ROLLING_UPDATE, as_rolling
from podling_kruise.template_admission import TemplateAdmission

REVISIONS = 10
_TYPE = "rollingUpdateType"


class DaemonSetAdmission(TemplateAdmission):
    name = "AdvancedDaemonSet"
    plural = "daemonsets"

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        spec = obj.content.get("spec")
        if not isinstance(spec, dict):
            return obj
        defaults = {"burstReplicas": BURST, "revisionHistoryLimit": REVISIONS}
        made = {**defaults, **spec, "updateStrategy": _strategy(spec)}
        made |= self.filled(request, spec)
        return obj if made == spec else structs.replace(obj, content={**obj.content, "spec": made})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        obj: CustomObject = request.object
        new = _typed(obj)
        found = spec_errors(new.spec)
        found += self.template_errors(new.spec.template, (), request)
        if request.old is not None and obj.metadata.deletion_timestamp is None:
            found += update_errors(new, _typed(request.old))
        if found:
            raise errors.invalid(request.kind, GROUP, obj.metadata.name or "", found)


def _typed(obj: CustomObject) -> DaemonSet:
    return typed(obj if obj.api_version == BETA else convert(obj, BETA), DaemonSet)


def _strategy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the strategy with its defaults; one whose type is a policy for pods as a rolling update."""
    given = as_rolling(spec.get("updateStrategy") or {}, _TYPE, {RECREATE: STANDARD})
    made = {"type": ROLLING_UPDATE, **given}
    if made["type"] != ROLLING_UPDATE:
        return made
    rolling = {_TYPE: STANDARD, **(made.get("rollingUpdate") or {})}
    if rolling.get(_TYPE) == RECREATE:
        rolling[_TYPE] = STANDARD
    if rolling.get("maxUnavailable") is None and rolling.get("maxSurge") is None:
        rolling |= {"maxUnavailable": 1, "maxSurge": 0}
    return {**made, "rollingUpdate": rolling}
