"""Code shared by both kinds of policies: matching of requests, parameters, and variables.

Upstream: ``apiserver/pkg/admission/plugin/policy/{generic,matching}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from podling.api.admissionregistration_v1 import (
    MatchResources,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ParamKind,
    ParamRef,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.api.core_v1 import Namespace
from podling.apiserver.admission import webhook_matching as matching
from podling.apiserver.admission.base import AdmissionRequest, Objects, Server
from podling.apiserver.admission.forms import Form, plain_in
from podling.machinery import selectors
from podling.machinery.encoding import codec
from podling.machinery.scheme import Resource, split_group_version

if TYPE_CHECKING:
    from podling.apiserver.cel.policies import PolicyExpressions

Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy
Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding

NEVER_JUDGED = {
    "authentication.k8s.io": ("selfsubjectreviews", "tokenreviews"),
    "authorization.k8s.io": (
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
    ),
}
"""Resources exempt from policies, which could break the cluster through them. Webhooks do see them."""
EXEMPT_GROUP = "admissionregistration.k8s.io"
NAMESPACE_FIELDS = ("spec", "status")


class Misconfigured(Exception):
    """A policy or binding that cannot be evaluated for a request."""


def judged(resource: Resource) -> bool:
    """Return whether policies may be about this resource at all."""
    return resource.group != EXEMPT_GROUP and resource.plural not in NEVER_JUDGED.get(resource.group, ())


def matched(
    wanted: MatchResources | None, request: AdmissionRequest, objects: Objects, server: Server
) -> Resource | None:
    """As what constraints are about the request; None if they are about others."""
    if wanted is None:
        return request.resource
    if not matching.selected(wanted.namespace_selector, wanted.object_selector, request, objects):
        return None
    if matching.matched(wanted.exclude_resource_rules, wanted.match_policy, request, server) is not None:
        return None
    if not wanted.resource_rules:
        return request.resource
    return matching.matched(wanted.resource_rules, wanted.match_policy, request, server)


def param_resource(kind: ParamKind | None, server: Server) -> Resource | None:
    """Return the resource of a policy's parameters; None if it has none. Raises ``Misconfigured``."""
    if kind is None:
        return None
    group, version = split_group_version(kind.api_version or "")
    found = server.resource(group, version, kind.kind or "")
    if found is None:
        shown = f"{group}/{version}, Kind={kind.kind}"
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{shown}'")
    return found


async def params(
    resource: Resource | None,
    ref: ParamRef | None,
    request: AdmissionRequest,
    objects: Objects,
    server: Server,
) -> Sequence[Any]:
    """Return the parameters that a policy is evaluated with, once for each. Raises ``Misconfigured``."""
    if resource is None or ref is None:
        return (None,)
    namespace = (ref.namespace or request.within) if resource.namespaced else ""
    if resource.namespaced and not namespace:
        raise Misconfigured(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    if ref.namespace and not resource.namespaced:
        raise Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    type_: type[Any] = resource.storage_resource.type
    if ref.name:
        one = objects.get(type_, ref.name, namespace)
        found = [] if one is None else [one]
    else:
        chosen = selectors.from_label_selector(ref.selector)
        every = await objects.list(type_, namespace)
        found = [each for each in every if chosen.matches(each.metadata.labels)]
    if not found and ref.parameter_not_found_action == "Deny":
        raise Misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [await plain_in(each, resource, server) for each in found]


def namespace_object(request: AdmissionRequest, objects: Objects) -> dict[str, Any] | None:
    """Return the request's namespace as expressions see it; None for what is in none."""
    if not request.namespace or request.resource.kind == "Namespace":
        return None
    found = objects.get(Namespace, request.namespace)
    if found is None:
        return None
    from podling.apiserver.cel.environments import NAMESPACE_METADATA

    plain = codec.to_plain(found)
    metadata = {name: value for name, value in plain["metadata"].items() if name in NAMESPACE_METADATA}
    return {"metadata": metadata, **{name: plain[name] for name in NAMESPACE_FIELDS if name in plain}}


class Expressions:
    """The compiled expressions of policies, kept as long as the policies stay as they are."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, PolicyExpressions]] = {}

    def of(self, policy: Policy) -> PolicyExpressions:
        from podling.apiserver.cel.policies import PolicyExpressions
        from podling.apiserver.cel.types import DYN

        uid, generation = policy.metadata.uid or "", policy.metadata.generation or 0
        kept = self._kept.get(uid)
        if kept is None or kept[0] != generation:
            spec = policy.spec
            variables = [(each.name, each.expression) for each in spec.variables]
            made = PolicyExpressions(
                variables,
                params=DYN if spec.param_kind is not None else None,
                mutations=isinstance(policy, MutatingAdmissionPolicy),
            )
            kept = self._kept[uid] = (generation, made)
        return kept[1]

    def keep_only(self, policies: Sequence[Policy]) -> None:
        """Forget the others, when there are more than there are policies."""
        if len(self._kept) > len(policies):
            there = {each.metadata.uid for each in policies}
            self._kept = {uid: kept for uid, kept in self._kept.items() if uid in there}


def values(
    request: AdmissionRequest, form: Form, param: Any, namespace: dict[str, Any] | None, server: Server
) -> dict[str, Any]:
    """Return the values for the expressions of a policy, except for its own variables."""
    return matching.seen(request, form, server, params=param, namespaceObject=namespace)
