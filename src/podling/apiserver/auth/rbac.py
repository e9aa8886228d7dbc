"""Role-based access control: who is bound to which roles, and whether a role's rules cover a request.

The index holds every role and binding as stored and answers from memory. It follows the store by draining
a watch at each question, so a new binding counts from the very next request. Nothing here knows of
requests to come: the answers are plain lookups over what is stored.

Upstream counterpart: ``plugin/pkg/auth/authorizer/rbac`` and ``component-helpers/auth/rbac/validation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject
from podling.apiserver.registry.objects import object_of
from podling.client.requests import User
from podling.machinery import selectors
from podling.machinery.scheme import Resource, resource_of
from podling.store.base import Event, EventType, Store, Watch

PREFIX = "/registry/rbac.authorization.k8s.io/"
ALL = "*"
KEPT_LENGTH_MAX = 2048
"""Answers are cached for users and attributes of up to so many characters in all."""

Binding = ClusterRoleBinding | RoleBinding


class Attributes(Struct, frozen=True):
    """Attributes of a request: a verb on a resource, or on a path when ``path`` is set."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    on_node: str = ""
    """The node to which a request for pods is limited."""

    def can_be_kept(self, user: User) -> bool:
        """Return whether the decision for ``user`` may be cached: names in requests may be very long."""
        request = (self.group, self.resource, self.subresource, self.namespace, self.name, self.path)
        extra = (text for key, values in user.extra.items() for text in (key, *values))
        texts = (self.verb, self.on_node, user.name, user.uid, *request, *user.groups, *extra)
        return sum(map(len, texts)) <= KEPT_LENGTH_MAX


def rule_allows(rule: PolicyRule, attributes: Attributes) -> bool:
    """Return whether one rule covers a request (``RuleAllows``)."""
    if ALL not in rule.verbs and attributes.verb not in rule.verbs:
        return False
    if attributes.path:
        return any(_path_matches(pattern, attributes.path) for pattern in rule.non_resource_urls)
    if ALL not in rule.api_groups and attributes.group not in rule.api_groups:
        return False
    if rule.resource_names and attributes.name not in rule.resource_names:
        return False
    return _resource_matches(rule.resources, attributes.resource, attributes.subresource)


def _path_matches(pattern: str, path: str) -> bool:
    if pattern in (ALL, path):
        return True
    return pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL))


def _resource_matches(patterns: Iterable[str], resource: str, subresource: str) -> bool:
    combined = f"{resource}/{subresource}" if subresource else resource
    return any(
        pattern in (ALL, combined) or (subresource and pattern == f"{ALL}/{subresource}")
        for pattern in patterns
    )


def subject_keys(user: User) -> list[tuple[str, str]]:
    """Under which (kind, name) bindings may name ``user``; service accounts are users of that name."""
    return [("User", user.name), *(("Group", group) for group in user.groups)]


def _key_of(subject: Subject, namespace: str) -> tuple[str, str]:
    if subject.kind == "ServiceAccount":
        return "User", f"system:serviceaccount:{subject.namespace or namespace}:{subject.name}"
    return subject.kind, subject.name


