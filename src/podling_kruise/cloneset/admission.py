"""Admission of CloneSets: defaults, and validation of what a schema cannot say.

Upstream: ``pkg/webhook/cloneset`` and ``SetDefaultsCloneSetV1beta1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects
from podling.client.typed_kinds import typed
from podling.machinery import errors, fields
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.fields import FieldError
from podling_kruise.cloneset.clone_set_validation import (
    STRATEGY,
    pods_to_delete_errors,
    spec_errors,
    update_errors,
)
from podling_kruise.cloneset.conversion import BETA, POLICIES, convert
from podling_kruise.cloneset.types import (
    IF_POSSIBLE,
    MAX_UNAVAILABLE,
    ONLY,
    RECREATE,
    ROLLING_UPDATE,
    CloneSet,
)
from podling_kruise.names import GROUP
from podling_kruise.policies import as_rolling
from podling_kruise.template_admission import TemplateAdmission

REVISIONS = 10


class CloneSetAdmission(TemplateAdmission):
    name = "CloneSet"
    plural = "clonesets"

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        spec = obj.content.get("spec")
        if not isinstance(spec, dict):
            return obj
        flat = obj.api_version != BETA
        strategy = _flat_strategy(spec) if flat else _strategy(spec)
        defaults = {"replicas": 1, "revisionHistoryLimit": REVISIONS}
        made = {**defaults, **spec, "updateStrategy": strategy}
        made |= self.filled(request, spec)
        return obj if made == spec else structs.replace(obj, content={**obj.content, "spec": made})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        obj: CustomObject = request.object
        flat = obj.api_version != BETA
        found = _flat_errors(obj) if flat else []
        new = _typed(obj)
        found += spec_errors(new.spec, flat=flat)
        found += self.template_errors(new.spec.template, new.spec.volume_claim_templates, request)
        old = _typed(request.old) if request.old is not None else None
        if old is not None and obj.metadata.deletion_timestamp is None:
            found += update_errors(new, old)
        if flat:
            found += self._doomed_errors(new, old, objects)
        if found:
            raise errors.invalid(request.kind, GROUP, obj.metadata.name or "", found)

    def _doomed_errors(self, new: CloneSet, old: CloneSet | None, objects: Objects) -> list[FieldError]:
        wanted = new.spec.scale_strategy.pods_to_delete
        if len(set(wanted)) < len(wanted):
            return []  # refused already
        names = set(wanted) - set(old.spec.scale_strategy.pods_to_delete if old is not None else ())
        namespace = new.metadata.namespace or ""
        pods = {name: pod for name in names if (pod := objects.get(Pod, name, namespace)) is not None}
        return pods_to_delete_errors(new, names, pods)


def _typed(obj: CustomObject) -> CloneSet:
    return typed(obj if obj.api_version == BETA else convert(obj, BETA), CloneSet)


def _flat_strategy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the strategy of ``v1alpha1`` with its defaults."""
    given = spec.get("updateStrategy") or {}
    made = {"type": RECREATE, **_numbers(), **given}
    if made["type"] in (IF_POSSIBLE, ONLY):
        made.setdefault("inPlaceUpdateStrategy", {})
    return made


def _strategy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the strategy of ``v1beta1`` with its defaults."""
    given = as_rolling(spec.get("updateStrategy") or {}, "podUpdatePolicy", {})
    made = {"type": ROLLING_UPDATE, **given}
    if made["type"] == ROLLING_UPDATE:
        rolling = {"podUpdatePolicy": RECREATE, **_numbers(), **(given.get("rollingUpdate") or {})}
        if rolling["podUpdatePolicy"] in (IF_POSSIBLE, ONLY):
            rolling.setdefault("inPlaceUpdateStrategy", {})
        made["rollingUpdate"] = rolling
    return made


def _numbers() -> dict[str, Any]:
    return {"partition": 0, "maxUnavailable": MAX_UNAVAILABLE, "maxSurge": 0}


def _flat_errors(obj: CustomObject) -> list[FieldError]:
    """Return an error for a type of strategy that ``v1alpha1`` does not have."""
    kind = ((obj.content.get("spec") or {}).get("updateStrategy") or {}).get("type")
    if kind in POLICIES:
        return []
    text = f"must be '{RECREATE}', {IF_POSSIBLE} or '{ONLY}'"
    return [fields.invalid(STRATEGY.child("type"), kind, text)]
