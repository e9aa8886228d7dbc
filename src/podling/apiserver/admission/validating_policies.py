"""ValidatingAdmissionPolicy: rules in CEL about what is written, bound to where they hold.

Not as upstream: expressions cannot ask the ``authorizer``, and audit annotations go nowhere.
Upstream: ``apiserver/pkg/admission/plugin/policy/validating``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from podling.api.admissionregistration_v1 import (
    MatchResources,
    ParamKind,
    ParamRef,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Validation,
    Variable,
)
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.core_v1 import Namespace
from podling.api.meta_v1 import StatusCause, StatusDetails
from podling.apiserver.admission import webhook_matching as matching
from podling.apiserver.admission.base import Objects, Operation, Plugin, Request, Server
from podling.apiserver.admission.forms import Form, Forms
from podling.machinery import codec, selectors
from podling.machinery.custom import is_established, stored_resource
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource, by_kind, split_group_version

_GROUP = "admissionregistration.k8s.io"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
INVALID = "Invalid"
_NEVER = {
    "authentication.k8s.io": ("selfsubjectreviews", "tokenreviews"),
    "authorization.k8s.io": (
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
    ),
}
"""What policies have no say in, lest they break the cluster; webhooks have."""


class _Unusable(Exception):
    """A policy that cannot be evaluated for this request."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """One thing that a policy has against a request."""

    message: str
    reason: str = INVALID


class _Lazy(dict[str, Any]):
    """The variables of a policy: each evaluated when it is first used, and then remembered."""

    def __init__(self, variables: Sequence[Variable], values: dict[str, Any], budget: list[int]) -> None:
        super().__init__()
        self._expressions = {each.name: each.expression for each in variables}
        self._values, self._budget = values, budget

    def __contains__(self, name: object) -> bool:
        return name in self._expressions

    def __missing__(self, name: str) -> Any:
        found = matching.program(self._expressions[name]).evaluate(self._values, self._budget)
        self[name] = found
        return found


class ValidatingAdmissionPolicies(Plugin):
    name = "ValidatingAdmissionPolicy"
    _server: Server

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return resource.group != _GROUP and resource.plural not in _NEVER.get(resource.group, ())

    async def validate(self, request: Request, objects: Objects) -> None:
        bindings = await objects.list(ValidatingAdmissionPolicyBinding)
        if not bindings:
            return
        policies = {each.metadata.name: each for each in await objects.list(ValidatingAdmissionPolicy)}
        denied: list[tuple[str, _Decision]] = []
        forms = Forms(request, self._server)
        for binding in bindings:
            policy = policies.get(binding.spec.policy_name)
            resource = (
                _matched(policy, binding, request, objects, self._server) if policy is not None else None
            )
            if policy is None or resource is None:
                continue
            who = f"ValidatingAdmissionPolicy '{policy.metadata.name}' with binding '{binding.metadata.name}'"
            form = await forms.of(resource)
            for decision in await _decisions(policy, binding, request, form, objects):
                if "Deny" in binding.spec.validation_actions:
                    denied.append((who, decision))
                if "Warn" in binding.spec.validation_actions:
                    request.warnings.append(f"Validation failed for {who}: {decision.message}")
        if denied:
            raise _denial(request, *denied[0])


def _denial(request: Request, who: str, decision: _Decision) -> ApiError:
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


def _matched(
    policy: ValidatingAdmissionPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    request: Request,
    objects: Objects,
    server: Server,
) -> Resource | None:
    """As what a policy sees the request; None if it or its binding is about others."""
    constraints, narrower = policy.spec.match_constraints, binding.spec.match_resources
    found = None if constraints is None else _in_resources(constraints, request, objects, server)
    if found is None or narrower is None:
        return found
    return found if _in_resources(narrower, request, objects, server) is not None else None


def _in_resources(
    wanted: MatchResources, request: Request, objects: Objects, server: Server
) -> Resource | None:
    if not matching.selected(wanted.namespace_selector, wanted.object_selector, request, objects):
        return None
    if matching.matched(wanted.exclude_resource_rules, wanted.match_policy, request, server) is not None:
        return None
    if not wanted.resource_rules:
        return request.resource
    return matching.matched(wanted.resource_rules, wanted.match_policy, request, server)


async def _decisions(
    policy: ValidatingAdmissionPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    request: Request,
    form: Form,
    objects: Objects,
) -> list[_Decision]:
    """What a policy has against a request; nothing when it cannot be evaluated and that is to be ignored."""
    try:
        params = await _params(policy.spec.param_kind, binding.spec.param_ref, request, objects)
        found: list[_Decision] = []
        for each in params:
            found += _judged(policy, _seen(request, form, each, objects))
        return found
    except (_Unusable, matching.ConditionFailed) as error:
        if policy.spec.failure_policy == "Ignore":
            return []
        return [_Decision(str(error))]


def _seen(request: Request, form: Form, params: Any, objects: Objects) -> dict[str, Any]:
    namespace = objects.get(Namespace, request.namespace) if request.namespace else None
    shown = None if namespace is None else codec.to_plain(namespace)
    return matching.seen(request, form, params=params, namespaceObject=shown)


def _judged(policy: ValidatingAdmissionPolicy, values: dict[str, Any]) -> Iterator[_Decision]:
    from podling.apiserver.cel.programs import PER_OBJECT

    spec, budget = policy.spec, [PER_OBJECT]
    values["variables"] = _Lazy(spec.variables, values, budget)
    if not matching.conditions_hold(spec.match_conditions, values):
        return
    for validation in spec.validations:
        decision = _asked(validation, values, budget, ignore=spec.failure_policy == "Ignore")
        if decision is not None:
            yield decision


def _asked(
    validation: Validation, values: Mapping[str, Any], budget: list[int], *, ignore: bool
) -> _Decision | None:
    """What one validation has against the request."""
    from podling.apiserver.cel.programs import Failure, NotCompiled, OverBudget

    reason, text = validation.reason or INVALID, validation.expression.strip()
    try:
        if matching.program(validation.expression).evaluate(values, budget) is True:
            return None
    except (Failure, NotCompiled, OverBudget) as error:
        return None if ignore else _Decision(f"expression '{text}' resulted in error: {error}", reason)
    message = (validation.message or "").strip() or f"failed expression: {text}"
    if validation.message_expression:
        try:
            said = matching.program(validation.message_expression).evaluate(values, budget)
        except (Failure, NotCompiled, OverBudget):
            said = ""
        if isinstance(said, str) and said.strip() and "\n" not in said.strip():
            message = said.strip()
    return _Decision(message, reason)


async def _params(
    kind: ParamKind | None, ref: ParamRef | None, request: Request, objects: Objects
) -> list[Any]:
    """The parameters that the policy is evaluated with, once for each. Raises ``_Unusable``."""
    if kind is None or ref is None:
        return [None]
    resource = await _param_resource(kind, objects)
    namespace = (ref.namespace or request.namespace) if resource.namespaced else ""
    if resource.namespaced and not namespace:
        raise _Unusable(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    type_: type[Any] = resource.type
    if ref.name:
        one = objects.get(type_, ref.name, namespace)
        found = [] if one is None else [one]
    else:
        chosen = selectors.from_label_selector(ref.selector)
        every = await objects.list(type_, namespace)
        found = [each for each in every if chosen.matches(each.metadata.labels)]
    if not found and ref.parameter_not_found_action != "Allow":
        raise _Unusable("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [codec.to_plain(each) for each in found]


async def _param_resource(kind: ParamKind, objects: Objects) -> Resource:
    group, version = split_group_version(kind.api_version or "")
    built_in = by_kind(group, version, kind.kind or "")
    if built_in is not None:
        return built_in
    for definition in await objects.list(CustomResourceDefinition):
        named = (definition.spec.group, definition.spec.names.kind)
        if named == (group, kind.kind) and is_established(definition):
            return stored_resource(definition)
    shown = f"{group}/{version}, Kind={kind.kind}"
    raise _Unusable(f"failed to find resource referenced by paramKind: '{shown}'")