class RbacIndex:
    """Every role and binding, found by subject and by name."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watch: Watch | None = None
        self._kinds = {
            resource_of(kind).key_prefix: kind
            for kind in (ClusterRole, ClusterRoleBinding, Role, RoleBinding)
        }
        self._roles: dict[str, ClusterRole | Role] = {}
        self._bindings: dict[str, Binding] = {}
        self._by_subject: dict[tuple[str, str], dict[str, Binding]] = {}
        self.version = 0
        """Rises whenever anything changes: what caches of answers compare."""

    async def load(self) -> None:
        """Read everything there is and follow it from here on."""
        page = await self._store.list(PREFIX)
        self.close()
        for known in (self._roles, self._bindings, self._by_subject):
            known.clear()
        for entry in page.entries:
            self._put(entry.key, object_of(entry, self._kind(entry.key)))
        self._watch = self._store.watch(PREFIX, after=page.revision)

    def catch_up(self) -> int:
        """Take in what changed since the last question; returns ``version``."""
        if self._watch is not None:
            events = self._watch.ready()
            if events:
                self._apply(events)
        return self.version

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def rules_for(self, user: User, namespace: str) -> Iterator[tuple[PolicyRule, str]]:
        """Yield every rule that ``user`` has, cluster-wide first, with why; ``namespace`` may be empty."""
        for binding, subject in self._bindings_of(user, namespace):
            why = _reason(binding, subject)
            for rule in self._rules(binding, binding.metadata.namespace or ""):
                yield rule, why

    def missing_roles(self, user: User, namespace: str) -> list[tuple[Resource, str]]:
        """Return the roles that bindings of ``user`` name but that do not exist. Refusals list them."""
        found: dict[tuple[Resource, str], None] = {}
        for binding, _ in self._bindings_of(user, namespace):
            ref, where = binding.role_ref, binding.metadata.namespace or ""
            wanted = ClusterRole if ref.kind == "ClusterRole" else Role
            resource = resource_of(wanted)
            if resource.key(where if wanted is Role else "", ref.name) not in self._roles:
                found[resource, ref.name] = None
        return list(found)

    def _bindings_of(self, user: User, namespace: str) -> Iterator[tuple[Binding, Subject]]:
        """Yield the bindings that name ``user``, cluster-wide first, and the first subject that does."""
        keys, found = subject_keys(user), dict[str, Binding]()
        for key in keys:
            found |= self._by_subject.get(key, {})
        for wanted in ("", namespace) if namespace else ("",):
            for binding in found.values():
                own = binding.metadata.namespace or ""
                if own == wanted:
                    yield binding, next(each for each in binding.subjects if _key_of(each, own) in keys)

    def _rules(self, binding: Binding, namespace: str) -> tuple[PolicyRule, ...]:
        ref = binding.role_ref
        if ref.kind == "ClusterRole":
            return self.cluster_rules(ref.name)
        role = self._roles.get(resource_of(Role).key(namespace, ref.name))
        return role.rules if role else ()

    def cluster_rules(self, name: str) -> tuple[PolicyRule, ...]:
        """Return the rules of a cluster role, those of its parts included; none if there is no such role."""
        role = self._roles.get(resource_of(ClusterRole).key("", name))
        if isinstance(role, ClusterRole) and role.aggregation_rule is not None:
            return tuple(rule for part in self._parts(role) for rule in part.rules)
        return role.rules if role else ()

    def _parts(self, role: ClusterRole) -> list[ClusterRole]:
        """An aggregated role and the cluster roles it is made of, through every level."""
        parts = [role]
        for part in parts:
            if part.aggregation_rule is None:
                continue
            chosen = [
                selectors.from_label_selector(each) for each in part.aggregation_rule.cluster_role_selectors
            ]
            parts += [
                other
                for other in self._roles.values()
                if isinstance(other, ClusterRole)
                and not any(other is known for known in parts)
                and any(each.matches(other.metadata.labels) for each in chosen)
            ]
        return parts

    def _apply(self, events: list[Event]) -> None:
        for event in events:
            entry = event.entry
            if event.type is EventType.DELETE:
                self._remove(entry.key)
            else:
                self._put(entry.key, object_of(entry, self._kind(entry.key)))

    def _kind(self, key: str) -> type[Any]:
        plural = key[: key.index("/", len(PREFIX)) + 1]
        return self._kinds[plural]

    def _put(self, key: str, obj: Any) -> None:
        self._remove(key)
        if isinstance(obj, ClusterRole | Role):
            self._roles[key] = obj
            return
        self._bindings[key] = obj
        for subject in obj.subjects:
            found = self._by_subject.setdefault(_key_of(subject, obj.metadata.namespace or ""), {})
            found[key] = obj

    def _remove(self, key: str) -> None:
        self.version += 1
        self._roles.pop(key, None)
        binding = self._bindings.pop(key, None)
        if binding is not None:
            for subject in binding.subjects:
                self._by_subject[_key_of(subject, binding.metadata.namespace or "")].pop(key, None)


def _reason(binding: Binding, subject: Subject) -> str:
    ref, own = binding.role_ref, binding.metadata
    where = f"{own.name}/{own.namespace}" if own.namespace else own.name
    whom = subject.name
    if subject.kind == "ServiceAccount":
        whom += f"/{subject.namespace or own.namespace}"
    return f'RBAC: allowed by {binding.kind} "{where}" of {ref.kind} "{ref.name}" to {subject.kind} "{whom}"'
