"""Impersonation: the groups of an impersonated user, and refusals."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRoleBinding, RoleRef, Subject
from podling.apiserver.auth.impersonation import impersonated
from podling.client.requests import User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated")
ROOT = User("root", ("system:masters",))


@pytest.mark.parametrize(
    ("name", "groups", "expected"),
    [
        ("bob", (), ("system:authenticated",)),
        ("bob", ("devs",), ("devs", "system:authenticated")),
        ("bob", ("system:authenticated", "devs"), ("system:authenticated", "devs")),
        ("bob", ("system:unauthenticated",), ("system:unauthenticated",)),
        ("system:anonymous", (), ("system:unauthenticated",)),
        ("system:anonymous", ("devs",), ("devs", "system:unauthenticated")),
        ("system:serviceaccount:team:web", (), ACCOUNTS),
        ("system:serviceaccount:team:web", ("devs",), ("devs", "system:authenticated")),
    ],
)
async def test_impersonated_user_gets_the_groups_of_its_name(
    cluster: ControlPlane, name: str, groups: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    headers = CIMultiDict([("Impersonate-User", name), *(("Impersonate-Group", each) for each in groups)])
    assert impersonated(ROOT, headers, cluster.server.authorizer) == User(name, expected)


async def test_refusal_has_the_evaluation_error_of_the_authorizer(cluster: ControlPlane) -> None:
    bound = ClusterRoleBinding(
        metadata=ObjectMeta(name="b"),
        role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="gone"),
        subjects=(Subject(kind="User", name="ann"),),
    )
    await cluster.client.create(bound)
    with pytest.raises(ApiError) as error:
        impersonated(User("ann"), CIMultiDict({"Impersonate-User": "bob"}), cluster.server.authorizer)
    assert str(error.value) == (
        'users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the '
        'cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )
