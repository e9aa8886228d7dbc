"""Default roles and bindings at a later start: what is missing comes back, and what was added stays."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from podling.apiserver.auth.default_roles import bootstrap_bindings, bootstrap_roles
from podling.apiserver.auth.role_reconciliation import WITHDRAWN, reconciled_binding, reconciled_role
from podling.apiserver.auth.role_rules import READ, rule

READ_PODS, READ_MAPS, READ_ALL = (rule(READ, "core", each) for each in ("pods", "configmaps", "*"))
READ_BOTH = rule(READ, "core", "configmaps pods")
OWN = rule(("get",), "example.com", "widgets")

RULES: list[tuple[tuple[PolicyRule, ...], tuple[PolicyRule, ...]]] = [
    ((), (READ_PODS,)),
    ((READ_PODS,), (READ_PODS,)),
    ((OWN,), (OWN, READ_PODS)),
    ((READ_ALL,), (READ_ALL,)),
    ((READ_BOTH,), (READ_BOTH,)),
    ((READ_MAPS,), (READ_MAPS, READ_PODS)),
    ((*WITHDRAWN, OWN), (OWN, READ_PODS)),
]


def role(*rules: PolicyRule, **annotations: str) -> ClusterRole:
    return ClusterRole(metadata=ObjectMeta(name="reader", annotations=annotations), rules=rules)


@pytest.mark.parametrize(("stored", "after"), RULES)
def test_role_gets_back_what_it_lacks(stored: tuple[PolicyRule, ...], after: tuple[PolicyRule, ...]) -> None:
    assert reconciled_role(role(*stored), role(READ_PODS)).rules == after


def test_protected_role_is_left_alone() -> None:
    protected = role(*WITHDRAWN)
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    metadata = structs.replace(protected.metadata, annotations=annotations)
    protected = structs.replace(protected, metadata=metadata)
    assert reconciled_role(protected, role(READ_PODS)) == protected


def test_binding_gets_back_its_subjects_and_labels() -> None:
    wanted = next(each for each in bootstrap_bindings() if each.metadata.name == "cluster-admin")
    extra = Subject(api_group="rbac.authorization.k8s.io", kind="User", name="jane")
    bare = ClusterRoleBinding(
        metadata=ObjectMeta(name="cluster-admin"), role_ref=wanted.role_ref, subjects=(extra,)
    )
    found = reconciled_binding(bare, wanted)
    assert found.subjects == (extra, *wanted.subjects)
    assert found.metadata.labels == wanted.metadata.labels
    assert reconciled_binding(found, wanted) == found
    other = structs.replace(bare, role_ref=RoleRef(api_group="", kind="ClusterRole", name="view"))
    assert reconciled_binding(other, wanted) == other


def test_nothing_is_withdrawn_that_a_role_should_have() -> None:
    for wanted in bootstrap_roles():
        assert not set(map(repr, wanted.rules)) & set(map(repr, WITHDRAWN))
        assert reconciled_role(wanted, wanted) == wanted
