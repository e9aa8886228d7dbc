"""Roles for users of OpenKruise's kinds, which the default roles of namespaces include. Pure."""

from __future__ import annotations

from podling.api.core_v1 import Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from podling_kruise.names import GROUP, POLICY_GROUP, SYSTEM_NAMESPACE

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
RESOURCES = (
    "clonesets",
    "daemonsets",
    "statefulsets",
    "broadcastjobs",
    "advancedcronjobs",
    "containerrecreaterequests",
    "imagepulljobs",
    "imagelistpulljobs",
)
POLICY_RESOURCES = ("podunavailablebudgets",)
CLUSTER_RESOURCES = ("sidecarsets", "nodeimages")
"""Kinds that change pods of all namespaces: only administrators of the cluster write them."""
DAEMON_NAMESPACE = "kruise-daemon-config"
"""The namespace of the pull secrets that nodes may read."""
NODES = "system:nodes"
"""The group of kubelets, beside which the controllers of nodes run."""
STATUS_WRITES = ("get", "patch", "update")

Granted = ClusterRole | ClusterRoleBinding | Role | RoleBinding


def roles() -> tuple[Granted, ...]:
    """Return the roles: ``view`` reads the kinds, ``edit`` and ``admin`` write them, nodes do their part."""
    names = tuple(f"{name}{part}" for name in RESOURCES for part in ("", "/scale", "/status"))
    writable = tuple(f"{name}{part}" for name in RESOURCES for part in ("", "/scale"))
    names += tuple(f"{name}{part}" for name in CLUSTER_RESOURCES for part in ("", "/status"))
    policies = tuple(f"{name}{part}" for name in POLICY_RESOURCES for part in ("", "/status"))
    return (
        _role("kruise-view", ("view",), _rule(GROUP, names, READ), _rule(POLICY_GROUP, policies, READ)),
        _role(
            "kruise-edit",
            ("edit", "admin"),
            _rule(GROUP, writable, WRITE),
            _rule(POLICY_GROUP, POLICY_RESOURCES, WRITE),
        ),
        *_of_nodes(),
    )


def _of_nodes() -> tuple[Granted, ...]:
    """Return the role of the controllers that run beside kubelets, and its binding.

    Upstream: ``config/rbac/daemon_role.yaml``.
    """
    name = "kruise-daemon"
    kinds = ("containerrecreaterequests", "nodeimages")
    read = _rule(GROUP, kinds, READ)
    write = _rule(GROUP, tuple(f"{each}/status" for each in kinds), STATUS_WRITES)
    own = ObjectMeta(name=name, namespace=DAEMON_NAMESPACE)
    role = RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=name)
    reference = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=name)
    subject = Subject(api_group="rbac.authorization.k8s.io", kind="Group", name=NODES)
    return (
        ClusterRole(metadata=ObjectMeta(name=name), rules=(read, write)),
        ClusterRoleBinding(metadata=ObjectMeta(name=name), role_ref=reference, subjects=(subject,)),
        Role(metadata=own, rules=(_rule("", ("secrets",), ("get",)),)),
        RoleBinding(metadata=own, role_ref=role, subjects=(subject,)),
    )


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> PolicyRule:
    return PolicyRule(api_groups=(group,), resources=resources, verbs=verbs)


def _role(name: str, into: tuple[str, ...], *rules: PolicyRule) -> ClusterRole:
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{each}": "true" for each in into}
    return ClusterRole(metadata=ObjectMeta(name=name, labels=labels), rules=rules)


def namespaces() -> tuple[Namespace, ...]:
    """Return the namespaces of OpenKruise's configuration and revisions, and of secrets for nodes."""
    return tuple(Namespace(metadata=ObjectMeta(name=name)) for name in (SYSTEM_NAMESPACE, DAEMON_NAMESPACE))
