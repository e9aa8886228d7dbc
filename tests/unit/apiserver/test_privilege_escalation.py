"""Nobody gives away rights they do not have."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from podling.apiserver.escalation import covers, missing, single_rules
from podling.client.local import User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

GROUP = "rbac.authorization.k8s.io"


def rule(verb: str, group: str = "", resource: str = "pods", name: str = "") -> PolicyRule:
    return PolicyRule(
        verbs=(verb,), api_groups=(group,), resources=(resource,), resource_names=(name,) if name else ()
    )


def urls(verb: str, url: str) -> PolicyRule:
    return PolicyRule(verbs=(verb,), non_resource_urls=(url,))


@pytest.mark.parametrize(
    ("owner", "wanted", "covered"),
    [
        (rule("get"), rule("get"), True),
        (rule("get"), rule("list"), False),
        (rule("*"), rule("list"), True),
        (rule("get"), rule("*"), False),
        (rule("get", "*"), rule("get", "apps"), True),
        (rule("get", resource="*"), rule("get", resource="pods/log"), True),
        (rule("get", resource="*/log"), rule("get", resource="pods/log"), True),
        (rule("get", resource="pods"), rule("get", resource="pods/log"), False),
        (rule("get", name="a"), rule("get", name="a"), True),
        (rule("get", name="a"), rule("get"), False),
        (rule("get"), rule("get", name="a"), True),
        (urls("get", "/a/*"), urls("get", "/a/b"), True),
        (urls("get", "/a/*"), urls("get", "/a/b*"), True),
        (urls("get", "/a"), urls("get", "/a/*"), False),
        (rule("*", "*", "*"), urls("get", "/a"), False),
    ],
)
def test_one_right_and_another(owner: PolicyRule, wanted: PolicyRule, covered: bool) -> None:
    assert covers(owner, wanted) is covered


def test_a_rule_taken_apart() -> None:
    wide = PolicyRule(verbs=("get", "list"), api_groups=("", "apps"), resources=("pods", "jobs"))
    assert len(list(single_rules(wide))) == 8
    assert missing([rule("get"), rule("get", resource="jobs")], (wide,)) == [
        rule("get", "apps", "pods"),
        rule("get", "apps", "jobs"),
        *(rule("list", group, resource) for group in ("", "apps") for resource in ("pods", "jobs")),
    ]


@pytest.fixture
async def admin(cluster: ControlPlane) -> User:
    """A user who may write roles in one namespace."""
    user = User("ann", ("system:authenticated",))
    await cluster.client.create(binding("ann", "admin"))
    return user


def binding(user: str, role: str, kind: str = "ClusterRole") -> RoleBinding:
    return RoleBinding(
        metadata=ObjectMeta(name=f"{user}-{role}", namespace="default"),
        role_ref=RoleRef(api_group=GROUP, kind=kind, name=role),
        subjects=(Subject(kind="User", name=user),),
    )


def role(name: str, *rules: PolicyRule) -> Role:
    return Role(metadata=ObjectMeta(name=name, namespace="default"), rules=rules)


async def test_what_one_has_one_may_give(cluster: ControlPlane, admin: User) -> None:
    client = cluster.client_for(admin)
    await client.create(role("reader", rule("get")))
    await client.create(binding("bob", "reader", "Role"))
    await client.create(binding("bob", "view"))


async def test_what_one_lacks_one_may_not(cluster: ControlPlane, admin: User) -> None:
    client = cluster.client_for(admin)
    with pytest.raises(ApiError) as error:
        await client.create(role("drainer", rule("delete", resource="nodes")))
    assert error.value.code == 403
    assert str(error.value) == (
        'roles.rbac.authorization.k8s.io "drainer" is forbidden: user "ann" '
        '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["nodes"], Verbs:["delete"]}'
    )
    with pytest.raises(ApiError, match="is attempting to grant RBAC permissions not currently held"):
        await client.create(binding("ann", "cluster-admin"))


async def test_who_may_bind_a_role_may_give_it(cluster: ControlPlane, admin: User) -> None:
    await cluster.client.create(role("drainer", rule("delete", resource="nodes")))
    await cluster.client.create(role("binder", rule("bind", GROUP, "roles", "drainer")))
    await cluster.client.create(binding("ann", "binder", "Role"))
    await cluster.client_for(admin).create(binding("bob", "drainer", "Role"))


async def test_other_changes_of_a_wider_role_are_free(cluster: ControlPlane, admin: User) -> None:
    await cluster.client.create(role("drainer", rule("delete", resource="nodes")))
    patch = {"metadata": {"labels": {"a": "b"}}}
    changed = await cluster.client_for(admin).patch(Role, "drainer", patch, "default")
    assert changed.metadata.labels == {"a": "b"}
