"""Roles for users of OpenKruise's kinds, which the default roles of namespaces include. Pure."""

from __future__ import annotations

from podling.api.core_v1 import Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, PolicyRule
from podling_kruise.names import GROUP, SYSTEM_NAMESPACE

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
RESOURCES = ("clonesets", "daemonsets", "statefulsets", "broadcastjobs")
CLUSTER_RESOURCES = ("sidecarsets",)
"""Kinds that change pods of all namespaces: only administrators of the cluster write them."""


def roles() -> tuple[ClusterRole, ...]:
    """Return the roles: ``view`` reads the kinds, ``edit`` and ``admin`` also write them."""
    names = tuple(f"{name}{part}" for name in RESOURCES for part in ("", "/scale", "/status"))
    writable = tuple(f"{name}{part}" for name in RESOURCES for part in ("", "/scale"))
    names += tuple(f"{name}{part}" for name in CLUSTER_RESOURCES for part in ("", "/status"))
    return (
        _role("kruise-view", ("view",), PolicyRule(api_groups=(GROUP,), resources=names, verbs=READ)),
        _role(
            "kruise-edit", ("edit", "admin"), PolicyRule(api_groups=(GROUP,), resources=writable, verbs=WRITE)
        ),
    )


def _role(name: str, into: tuple[str, ...], rule: PolicyRule) -> ClusterRole:
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{each}": "true" for each in into}
    return ClusterRole(metadata=ObjectMeta(name=name, labels=labels), rules=(rule,))


def system_namespace() -> Namespace:
    """Return the namespace of OpenKruise's configuration and of the revisions of SidecarSets."""
    return Namespace(metadata=ObjectMeta(name=SYSTEM_NAMESPACE))
