"""Admission of CloneSets: defaults, and validation of what a schema cannot say.

Upstream: ``pkg/webhook/cloneset`` and ``SetDefaultsCloneSetV1beta1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.api.core_v1 import PersistentVolumeClaim, Pod, PodTemplate
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.client.typed_kinds import typed
from podling.machinery import errors, fields
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.fields import FieldError
from podling.machinery.scheme import Resource, resource_of
from podling_kruise.cloneset.clone_set_validation import (
    STRATEGY,
    pods_to_delete_errors,
    spec_errors,
    template_with_claims,
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
from podling_kruise.names import GROUP, TEMPLATE_NO_DEFAULTS

REVISIONS = 10


class CloneSetAdmission(Plugin):
    """Args: ``gates``: the feature gates."""

    name = "CloneSet"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._server: Server

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ours = (resource.group, resource.plural) == (GROUP, "clonesets")
        return ours and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        spec = obj.content.get("spec")
        if not isinstance(spec, dict):
            return obj
        flat = obj.api_version != BETA
        strategy = _flat_strategy(spec) if flat else _strategy(spec)
        defaults = {"replicas": 1, "revisionHistoryLimit": REVISIONS}
        made = {**defaults, **spec, "updateStrategy": strategy}
        old = request.old.content.get("spec", {}) if request.old is not None else {}
        if spec.get("template") != old.get("template") and not self._gates[TEMPLATE_NO_DEFAULTS]:
            made |= self._filled(request, spec)
        return obj if made == spec else structs.replace(obj, content={**obj.content, "spec": made})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        obj: CustomObject = request.object
        flat = obj.api_version != BETA
        found = _flat_errors(obj) if flat else []
        new = _typed(obj)
        found += spec_errors(new.spec, flat=flat)
        found += self._template_errors(new, request)
        old = _typed(request.old) if request.old is not None else None
        if old is not None and obj.metadata.deletion_timestamp is None:
            found += update_errors(new, old)
        if flat:
            found += self._doomed_errors(new, old, objects)
        if found:
            raise errors.invalid(request.kind, GROUP, obj.metadata.name or "", found)

    def _filled(self, request: AdmissionRequest, spec: dict[str, Any]) -> dict[str, Any]:
        """Return template and claims with the defaults of pods and claims."""
        made: dict[str, Any] = {}
        template = spec.get("template")
        if isinstance(template, dict):
            kind, unknown = codec.convert({"template": template}, PodTemplate)
            _report(request, [text.replace('"template', '"spec.template', 1) for text in unknown])
            filled = self._server.defaulted(kind, resource_of(PodTemplate))
            made["template"] = codec.to_plain(filled.template)
        claims = spec.get("volumeClaimTemplates")
        if isinstance(claims, list):
            made["volumeClaimTemplates"] = [self._claim(each) for each in claims]
        return made

    def _claim(self, plain: Any) -> dict[str, Any]:
        claim, _ = codec.convert(plain, PersistentVolumeClaim, "Ignore")
        filled = self._server.defaulted(claim, resource_of(PersistentVolumeClaim))
        found: dict[str, Any] = codec.to_plain(filled)
        return found

    def _template_errors(self, new: CloneSet, request: AdmissionRequest) -> list[FieldError]:
        """Return what validation of pod templates finds, under the template's path here."""
        template = PodTemplate(template=template_with_claims(new.spec))
        filled = self._server.defaulted(template, resource_of(PodTemplate))
        found = self._server.errors_in(filled, resource_of(PodTemplate), request.now)
        return [FieldError(each.type, f"spec.{each.field}", each.value, each.detail) for each in found]

    def _doomed_errors(self, new: CloneSet, old: CloneSet | None, objects: Objects) -> list[FieldError]:
        known = old.spec.scale_strategy.pods_to_delete if old is not None else ()
        names = set(new.spec.scale_strategy.pods_to_delete) - set(known)
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
    given = spec.get("updateStrategy") or {}
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


def _report(request: AdmissionRequest, unknown: list[str]) -> None:
    """Warn of unknown fields in a template, or refuse them: its schema is open. Raises 400."""
    validation = getattr(request.options, "field_validation", "Warn")
    if unknown and validation == "Strict":
        head = f'{request.kind} in version "{request.resource.version}" cannot be handled as a {request.kind}'
        raise errors.bad_request(f"{head}: strict decoding error: {', '.join(unknown)}")
    if validation == "Warn":
        request.warnings.extend(unknown)
