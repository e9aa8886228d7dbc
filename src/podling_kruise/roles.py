"""Roles for users of OpenKruise's kinds, which the default roles of namespaces include. Pure."""

from __future__ import annotations

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, PolicyRule
from podling_kruise.names import GROUP

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
RESOURCES = ("clonesets",)


def roles() -> tuple[ClusterRole, ...]:
    """Return the roles: ``view`` reads the kinds, ``edit`` and ``admin`` also write them."""
    names = tuple(f"{name}{part}" for name in RESOURCES for part in ("", "/scale", "/status"))
    writable = tuple(f"{name}{part}" for name in RESOURCES for part in ("", "/scale"))
    return (
        _role("kruise-view", ("view",), PolicyRule(api_groups=(GROUP,), resources=names, verbs=READ)),
        _role(
            "kruise-edit", ("edit", "admin"), PolicyRule(api_groups=(GROUP,), resources=writable, verbs=WRITE)
        ),
    )


def _role(name: str, into: tuple[str, ...], rule: PolicyRule) -> ClusterRole:
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{each}": "true" for each in into}
    return ClusterRole(metadata=ObjectMeta(name=name, labels=labels), rules=(rule,))
