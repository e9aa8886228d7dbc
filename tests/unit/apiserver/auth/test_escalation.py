"""Privilege escalation: no user grants rights that it does not have."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.rbac_v1 import (
    AggregationRule,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from podling.apiserver.auth.escalation import covers, missing, single_rules
from podling.client.requests import User
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
def test_rule_covers_another_rule(owner: PolicyRule, wanted: PolicyRule, covered: bool) -> None:
    assert covers(owner, wanted) is covered


def test_rule_is_split_into_single_rights() -> None:
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


async def test_user_may_grant_the_rights_it_has(cluster: ControlPlane, admin: User) -> None:
    client = cluster.client_for(admin)
    await client.create(role("reader", rule("get")))
    await client.create(binding("bob", "reader", "Role"))
    await client.create(binding("bob", "view"))


async def test_user_may_not_grant_rights_it_lacks(cluster: ControlPlane, admin: User) -> None:
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


async def test_bind_verb_lets_a_user_bind_the_role(cluster: ControlPlane, admin: User) -> None:
    await cluster.client.create(role("drainer", rule("delete", resource="nodes")))
    await cluster.client.create(role("binder", rule("bind", GROUP, "roles", "drainer")))
    await cluster.client.create(binding("ann", "binder", "Role"))
    await cluster.client_for(admin).create(binding("bob", "drainer", "Role"))


async def test_update_of_a_wider_role_needs_all_of_its_rights(cluster: ControlPlane, admin: User) -> None:
    await cluster.client.create(role("drainer", rule("delete", resource="nodes")))
    client = cluster.client_for(admin)
    changed = await client.patch(Role, "drainer", {"metadata": {"finalizers": ["example.com/x"]}}, "default")
    assert changed.metadata.finalizers == ("example.com/x",)
    with pytest.raises(ApiError, match="is attempting to grant RBAC permissions not currently held"):
        await client.patch(Role, "drainer", {"metadata": {"labels": {"a": "b"}}}, "default")


async def test_missing_rights_are_grouped_by_resource(cluster: ControlPlane) -> None:
    user = User("ann", ("devs", "system:authenticated"))
    await cluster.client.create(binding("ann", "admin"))
    await cluster.client.create(binding("ann", "gone"))
    wanted = PolicyRule(verbs=("watch", "delete"), api_groups=("", "apps"), resources=("nodes",))
    named = PolicyRule(verbs=("get",), api_groups=("",), resources=("nodes",), resource_names=("b", "a"))
    with pytest.raises(ApiError) as error:
        await cluster.client_for(user).create(role("drainer", wanted, named, wanted))
    assert str(error.value) == (
        'roles.rbac.authorization.k8s.io "drainer" is forbidden: user "ann" (groups=["devs" '
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["nodes"], ResourceNames:["a"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["nodes"], ResourceNames:["b"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["nodes"], Verbs:["watch" "delete" "watch" "delete"]}\n'
        '{APIGroups:["apps"], Resources:["nodes"], Verbs:["watch" "delete" "watch" "delete"]}'
        '; resolution errors: [clusterroles.rbac.authorization.k8s.io "gone" not found]'
    )


async def test_aggregated_role_needs_every_right(cluster: ControlPlane) -> None:
    writing = PolicyRule(verbs=("create", "update"), api_groups=(GROUP,), resources=("clusterroles",))
    await cluster.client.create(ClusterRole(metadata=ObjectMeta(name="writer"), rules=(writing, rule("get"))))
    bound = ClusterRoleBinding(
        metadata=ObjectMeta(name="writer"),
        role_ref=RoleRef(api_group=GROUP, kind="ClusterRole", name="writer"),
        subjects=(Subject(kind="User", name="ann"),),
    )
    await cluster.client.create(bound)
    made = ClusterRole(
        metadata=ObjectMeta(name="made"),
        rules=(rule("get"),),
        aggregation_rule=AggregationRule(cluster_role_selectors=(LabelSelector(match_labels={"a": "b"}),)),
    )
    client = cluster.client_for(User("ann"))
    with pytest.raises(ApiError) as error:
        await client.create(made)
    assert str(error.value) == (
        'clusterroles.rbac.authorization.k8s.io "made" is forbidden: '
        "must have cluster-admin privileges to use the aggregationRule"
    )
    stored = await cluster.client.create(made)
    with pytest.raises(ApiError, match="must have cluster-admin privileges to use the aggregationRule"):
        await client.update(structs.replace(stored, aggregation_rule=None))


async def test_missing_role_cannot_be_bound(cluster: ControlPlane, admin: User) -> None:
    client = cluster.client_for(admin)
    for kind, plural in (("Role", "roles"), ("ClusterRole", "clusterroles")):
        with pytest.raises(ApiError) as error:
            await client.create(binding("bob", "gone", kind))
        assert (error.value.code, str(error.value)) == (
            404,
            f'{plural}.rbac.authorization.k8s.io "gone" not found',
        )


async def test_escalation_is_refused_before_validation(cluster: ControlPlane, admin: User) -> None:
    wrong = PolicyRule(verbs=("delete",), api_groups=("",), resources=("nodes",), non_resource_urls=("/a",))
    with pytest.raises(ApiError) as error:
        await cluster.client_for(admin).create(role("wrong", wrong))
    assert error.value.code == 403
    with pytest.raises(ApiError) as error:
        await cluster.client_for(admin).create(role("wrong", PolicyRule()))
    assert error.value.code == 422
