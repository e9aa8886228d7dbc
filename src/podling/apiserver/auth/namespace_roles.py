"""The Roles and RoleBindings that every cluster starts with in its own namespaces.

Upstream: ``namespace_policy.go`` in ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy``.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.rbac_v1 import PolicyRule, Role, RoleBinding, RoleRef
from podling.apiserver.auth.default_roles import RBAC, metadata, subject
from podling.apiserver.auth.role_rules import READ, RECORD_EVENTS, rule

SYSTEM, PUBLIC = "kube-system", "kube-public"
_CONTROLLER = "system:controller:"
_READER = "extension-apiserver-authentication-reader"


def _leader_locking(component: str) -> tuple[PolicyRule, ...]:
    return (
        rule(("watch",), "core", "configmaps"),
        rule(("get", "update"), "core", "configmaps", component),
    )


_ROLES: tuple[tuple[str, str, tuple[PolicyRule, ...]], ...] = (
    (SYSTEM, _READER, (rule(READ, "core", "configmaps", "extension-apiserver-authentication"),)),
    (SYSTEM, "podling:cluster-dns", (rule(READ, "core", "configmaps", "kube-dns"),)),
    (SYSTEM, f"{_CONTROLLER}bootstrap-signer", (rule(READ, "core", "secrets"),)),
    (SYSTEM, f"{_CONTROLLER}cloud-provider", (rule(("create", *READ), "core", "configmaps"),)),
    (SYSTEM, f"{_CONTROLLER}token-cleaner", (rule((*READ, "delete"), "core", "secrets"), RECORD_EVENTS)),
    (SYSTEM, "system::leader-locking-kube-controller-manager", _leader_locking("kube-controller-manager")),
    (SYSTEM, "system::leader-locking-kube-scheduler", _leader_locking("kube-scheduler")),
    (
        PUBLIC,
        f"{_CONTROLLER}bootstrap-signer",
        (
            rule(READ, "core", "configmaps"),
            rule(("update",), "core", "configmaps", "cluster-info"),
            RECORD_EVENTS,
        ),
    ),
)
"""Namespace, name and rules."""

_COMPONENTS = (("User", "system:kube-controller-manager"), ("User", "system:kube-scheduler"))
_BINDINGS: tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...] = (
    (SYSTEM, f"system::{_READER}", _READER, _COMPONENTS),
    (SYSTEM, "podling:cluster-dns", "podling:cluster-dns", (("Group", "system:nodes"),)),
    *(
        (SYSTEM, name, name, (("User", f"system:{component}"), ("ServiceAccount", component)))
        for component in ("kube-controller-manager", "kube-scheduler")
        for name in (f"system::leader-locking-{component}",)
    ),
    *(
        (namespace, f"{_CONTROLLER}{name}", f"{_CONTROLLER}{name}", (("ServiceAccount", name),))
        for namespace, name in (
            (SYSTEM, "bootstrap-signer"),
            (SYSTEM, "cloud-provider"),
            (SYSTEM, "token-cleaner"),
            (PUBLIC, "bootstrap-signer"),
        )
    ),
)
"""Namespace, name, role and subjects; service accounts are those of ``kube-system``."""


def namespace_roles() -> Iterator[Role]:
    for namespace, name, rules in _ROLES:
        yield Role(metadata=metadata(name, namespace=namespace), rules=rules)


def namespace_bindings() -> Iterator[RoleBinding]:
    for namespace, name, role, subjects in _BINDINGS:
        yield RoleBinding(
            metadata=metadata(name, namespace=namespace),
            role_ref=RoleRef(api_group=RBAC, kind="Role", name=role),
            subjects=tuple(subject(kind, who) for kind, who in subjects),
        )
