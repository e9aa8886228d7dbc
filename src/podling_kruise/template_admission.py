"""The base of admission plugins for kinds with a pod template: its defaults, and its validation.

Upstream: ``SetDefaultPodSpec`` of ``apis/apps/defaults``, and the validation of templates in ``pkg/webhook``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from podling.api.core_v1 import PersistentVolumeClaim, PodTemplate, PodTemplateSpec
from podling.apiserver.admission.base import AdmissionRequest, Operation, Plugin, Server
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.fields import FieldError
from podling.machinery.scheme import Resource, resource_of
from podling_kruise.names import GROUP, TEMPLATE_NO_DEFAULTS
from podling_kruise.template_validation import template_with_claims


class TemplateAdmission(Plugin):
    """Handles creations and updates of one kind.

    Args:
        gates: the feature gates.
    """

    plural: ClassVar[str]

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._server: Server

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ours = (resource.group, resource.plural) == (GROUP, self.plural)
        return ours and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    def filled(self, request: AdmissionRequest, spec: dict[str, Any]) -> dict[str, Any]:
        """Return template and claims with the defaults of pods and claims; nothing for an old template."""
        old = request.old.content.get("spec", {}) if request.old is not None else {}
        if spec.get("template") == old.get("template") or self._gates[TEMPLATE_NO_DEFAULTS]:
            return {}
        made: dict[str, Any] = {}
        template = spec.get("template")
        if isinstance(template, dict):
            unknown = codec.convert({"template": template}, PodTemplate)[1]
            report_unknown(request, [text.replace('"template', '"spec.template', 1) for text in unknown])
            made["template"] = self.filled_template(template)
        claims = spec.get("volumeClaimTemplates")
        if isinstance(claims, list):
            made["volumeClaimTemplates"] = [self._claim(each) for each in claims]
        return made

    def filled_template(self, template: dict[str, Any]) -> dict[str, Any]:
        """Return a pod template with the defaults of pods."""
        kind, _ = codec.convert({"template": template}, PodTemplate, "Ignore")
        filled = self._server.defaulted(kind, resource_of(PodTemplate))
        found: dict[str, Any] = codec.to_plain(filled.template)
        return found

    def _claim(self, plain: Any) -> dict[str, Any]:
        claim, _ = codec.convert(plain, PersistentVolumeClaim, "Ignore")
        filled = self._server.defaulted(claim, resource_of(PersistentVolumeClaim))
        found: dict[str, Any] = codec.to_plain(filled)
        return found

    def template_errors(
        self,
        template: PodTemplateSpec,
        claims: Iterable[PersistentVolumeClaim],
        request: AdmissionRequest,
    ) -> list[FieldError]:
        """Return what validation of pod templates finds, under the template's path here."""
        whole = PodTemplate(template=template_with_claims(template, claims))
        filled = self._server.defaulted(whole, resource_of(PodTemplate))
        found = self._server.errors_in(filled, resource_of(PodTemplate), request.now)
        return [FieldError(each.type, f"spec.{each.field}", each.value, each.detail) for each in found]


def report_unknown(request: AdmissionRequest, unknown: list[str]) -> None:
    """Warn of unknown fields in a part whose schema is open, or refuse them. Raises 400."""
    validation = getattr(request.options, "field_validation", "Warn")
    if unknown and validation == "Strict":
        head = f'{request.kind} in version "{request.resource.version}" cannot be handled as a {request.kind}'
        raise errors.bad_request(f"{head}: strict decoding error: {', '.join(unknown)}")
    if validation == "Warn":
        request.warnings.extend(unknown)
