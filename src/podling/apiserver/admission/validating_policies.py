"""ValidatingAdmissionPolicy: rules in CEL about what is written, bound to where they hold.

There is no audit log: what would stand there, audit annotations and the failures that a binding only audits,
is said in the server's own log.
Upstream: ``apiserver/pkg/admission/plugin/policy/validating``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from podling.api.admissionregistration_v1 import (
    AuditAnnotation,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Validation,
)
from podling.api.meta_v1 import StatusCause, StatusDetails
from podling.apiserver.admission import policy_requests as requests
from podling.apiserver.admission import webhook_matching as matching
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.apiserver.admission.expression_turns import all_hold, evaluated_in_turn
from podling.apiserver.admission.forms import Form, Forms
from podling.apiserver.admission.policy_requests import Misconfigured
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource

if TYPE_CHECKING:
    from podling.apiserver.cel.policies import PolicyExpressions

log = logging.getLogger(__name__)

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
INVALID = "Invalid"
MAX_MESSAGE_BYTES = 5 * 1024
MAX_ANNOTATION = 10 * 1024


class _Decision(Struct, frozen=True):
    """One objection of a policy to a request. ``always``: it refuses with any actions of the binding."""

    message: str
    reason: str = INVALID
    always: bool = False


class _Judging(Struct, frozen=True):
    """One policy about one request, with one parameter."""

    policy: ValidatingAdmissionPolicy
    expressions: PolicyExpressions
    values: Mapping[str, Any]
    budget: list[int]

    @property
    def ignores(self) -> bool:
        return self.policy.spec.failure_policy == "Ignore"

    def evaluated(self, text: str) -> Any:
        """Raises ``matching.ConditionFailed``."""
        return matching.evaluated(text, self.expressions.program, self.values, self.budget)


class ValidatingAdmissionPolicies(Plugin):
    name = "ValidatingAdmissionPolicy"
    acts_on = ValidatingAdmissionPolicyBinding
    _server: Server

    def __init__(self) -> None:
        self._expressions = requests.Expressions()

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return requests.judged(resource)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        bindings = await objects.list(ValidatingAdmissionPolicyBinding)
        if not bindings:
            return
        policies = await objects.list(ValidatingAdmissionPolicy)
        self._expressions.keep_only(policies)
        denied: list[tuple[str, _Decision]] = []
        forms = Forms(request, self._server)
        for policy in policies:
            own = [each for each in bindings if each.spec.policy_name == policy.metadata.name]
            constraints = policy.spec.match_constraints
            if not own or constraints is None:
                continue
            resource = requests.matched(constraints, request, objects, self._server)
            if resource is not None:
                form = await forms.of(resource)
                denied += [each async for each in self._objections(policy, own, request, form, objects)]
        if denied:
            raise _denial(request, *denied[0])

    async def _objections(
        self,
        policy: ValidatingAdmissionPolicy,
        bindings: list[ValidatingAdmissionPolicyBinding],
        request: AdmissionRequest,
        form: Form,
        objects: Objects,
    ) -> Any:
        """Return the policy's refusal of the request, if there is one; add its warnings on the way."""
        who = f"ValidatingAdmissionPolicy '{policy.metadata.name}'"
        ignores = policy.spec.failure_policy == "Ignore"
        try:
            kind = requests.param_resource(policy.spec.param_kind, self._server)
        except Misconfigured as error:
            if not ignores:
                yield who, _Decision(f"failed to configure policy: {error}")
            return
        for binding in bindings:
            narrower = binding.spec.match_resources
            if requests.matched(narrower, request, objects, self._server) is None:
                continue
            bound, actions = f"{who} with binding '{binding.metadata.name}'", binding.spec.validation_actions
            try:
                found = await requests.params(kind, binding.spec.param_ref, request, objects, self._server)
            except Misconfigured as error:
                if not ignores:
                    yield bound, _Decision(f"failed to configure binding: {error}")
                continue
            namespace = requests.namespace_object(request, objects)
            for param in found:
                values = requests.values(request, form, param, namespace, self._server)
                for decision in await self._judged(policy, values):
                    if decision.always or "Deny" in actions:
                        yield bound, decision
                    elif "Audit" in actions:
                        log.info("Validation failed for %s: %s", bound, decision.message)
                    if "Warn" in actions and not decision.always:
                        request.warnings.append(f"Validation failed for {bound}: {decision.message}")

    async def _judged(self, policy: ValidatingAdmissionPolicy, values: dict[str, Any]) -> list[_Decision]:
        """Return the objections of a policy with one parameter; log its audit annotations."""
        expressions, spec = self._expressions.of(policy), policy.spec
        ignores = spec.failure_policy == "Ignore"
        try:
            if not await all_hold(spec.match_conditions, expressions.condition, values):
                return []
        except matching.ConditionFailed as error:
            return [] if ignores else [_Decision(str(error))]
        decisions, notes = await evaluated_in_turn(
            lambda new_budget: _decisions(policy, expressions, values, new_budget())
        )
        for note in notes:
            log.info("%s/%s", policy.metadata.name, note)
        return decisions


def _decisions(
    policy: ValidatingAdmissionPolicy,
    expressions: PolicyExpressions,
    values: Mapping[str, Any],
    budget: list[int],
) -> tuple[list[_Decision], list[str]]:
    """Return the objections of validations and annotations, and the annotations for the log."""
    seen = {**values}
    seen["variables"] = expressions.lazily(seen, budget)
    judging = _Judging(policy, expressions, seen, budget)
    notes: list[str] = []
    found = [_asked(validation, judging) for validation in policy.spec.validations]
    found += [_annotated(annotation, judging, notes) for annotation in policy.spec.audit_annotations]
    return [decision for decision in found if decision is not None], notes


def _denial(request: AdmissionRequest, who: str, decision: _Decision) -> ApiError:
    message = f"{who} denied request: {decision.message}"
    refusal = request.forbidden(message).status
    details = refusal.details or StatusDetails()
    return ApiError(
        structs.replace(
            refusal,
            reason=decision.reason,
            code=_CODES.get(decision.reason, 422),
            details=structs.replace(details, causes=(StatusCause(message=message),)),
        )
    )


def _asked(validation: Validation, judging: _Judging) -> _Decision | None:
    """Return the objection of one validation to the request, if there is one."""
    text = validation.expression.strip()
    try:
        if judging.evaluated(validation.expression) is True:
            return None
    except matching.ConditionFailed as error:
        return None if judging.ignores else _Decision(str(error))
    message = (validation.message or "").strip() or f"failed expression: {text}"
    if validation.message_expression:
        try:
            said = judging.evaluated(validation.message_expression)
        except matching.ConditionFailed:
            said = ""
        said = said.strip() if isinstance(said, str) else ""
        if said and "\n" not in said and len(said.encode()) <= MAX_MESSAGE_BYTES:
            message = said
    return _Decision(message, validation.reason or INVALID)


def _annotated(annotation: AuditAnnotation, judging: _Judging, notes: list[str]) -> _Decision | None:
    """Add an annotation to ``notes``; one that cannot be evaluated counts against the request."""
    text = annotation.value_expression
    try:
        value = judging.evaluated(text)
    except matching.ConditionFailed as error:
        return None if judging.ignores else _Decision(str(error), always=True)
    if isinstance(value, str):
        if value.strip():
            notes.append(f"{annotation.key}: {value.strip()[:MAX_ANNOTATION]}")
    elif value is not None:
        kind = matching.kind_of(value)
        why = f"valueExpression '{text}' resulted in unsupported return type: {kind}. "
        return _Decision(f"{why}Return type must be either string or null.", always=True)
    return None
