"""Default roles and bindings in a cluster that has them already: what is missing is added at every start.

Rules and subjects that the cluster's users have added stay, and an object whose annotation
``rbac.authorization.kubernetes.io/autoupdate`` is ``false`` is left alone. Pure.

Upstream: ``pkg/registry/rbac/reconciliation`` (``reconcile_role.go``, ``reconcile_rolebindings.go``).
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject
from podling.apiserver.auth.default_roles import ANNOTATIONS
from podling.apiserver.auth.escalation import missing
from podling.apiserver.auth.role_rules import UPDATE, WRITE, rule

R = TypeVar("R", ClusterRole, Role)
B = TypeVar("B", ClusterRoleBinding, RoleBinding)

AUTO_UPDATE = next(iter(ANNOTATIONS))
WITHDRAWN = (
    rule(
        WRITE,
        "core",
        "configmaps endpoints persistentvolumeclaims replicationcontrollers replicationcontrollers/scale "
        "serviceaccounts services events",
    ),
    rule(UPDATE, "core", "pods/resize pods/ephemeralcontainers"),
)
"""Rules of earlier releases that gave away too much: they go from default roles."""


def reconciled_role(stored: R, wanted: R) -> R:
    """Return the stored default role with the rules that it should have."""
    if is_protected(stored.metadata):
        return stored
    kept: tuple[PolicyRule, ...] = tuple(each for each in stored.rules if each not in WITHDRAWN)
    added: tuple[PolicyRule, ...] = tuple(each for each in wanted.rules if missing(kept, [each]))
    return structs.replace(
        stored, metadata=_labelled(stored.metadata, wanted.metadata), rules=(*kept, *added)
    )


def reconciled_binding(stored: B, wanted: B) -> B:
    """Return the stored default binding with the subjects that it should have."""
    if is_protected(stored.metadata) or stored.role_ref != wanted.role_ref:
        return stored
    added: tuple[Subject, ...] = tuple(each for each in wanted.subjects if each not in stored.subjects)
    subjects = (*stored.subjects, *added)
    return structs.replace(stored, metadata=_labelled(stored.metadata, wanted.metadata), subjects=subjects)


def is_protected(metadata: ObjectMeta) -> bool:
    return metadata.annotations.get(AUTO_UPDATE) == "false"


def _labelled(stored: ObjectMeta, wanted: ObjectMeta) -> ObjectMeta:
    labels: dict[str, str] = {**stored.labels, **wanted.labels}
    annotations: dict[str, str] = {**stored.annotations, **wanted.annotations}
    if (labels, annotations) == (stored.labels, stored.annotations):
        return stored
    return structs.replace(stored, labels=labels, annotations=annotations)
