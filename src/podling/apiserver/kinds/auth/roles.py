"""Roles and their bindings: names may contain colons, and the role of a binding never changes.

Upstream: ``pkg/apis/rbac/validation/validation.go`` and ``pkg/apis/rbac/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from podling.api.rbac_v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.machinery import fields, names
from podling.machinery.fields import FieldError, Path
from podling.machinery.label_checks import label_selector
from podling.machinery.selectors import SelectorError, from_label_selector
from podling.machinery.tables import Column

GROUP = "rbac.authorization.k8s.io"


class RoleRules(KindRules[ClusterRole | Role]):
    """Rules of ClusterRoles and Roles."""

    create_on_update = True
    columns = (Column("Name", format="name"), Column("Created At", type="date"))

    def name_errors(self, name: str) -> list[str]:
        return names.path_segment_errors(name)

    def validate(self, obj: ClusterRole | Role, context: Context) -> list[FieldError]:
        found: list[FieldError] = []
        for position, rule in enumerate(obj.rules):
            found += _rule_errors(rule, Path("rules").index(position), namespaced=isinstance(obj, Role))
        return found + (_aggregation_errors(obj) if isinstance(obj, ClusterRole) else [])

    def row(self, obj: ClusterRole | Role, now: datetime) -> Sequence[Any]:
        created = obj.metadata.creation_timestamp
        return obj.metadata.name, created.strftime("%Y-%m-%dT%H:%M:%SZ") if created else "<unknown>"


class BindingRules(KindRules[ClusterRoleBinding | RoleBinding]):
    """Rules of ClusterRoleBindings and RoleBindings."""

    create_on_update = True
    columns = (
        Column("Name", format="name"),
        Column("Role"),
        Column("Age"),
        Column("Users", priority=1),
        Column("Groups", priority=1),
        Column("ServiceAccounts", priority=1),
    )

    def name_errors(self, name: str) -> list[str]:
        return names.path_segment_errors(name)

    def default(self, obj: ClusterRoleBinding | RoleBinding) -> ClusterRoleBinding | RoleBinding:
        ref = obj.role_ref
        if not ref.api_group:
            ref = structs.replace(ref, api_group=GROUP)
        subjects = tuple(_default_subject(subject) for subject in obj.subjects)
        if ref is obj.role_ref and subjects == obj.subjects:
            return obj
        return structs.replace(obj, role_ref=ref, subjects=subjects)

    def validate(self, obj: ClusterRoleBinding | RoleBinding, context: Context) -> list[FieldError]:
        found = _role_ref_errors(obj.role_ref, namespaced=isinstance(obj, RoleBinding))
        for position, subject in enumerate(obj.subjects):
            found += _subject_errors(
                subject, Path("subjects").index(position), namespaced=isinstance(obj, RoleBinding)
            )
        return found

    def validate_update(
        self,
        new: ClusterRoleBinding | RoleBinding,
        old: ClusterRoleBinding | RoleBinding,
        context: Context,
    ) -> list[FieldError]:
        found = self.validate(new, context)
        if new.role_ref != old.role_ref:
            ref = new.role_ref
            shown = fields.in_go(APIGroup=ref.api_group, Kind=ref.kind, Name=ref.name)
            found.append(fields.invalid(Path("roleRef"), shown, "cannot change roleRef"))
        return found

    def row(self, obj: ClusterRoleBinding | RoleBinding, now: datetime) -> Sequence[Any]:
        from podling.machinery.tables import translate_timestamp_since as age

        def names_of_kind(kind: str) -> str:
            return ", ".join(
                f"{each.namespace}/{each.name}" if each.namespace else each.name
                for each in obj.subjects
                if each.kind == kind
            )

        return (
            obj.metadata.name,
            f"{obj.role_ref.kind}/{obj.role_ref.name}",
            age(obj.metadata.creation_timestamp, now),
            names_of_kind("User"),
            names_of_kind("Group"),
            names_of_kind("ServiceAccount"),
        )


def _default_subject(subject: Subject) -> Subject:
    if subject.api_group or subject.kind not in ("User", "Group"):
        return subject
    return structs.replace(subject, api_group=GROUP)


def _rule_errors(rule: PolicyRule, path: Path, *, namespaced: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if not rule.verbs:
        found.append(fields.required(path.child("verbs"), "verbs must contain at least one value"))
    if rule.non_resource_urls:
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            found.append(fields.invalid(path.child("nonResourceURLs"), list(rule.non_resource_urls), why))
        if rule.api_groups or rule.resources or rule.resource_names:
            why = "rules cannot apply to both regular resources and non-resource URLs"
            found.append(fields.invalid(path.child("nonResourceURLs"), list(rule.non_resource_urls), why))
        return found
    if not rule.api_groups:
        why = "resource rules must supply at least one api group"
        found.append(fields.required(path.child("apiGroups"), why))
    if not rule.resources:
        why = "resource rules must supply at least one resource"
        found.append(fields.required(path.child("resources"), why))
    return found


def _aggregation_errors(role: ClusterRole) -> list[FieldError]:
    if role.aggregation_rule is None:
        return []
    path = Path("aggregationRule").child("clusterRoleSelectors")
    selectors = role.aggregation_rule.cluster_role_selectors
    if not selectors:
        return [
            fields.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        ]
    found: list[FieldError] = []
    for position, selector in enumerate(selectors):
        found += label_selector(path.index(position), selector)
        try:
            from_label_selector(selector)
        except SelectorError:
            found.append(fields.invalid(path.index(position), None, "invalid label selector."))
    return found


def _role_ref_errors(ref: RoleRef, *, namespaced: bool) -> list[FieldError]:
    path, found = Path("roleRef"), []
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if ref.api_group != GROUP:
        found.append(fields.not_supported(path.child("apiGroup"), ref.api_group, (GROUP,)))
    if ref.kind not in kinds:
        found.append(fields.not_supported(path.child("kind"), ref.kind, kinds))
    if not ref.name:
        found.append(fields.required(path.child("name")))
    else:
        problems = names.path_segment_errors(ref.name)
        found += [fields.invalid(path.child("name"), ref.name, text) for text in problems]
    return found


def _subject_errors(subject: Subject, path: Path, *, namespaced: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if not subject.name:
        found.append(fields.required(path.child("name")))
    if subject.kind == "ServiceAccount":
        if subject.name:
            problems = names.dns_subdomain_errors(subject.name)
            found += [fields.invalid(path.child("name"), subject.name, text) for text in problems]
        if subject.api_group:
            found.append(fields.not_supported(path.child("apiGroup"), subject.api_group, ("",)))
        if not namespaced and not subject.namespace:
            found.append(fields.required(path.child("namespace")))
    elif subject.kind in ("User", "Group"):
        if subject.api_group != GROUP:
            found.append(fields.not_supported(path.child("apiGroup"), subject.api_group, (GROUP,)))
    else:
        kinds = ("ServiceAccount", "User", "Group")
        found.append(fields.not_supported(path.child("kind"), subject.kind, kinds))
    return found
