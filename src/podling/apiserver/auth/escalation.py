"""Prevention of privilege escalation: writing roles and bindings is limited to the writer's own rights.

A role may contain only rights that its writer already has, unless the writer may ``escalate`` roles. A
binding may name only such a role, unless the writer may ``bind`` it. An aggregated role can come to allow
anything, so its writer needs every right. Members of ``system:masters`` have every right, and so may grant
every right. Any change of a role or a binding is checked for all of its content. Only finalizers and owners
may always change: the garbage collector has to.

Upstream counterpart: ``pkg/registry/rbac/*/policybased`` and ``pkg/registry/rbac/validation``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import structs

from podling.api.rbac_v1 import ClusterRole, PolicyRule, Role
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.auth.authz import MASTERS, RbacAuthorizer
from podling.apiserver.auth.rbac import ALL, Attributes
from podling.apiserver.kinds.common import metadata
from podling.client.requests import User
from podling.machinery import errors
from podling.machinery.fields import aggregate
from podling.machinery.scheme import Resource, resource_of

GROUP = "rbac.authorization.k8s.io"
KINDS = ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")
FULL_AUTHORITY = (
    PolicyRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)


def single_rules(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Yield a rule as many that each allow one verb on one thing."""
    for verb in rule.verbs:
        for url in rule.non_resource_urls:
            yield PolicyRule(verbs=(verb,), non_resource_urls=(url,))
        for group in rule.api_groups:
            for resource in rule.resources:
                for name in rule.resource_names or ("",):
                    names = (name,) if name else ()
                    yield PolicyRule(
                        verbs=(verb,), api_groups=(group,), resources=(resource,), resource_names=names
                    )


def covers(owner: PolicyRule, wanted: PolicyRule) -> bool:
    """Return whether ``owner`` allows everything that the single rule ``wanted`` allows."""
    if not _has(owner.verbs, wanted.verbs[0]):
        return False
    if wanted.non_resource_urls:
        return any(_covers_url(own, wanted.non_resource_urls[0]) for own in owner.non_resource_urls)
    if not _has(owner.api_groups, wanted.api_groups[0]):
        return False
    resource = wanted.resources[0]
    _, _, subresource = resource.partition("/")
    if not (_has(owner.resources, resource) or (subresource and f"{ALL}/{subresource}" in owner.resources)):
        return False
    return not owner.resource_names or (
        bool(wanted.resource_names) and wanted.resource_names[0] in owner.resource_names
    )


def _has(owned: tuple[str, ...], wanted: str) -> bool:
    return ALL in owned or wanted in owned


def _covers_url(owned: str, wanted: str) -> bool:
    return owned == wanted or (owned.endswith(ALL) and wanted.startswith(owned.rstrip(ALL)))


