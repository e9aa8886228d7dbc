"""Roles for users of VerticalPodAutoscalers, which the default roles of namespaces include. Pure."""

from __future__ import annotations

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, PolicyRule
from podling_vpa.names import GROUP

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
AUTOSCALERS, CHECKPOINTS = "verticalpodautoscalers", "verticalpodautoscalercheckpoints"


def roles() -> tuple[ClusterRole, ...]:
    """Return the roles: ``view`` reads autoscalers, ``edit`` and ``admin`` also write them."""
    return (
        _role("vpa-view", ("view",), (AUTOSCALERS, f"{AUTOSCALERS}/status", CHECKPOINTS), READ),
        _role("vpa-edit", ("edit", "admin"), (AUTOSCALERS,), WRITE),
    )


def _role(
    name: str, into: tuple[str, ...], resources: tuple[str, ...], verbs: tuple[str, ...]
) -> ClusterRole:
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{each}": "true" for each in into}
    rule = PolicyRule(api_groups=(GROUP,), resources=resources, verbs=verbs)
    return ClusterRole(metadata=ObjectMeta(name=name, labels=labels), rules=(rule,))
