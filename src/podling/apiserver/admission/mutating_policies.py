"""MutatingAdmissionPolicy: changes of a request's object before it is stored, written in CEL.

Policies act one after the other, in the order of their names, each on the result of the one before. After a
change all plugins are called again. Of the policies, only those with a reinvocation policy of ``IfNeeded``
that acted before the change are evaluated again. The patches themselves are made by ``mutations``.

Upstream: ``apiserver/pkg/admission/plugin/policy/mutating``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from podling.api.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
)
from podling.api.meta_v1 import StatusCause, StatusDetails
from podling.apiserver.admission import policy_requests as requests
from podling.apiserver.admission import webhook_matching as matching
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.apiserver.admission.expression_turns import all_hold
from podling.apiserver.admission.forms import Forms
from podling.apiserver.admission.mutations import MutationFailed, mutated
from podling.apiserver.admission.policy_requests import Misconfigured
from podling.apiserver.admission.reinvocation import ReinvocationContext
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource

INVALID = "Invalid"


class _Invocation(Struct, frozen=True):
    """One policy that is about a request, through one binding and with one parameter."""

    policy: MutatingAdmissionPolicy
    binding: MutatingAdmissionPolicyBinding
    resource: Resource
    param: Any

    @property
    def key(self) -> tuple[str | None, ...]:
        metadata = (self.param or {}).get("metadata") or {}
        named = self.policy.metadata.name, self.binding.metadata.name
        return *named, metadata.get("namespace"), metadata.get("name")


class _Objection(Struct, frozen=True):
    """Why a policy could not act."""

    policy: MutatingAdmissionPolicy
    binding: MutatingAdmissionPolicyBinding | None
    why: str
    reason: str = ""

    def __str__(self) -> str:
        name = self.policy.metadata.name
        if self.binding is None:
            return f'policy "{name}" denied request: {self.why}'
        return f"policy '{name}' with binding '{self.binding.metadata.name}' denied request: {self.why}"


class MutatingAdmissionPolicies(Plugin):
    name = "MutatingAdmissionPolicy"
    acts_on = MutatingAdmissionPolicyBinding
    _server: Server

    def __init__(self) -> None:
        self._expressions = requests.Expressions()

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return operation is not Operation.DELETE and requests.judged(resource)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        bindings = await objects.list(MutatingAdmissionPolicyBinding)
        if not bindings:
            return request.object
        policies = await objects.list(MutatingAdmissionPolicy)
        self._expressions.keep_only(policies)
        objections: list[_Objection] = []
        invocations: list[_Invocation] = []
        for policy in policies:
            own = [each for each in bindings if each.spec.policy_name == policy.metadata.name]
            if own:
                invocations += await self._invocations(policy, own, request, objects, objections)
        context = ReinvocationContext.of(request, self.name)
        for each in invocations:
            request = await self._acted(each, request, objects, context, objections)
        context.record_output(request.object)
        counting = [each for each in objections if each.policy.spec.failure_policy != "Ignore"]
        if counting:
            raise _refusal(request, counting)
        return request.object

    async def _invocations(
        self,
        policy: MutatingAdmissionPolicy,
        bindings: Sequence[MutatingAdmissionPolicyBinding],
        request: AdmissionRequest,
        objects: Objects,
        objections: list[_Objection],
    ) -> list[_Invocation]:
        """Return the policy's bindings and parameters that match the request."""
        spec, found = policy.spec, list[_Invocation]()
        if spec.match_constraints is None:
            return found
        resource = requests.matched(spec.match_constraints, request, objects, self._server)
        if resource is None:
            return found
        try:
            kind = requests.param_resource(spec.param_kind, self._server)
        except Misconfigured as error:
            objections.append(_Objection(policy, None, f"failed to configure policy: {error}"))
            return found
        for binding in bindings:
            narrower, ref = binding.spec.match_resources, binding.spec.param_ref
            if requests.matched(narrower, request, objects, self._server) is None:
                continue
            try:
                params = await requests.params(kind, ref, request, objects, self._server)
            except Misconfigured as error:
                objections.append(_Objection(policy, binding, f"failed to configure binding: {error}"))
                continue
            found += [_Invocation(policy, binding, resource, param) for param in params]
        return found

    async def _acted(
        self,
        invocation: _Invocation,
        request: AdmissionRequest,
        objects: Objects,
        context: ReinvocationContext,
        objections: list[_Objection],
    ) -> AdmissionRequest:
        """Return the request after a policy acted on it, as far as it could."""
        policy, binding, before = invocation.policy, invocation.binding, request.object
        expressions, namespace = self._expressions.of(policy), requests.namespace_object(request, objects)
        forms = Forms(request, self._server)
        form = await forms.of(invocation.resource)
        values = requests.values(request, form, invocation.param, namespace, self._server)
        try:
            find = expressions.condition
            if not await all_hold(policy.spec.match_conditions, find, values):
                return request
        except matching.ConditionFailed as error:
            objections.append(_Objection(policy, binding, str(error), INVALID))
            return request
        if not context.should_invoke(invocation.key):
            return request
        if request.operation is Operation.CONNECT:
            raise _no_schema(form.object)
        for mutation in policy.spec.mutations:
            values = requests.values(request, form, invocation.param, namespace, self._server)
            try:
                plain = await mutated(mutation, form.object, forms.kind(form.resource), expressions, values)
            except MutationFailed as error:
                objections.append(_Objection(policy, binding, str(error), INVALID))
                continue
            if plain != form.object:
                obj = await forms.taken_back(plain, form.resource, "Strict")
                request = structs.replace(request, object=obj)
                forms = Forms(request, self._server)
                form = await forms.of(invocation.resource)
        if request.object != before:
            context.record_change()
        if policy.spec.reinvocation_policy == "IfNeeded":
            context.record_invocation(invocation.key)
        return request


def _no_schema(options: dict[str, Any]) -> ApiError:
    """The options of connections have no schema that a change could be held to."""
    why = (
        "There can be a delay between when CustomResourceDefinitions are created and when they are available."
    )
    shown = f"/{options['apiVersion']}, Kind={options['kind']}"
    return errors.service_unavailable(f"Resource kind {shown} not found. {why}")


def _refusal(request: AdmissionRequest, objections: Sequence[_Objection]) -> ApiError:
    """403 in the words of the first; the causes are all of them."""
    status = request.forbidden("").status
    details = status.details or StatusDetails()
    causes = tuple(StatusCause(message=str(each)) for each in objections)
    return ApiError(
        structs.replace(
            status,
            message=str(objections[0]),
            reason=objections[0].reason or status.reason,
            details=structs.replace(details, causes=causes),
        )
    )