def missing(owned: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the single rules that ``wanted`` allows and ``owned`` does not."""
    return [
        single
        for rule in wanted
        for single in single_rules(rule)
        if not any(covers(own, single) for own in owned)
    ]


class PrivilegeEscalation(Plugin):
    """Refuses roles and bindings with more rights than their writer has. Runs after the other admission
    plugins and before validation."""

    name = "PrivilegeEscalation"

    def __init__(self, authorizer: RbacAuthorizer) -> None:
        self._authorizer = authorizer

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        written = operation in (Operation.CREATE, Operation.UPDATE)
        return written and resource.group == GROUP and resource.kind in KINDS

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        if MASTERS in request.user.groups or _only_for_collection(request.object, request.old):
            return request.object
        if isinstance(request.object, ClusterRole | Role):
            self._check_role(request)
        else:
            self._check_binding(request, objects)
        return request.object

    def _check_role(self, request: AdmissionRequest) -> None:
        role: ClusterRole | Role = request.object
        name = request.name if request.operation is Operation.UPDATE else ""  # a creation names no role
        if self._may(request, "escalate", request.resource.plural, name):
            return
        self._check_held(request, role.rules)
        if (_is_aggregated(role) or _is_aggregated(request.old)) and missing(
            self._held(request), FULL_AUTHORITY
        ):
            raise _forbidden(request, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, request: AdmissionRequest, objects: Objects) -> None:
        ref = request.object.role_ref
        if ref.kind not in ("ClusterRole", "Role"):
            return  # not valid, and refused as such
        kind: type[ClusterRole | Role] = ClusterRole if ref.kind == "ClusterRole" else Role
        resource = resource_of(kind)
        if self._may(request, "bind", resource.plural, ref.name):
            return
        role = objects.get(kind, ref.name, request.namespace if kind is Role else "")
        if role is None:
            raise errors.not_found(resource.plural, GROUP, ref.name)
        rules = role.rules if isinstance(role, Role) else self._authorizer.index.cluster_rules(ref.name)
        self._check_held(request, rules)

    def _may(self, request: AdmissionRequest, verb: str, plural: str, name: str) -> bool:
        asked = Attributes(verb, GROUP, plural, namespace=request.namespace, name=name)
        return self._authorizer.decide(request.user, asked).allowed

    def _held(self, request: AdmissionRequest) -> list[PolicyRule]:
        self._authorizer.index.catch_up()
        return [rule for rule, _ in self._authorizer.index.rules_for(request.user, request.namespace)]

    def _check_held(self, request: AdmissionRequest, rules: Iterable[PolicyRule]) -> None:
        lacking = missing(self._held(request), rules)
        if lacking:
            unknown = self._authorizer.index.missing_roles(request.user, request.namespace)
            texts = [errors.not_found(resource.plural, GROUP, name) for resource, name in unknown]
            why = f"; resolution errors: [{aggregate(texts)}]" if texts else ""
            raise _forbidden(request, _message(request.user, lacking) + why)


def _forbidden(request: AdmissionRequest, why: str) -> errors.ApiError:
    own = request.object.metadata.name or ""
    return errors.forbidden(request.resource.plural, request.resource.group, own, why)


def _is_aggregated(role: Any) -> bool:
    rule = role.aggregation_rule if isinstance(role, ClusterRole) else None
    return rule is not None and bool(rule.cluster_role_selectors)


def _only_for_collection(new: Any, old: Any) -> bool:
    """Return whether an update changes no more than what the garbage collector changes."""
    if old is None:
        return False
    own = old.metadata
    kept = structs.replace(
        metadata.keep_server_metadata(new, old).metadata,
        owner_references=own.owner_references,
        finalizers=own.finalizers,
        managed_fields=own.managed_fields,
        resource_version=own.resource_version,
    )
    return bool(structs.replace(new, metadata=kept) == old)


def _message(user: User, lacking: list[PolicyRule]) -> str:
    listed = "\n".join(sorted({_text(rule) for rule in _joined(lacking)}))
    return (
        f"user {_quoted(user.name)} (groups={_listed(user.groups)}) is attempting to grant RBAC permissions "
        f"not currently held:\n{listed}"
    )


def _joined(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Single rules that differ in the verb alone as one; those about paths stay as they are."""
    found: dict[Any, PolicyRule] = {}
    for rule in rules:
        key: Any = (rule.api_groups, rule.resources, rule.resource_names)
        if rule.non_resource_urls:
            key = (rule.non_resource_urls, rule.verbs)
        known = found.get(key)
        found[key] = rule if known is None else structs.replace(known, verbs=known.verbs + rule.verbs)
    return list(found.values())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(values: Iterable[str]) -> str:
    return f"[{' '.join(map(_quoted, values))}]"


def _text(rule: PolicyRule) -> str:
    """Return a rule as Kubernetes writes it in this message."""
    parts = (
        ("APIGroups", rule.api_groups),
        ("Resources", rule.resources),
        ("ResourceNames", rule.resource_names),
        ("NonResourceURLs", rule.non_resource_urls),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{_listed(values)}" for name, values in parts if values) + "}"
