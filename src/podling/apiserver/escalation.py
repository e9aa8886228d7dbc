"""Nobody gives away rights they do not have: writing roles and bindings is held to the writer's own rights.

A role may contain only what its writer may do already, unless the writer may ``escalate`` roles; a binding
may name only such a role, unless the writer may ``bind`` it. Members of ``system:masters`` may do everything,
and so may grant everything.

Upstream counterpart: ``pkg/registry/rbac/*/policybased`` and ``pkg/registry/rbac/validation``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding
from podling.apiserver.admission.base import Objects, Operation, Plugin, Request
from podling.apiserver.authz import MASTERS, RbacAuthorizer
from podling.apiserver.rbac import ALL, Attributes
from podling.client.local import User
from podling.machinery.scheme import Resource

GROUP = "rbac.authorization.k8s.io"
KINDS = ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")


def single_rules(rule: PolicyRule) -> Iterator[PolicyRule]:
    """A rule as many that each allow one verb on one thing."""
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
    """Whether whoever has ``owner`` has all that the single rule ``wanted`` allows."""
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
    if owned in (ALL, wanted):
        return True
    return owned.endswith(ALL) and wanted.rstrip(ALL).startswith(owned.rstrip(ALL))


def missing(owned: list[PolicyRule], wanted: tuple[PolicyRule, ...]) -> list[PolicyRule]:
    """What ``wanted`` allows and ``owned`` does not, rule by single rule."""
    return [
        single
        for rule in wanted
        for single in single_rules(rule)
        if not any(covers(own, single) for own in owned)
    ]


class PrivilegeEscalation(Plugin):
    """Refuses roles and bindings that would give more than their writer has."""

    name = "PrivilegeEscalation"

    def __init__(self, authorizer: RbacAuthorizer) -> None:
        self._authorizer = authorizer

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        written = operation in (Operation.CREATE, Operation.UPDATE)
        return written and resource.group == GROUP and resource.kind in KINDS

    async def validate(self, request: Request, objects: Objects) -> None:
        if MASTERS in request.user.groups or _same(request.object, request.old):
            return
        obj = request.object
        if isinstance(obj, ClusterRole | Role):
            if self._may(request, "escalate", request.resource.plural, request.name):
                return
            rules = obj.rules
        else:
            ref = obj.role_ref
            plural = "clusterroles" if ref.kind == "ClusterRole" else "roles"
            if self._may(request, "bind", plural, ref.name):
                return
            rules = self._rules_of(obj, objects)
        held = [rule for rule, _ in self._authorizer.index.rules_for(request.user, request.namespace)]
        lacking = missing(held, rules)
        if lacking:
            raise request.forbidden(_message(request.user, lacking))

    def _may(self, request: Request, verb: str, plural: str, name: str) -> bool:
        asked = Attributes(verb, GROUP, plural, namespace=request.namespace, name=name)
        return self._authorizer.decide(request.user, asked).allowed

    def _rules_of(
        self, binding: ClusterRoleBinding | RoleBinding, objects: Objects
    ) -> tuple[PolicyRule, ...]:
        ref = binding.role_ref
        if ref.kind == "ClusterRole":
            return self._authorizer.index.cluster_rules(ref.name)
        role = objects.get(Role, ref.name, binding.metadata.namespace or "")
        return role.rules if role else ()


def _same(new: Any, old: Any) -> bool:
    """Whether an update leaves alone what this is about."""
    if old is None:
        return False
    if isinstance(new, ClusterRole | Role):
        return bool(new.rules == old.rules)
    return bool(new.subjects == old.subjects and new.role_ref == old.role_ref)


def _message(user: User, lacking: list[PolicyRule]) -> str:
    groups = json.dumps(list(user.groups), separators=(" ", ":"))
    listed = "\n".join(_text(rule) for rule in lacking)
    return (
        f'user "{user.name}" (groups={groups}) is attempting to grant RBAC permissions '
        f"not currently held:\n{listed}"
    )


def _text(rule: PolicyRule) -> str:
    """A rule as Kubernetes writes it in this message."""
    parts = (
        ("APIGroups", rule.api_groups),
        ("Resources", rule.resources),
        ("ResourceNames", rule.resource_names),
        ("NonResourceURLs", rule.non_resource_urls),
        ("Verbs", rule.verbs),
    )
    shown = (f"{name}:{json.dumps(list(values))}" for name, values in parts if values)
    return "{" + ", ".join(shown) + "}"
