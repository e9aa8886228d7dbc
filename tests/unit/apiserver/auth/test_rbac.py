"""RBAC: single rules as a table, then stored roles and bindings."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap, Namespace, Pod, Secret
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
from podling.apiserver.auth.rbac import Attributes, rule_allows
from podling.apiserver.auth.token_claims import service_account_user
from podling.client.local import LocalClient
from podling.client.requests import User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

GROUP = "rbac.authorization.k8s.io"
PODS = PolicyRule(verbs=("get", "list"), api_groups=("",), resources=("pods",))
ALICE = User("alice", ("system:authenticated",))


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        (PODS, Attributes("get", "", "pods"), True),
        (PODS, Attributes("delete", "", "pods"), False),
        (PODS, Attributes("get", "apps", "pods"), False),
        (PODS, Attributes("get", "", "pods", "log"), False),
        (
            PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
            Attributes("eat", "x", "y", "z"),
            True,
        ),
        (
            PolicyRule(verbs=("get",), api_groups=("",), resources=("pods/log",)),
            Attributes("get", "", "pods", "log"),
            True,
        ),
        (
            PolicyRule(verbs=("get",), api_groups=("",), resources=("*/status",)),
            Attributes("get", "", "nodes", "status"),
            True,
        ),
        (
            PolicyRule(verbs=("get",), api_groups=("",), resources=("secrets",), resource_names=("a",)),
            Attributes("get", "", "secrets", name="a"),
            True,
        ),
        (
            PolicyRule(verbs=("get",), api_groups=("",), resources=("secrets",), resource_names=("a",)),
            Attributes("get", "", "secrets", name="b"),
            False,
        ),
        (
            PolicyRule(verbs=("get",), non_resource_urls=("/healthz/*",)),
            Attributes("get", path="/healthz/x"),
            True,
        ),
        (
            PolicyRule(verbs=("get",), non_resource_urls=("/healthz",)),
            Attributes("get", path="/metrics"),
            False,
        ),
        (PODS, Attributes("get", path="/healthz"), False),
    ],
)
def test_rule_allows_matching_requests(rule: PolicyRule, asked: Attributes, allowed: bool) -> None:
    assert rule_allows(rule, asked) is allowed


async def allowed_to_list(client: LocalClient, namespace: str | None) -> bool:
    try:
        await client.list(Pod, namespace)
    except ApiError as error:
        if error.code != 403:
            raise
        return False
    return True


def binding(role: str, *subjects: Subject, namespace: str = "default") -> RoleBinding:
    return RoleBinding(
        metadata=ObjectMeta(name=role, namespace=namespace),
        role_ref=RoleRef(api_group=GROUP, kind="ClusterRole", name=role),
        subjects=subjects,
    )


async def test_user_without_bindings_is_refused(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError) as error:
        await cluster.client_for(ALICE).get(Pod, "web", "default")
    assert str(error.value) == (
        'pods "web" is forbidden: User "alice" cannot get resource "pods" in API group "" '
        'in the namespace "default"'
    )
    with pytest.raises(ApiError) as error:
        await cluster.client_for(ALICE).list(Namespace)
    assert str(error.value) == (
        'namespaces is forbidden: User "alice" cannot list resource "namespaces" in API group "" '
        "at the cluster scope"
    )


async def test_binding_applies_at_once_and_in_its_namespace_only(cluster: ControlPlane) -> None:
    alice = cluster.client_for(ALICE)
    assert not await allowed_to_list(alice, "default")
    await cluster.client.create(binding("view", Subject(kind="User", name="alice")))
    assert await allowed_to_list(alice, "default")
    assert not await allowed_to_list(alice, "kube-system")
    assert not await allowed_to_list(alice, None)
    await cluster.client.delete(RoleBinding, "view", "default")
    assert not await allowed_to_list(alice, "default")


@pytest.mark.parametrize(
    ("subject", "user"),
    [
        (Subject(kind="Group", name="staff"), User("bob", ("staff",))),
        (Subject(kind="ServiceAccount", name="robot"), service_account_user("default", "robot")),
        (
            Subject(kind="ServiceAccount", name="robot", namespace="kube-system"),
            service_account_user("kube-system", "robot"),
        ),
    ],
)
async def test_binding_applies_to_each_kind_of_subject(
    cluster: ControlPlane, subject: Subject, user: User
) -> None:
    await cluster.client.create(binding("view", subject))
    assert await allowed_to_list(cluster.client_for(user), "default")


async def test_rights_of_view_edit_and_admin(cluster: ControlPlane) -> None:
    for role in ("view", "edit", "admin"):
        await cluster.client.create(binding(role, Subject(kind="User", name=role)))
    may: dict[str, list[str]] = {}
    for role in ("view", "edit", "admin"):
        client = cluster.client_for(User(role))
        may[role] = []
        for kind in (ConfigMap, Secret, Role):
            try:
                await client.create(kind(metadata=ObjectMeta(name=role, namespace="default")))
                may[role].append(kind.__name__)
            except ApiError as error:
                if error.code != 403:
                    raise
    assert may == {"view": [], "edit": ["ConfigMap", "Secret"], "admin": ["ConfigMap", "Secret", "Role"]}


async def test_roles_aggregate_through_labels(cluster: ControlPlane) -> None:
    labels = {"example.com/team": "yes"}
    rule = AggregationRule(cluster_role_selectors=(LabelSelector(match_labels=labels),))
    await cluster.client.create(ClusterRole(metadata=ObjectMeta(name="team"), aggregation_rule=rule))
    await cluster.client.create(
        ClusterRoleBinding(
            metadata=ObjectMeta(name="team"),
            role_ref=RoleRef(api_group=GROUP, kind="ClusterRole", name="team"),
            subjects=(Subject(kind="User", name="alice"),),
        )
    )
    alice = cluster.client_for(ALICE)
    assert not await allowed_to_list(alice, None)
    await cluster.client.create(ClusterRole(metadata=ObjectMeta(name="part", labels=labels), rules=(PODS,)))
    assert await allowed_to_list(alice, None)


async def test_a_binding_never_changes_its_role(cluster: ControlPlane) -> None:
    await cluster.client.create(binding("view", Subject(kind="User", name="alice")))
    patch = {"roleRef": {"name": "admin"}}
    with pytest.raises(ApiError, match="cannot change roleRef"):
        await cluster.client.patch(RoleBinding, "view", patch, "default")


async def test_malformed_aggregation_selector_is_refused(cluster: ControlPlane) -> None:
    selector = LabelSelector(match_labels={"a": "-not-a-value-"})
    rule = AggregationRule(cluster_role_selectors=(selector,))
    with pytest.raises(ApiError, match="must be an empty string or consist of alphanumeric"):
        await cluster.client.create(ClusterRole(metadata=ObjectMeta(name="bad"), aggregation_rule=rule))


async def test_right_to_one_name_allows_list_and_watch_of_that_name(cluster: ControlPlane) -> None:
    rule = PolicyRule(
        verbs=("get", "list", "watch"), api_groups=("",), resources=("configmaps",), resource_names=("mine",)
    )
    await cluster.client.create(Role(metadata=ObjectMeta(name="one", namespace="default"), rules=(rule,)))
    mine = binding("one", Subject(kind="User", name="alice"))
    mine = structs.replace(mine, role_ref=RoleRef(api_group=GROUP, kind="Role", name="one"))
    await cluster.client.create(mine)
    for name in ("mine", "other"):
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
    alice = cluster.client_for(ALICE)
    found = await alice.list(ConfigMap, "default", field_selector="metadata.name=mine")
    assert [each.metadata.name for each in found.items] == ["mine"]
    for selector in ("", "metadata.name=other", "metadata.name!=mine"):
        with pytest.raises(ApiError) as error:
            await alice.list(ConfigMap, "default", field_selector=selector)
        assert error.value.code == 403


async def test_refusal_names_bound_roles_that_do_not_exist(cluster: ControlPlane) -> None:
    await cluster.client.create(binding("nothing", Subject(kind="User", name="alice")))
    with pytest.raises(ApiError) as error:
        await cluster.client_for(ALICE).get(Pod, "web", "default")
    assert str(error.value) == (
        'pods "web" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace '
        '"default": RBAC: clusterrole.rbac.authorization.k8s.io "nothing" not found'
    )


@pytest.mark.parametrize(
    ("subjects", "whom"),
    [
        ((Subject(kind="User", name="alice"),), 'User "alice"'),
        ((Subject(kind="Group", name="devs"), Subject(kind="User", name="alice")), 'Group "devs"'),
        ((Subject(kind="ServiceAccount", name="web"),), 'ServiceAccount "web/default"'),
        ((Subject(kind="ServiceAccount", name="web", namespace="team"),), 'ServiceAccount "web/team"'),
    ],
)
async def test_right_is_listed_once_with_the_first_matching_subject(
    cluster: ControlPlane, subjects: tuple[Subject, ...], whom: str
) -> None:
    place = ObjectMeta(name="reader", namespace="default")
    await cluster.client.create(Role(metadata=place, rules=(PODS,)))
    ref = RoleRef(api_group=GROUP, kind="Role", name="reader")
    await cluster.client.create(RoleBinding(metadata=place, role_ref=ref, subjects=subjects))
    space = subjects[0].namespace or "default"
    account = subjects[0].kind == "ServiceAccount"
    user = service_account_user(space, "web") if account else User("alice", ("devs", "system:authenticated"))
    index = cluster.server.authorizer.index
    index.catch_up()
    found = [why for rule, why in index.rules_for(user, "default") if rule == PODS]
    assert found == [f'RBAC: allowed by RoleBinding "reader/default" of Role "reader" to {whom}']
