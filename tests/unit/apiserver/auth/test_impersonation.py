"""Impersonation: the groups of an impersonated user, and refusals."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from podling.apiserver.auth.impersonation import impersonated
from podling.apiserver.auth.rbac import Attributes
from podling.client.requests import User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated")
ROOT = User("root", ("system:masters",))
LIST_PODS = Attributes("list", resource="pods", namespace="team")
AGENT = User(
    "system:serviceaccount:team:agent", extra={"authentication.kubernetes.io/node-name": ("n1",), "more": ()}
)
NODE_GROUPS = ("system:nodes", "system:authenticated")


def named(user: str, *headers: tuple[str, str]) -> CIMultiDict[str]:
    return CIMultiDict([("Impersonate-User", user), *headers])


async def allow(cluster: ControlPlane, user: str, *rules: PolicyRule) -> None:
    await cluster.client.create(ClusterRole(metadata=ObjectMeta(name="r"), rules=rules))
    await bind(cluster, user, "r")


async def bind(cluster: ControlPlane, user: str, role: str) -> None:
    bound = ClusterRoleBinding(
        metadata=ObjectMeta(name="b"),
        role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=role),
        subjects=(Subject(kind="User", name=user),),
    )
    await cluster.client.create(bound)


def acting(mode: str, *resources: str, names: tuple[str, ...] = ()) -> PolicyRule:
    return PolicyRule(
        verbs=(f"impersonate:{mode}",),
        api_groups=("authentication.k8s.io",),
        resources=resources,
        resource_names=names,
    )


def listing(mode: str) -> PolicyRule:
    return PolicyRule(verbs=(f"impersonate-on:{mode}:list",), api_groups=("",), resources=("pods",))


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
    headers = named(name, *(("Impersonate-Group", each) for each in groups))
    assert impersonated(ROOT, headers, LIST_PODS, cluster.server.authorizer) == User(name, expected)


@pytest.mark.parametrize(
    ("user", "mode", "resources", "wanted", "expected"),
    [
        (AGENT, "associated-node", ("nodes",), "system:node:n1", NODE_GROUPS),
        (AGENT, "arbitrary-node", ("nodes",), "system:node:n2", NODE_GROUPS),
        (User("ann"), "serviceaccount", ("serviceaccounts",), "system:serviceaccount:team:web", ACCOUNTS),
        (User("ann"), "user-info", ("users",), "bob", ("system:authenticated",)),
        (User("ann"), "user-info", ("users",), "system:node:No_Name", ("system:authenticated",)),
    ],
)
async def test_users_may_be_allowed_to_act_as_others_in_some_requests(
    cluster: ControlPlane,
    user: User,
    mode: str,
    resources: tuple[str, ...],
    wanted: str,
    expected: tuple[str, ...],
) -> None:
    """Source: upstream's test/e2e/auth/constrained_imperonsation.go."""
    await allow(cluster, user.name, acting(mode, *resources), listing(mode))
    authorizer = cluster.server.authorizer
    assert impersonated(user, named(wanted), LIST_PODS, authorizer) == User(wanted, expected)
    asked = Attributes("get", resource="pods", namespace="team", name="a")
    with pytest.raises(ApiError, match=f"cannot impersonate-on:{mode}:get resource"):
        impersonated(user, named(wanted), asked, authorizer)


@pytest.mark.parametrize("wanted", ["system:node:n2", "system:serviceaccount:team:web", "bob"])
async def test_the_right_to_act_as_the_own_node_is_for_no_other_user(
    cluster: ControlPlane, wanted: str
) -> None:
    await allow(cluster, AGENT.name, acting("associated-node", "nodes"), listing("associated-node"))
    for user, name in ((AGENT, wanted), (User(AGENT.name), "system:node:n1")):
        with pytest.raises(ApiError) as error:
            impersonated(user, named(name), LIST_PODS, cluster.server.authorizer)
        assert error.value.status.code == 403


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        (
            [
                ("Impersonate-Group", "devs"),
                ("Impersonate-Uid", "7"),
                ("Impersonate-Extra-Acme.io%2fTeam", "a"),
            ],
            "",
        ),
        ([("Impersonate-Group", f"g{i}") for i in range(4)], ""),
        ([("Impersonate-Group", "other")], 'groups.authentication.k8s.io "other" is forbidden'),
        ([("Impersonate-Group", "system:masters")], "impersonating the system:masters group is not allowed"),
        ([("Impersonate-Group", "")], "impersonating the empty string group is not allowed"),
        (
            [("Impersonate-Extra-Team", "a")],
            "impersonating an invalid key in extra is not allowed: extra.key: Inv",
        ),
        ([("Impersonate-Extra-Acme.io%2fTeam", "")], "impersonating the empty string value in extra is not"),
        ([("Impersonate-Extra-", "a")], "impersonating the empty string key in extra is not allowed"),
        ([("Impersonate-Extra-Acme.io%2fOther", "a")], "cannot impersonate:user-info resource"),
    ],
)
async def test_each_part_of_a_constrained_user_needs_a_right(
    cluster: ControlPlane, headers: list[tuple[str, str]], refused: str
) -> None:
    mode = "user-info"
    groups, team = acting(mode, "groups", names=("devs", "*")), "userextras/acme.io/team"
    await allow(cluster, "ann", acting(mode, "users", "uids", team), groups, listing(mode))
    authorizer = cluster.server.authorizer
    if not refused:
        assert impersonated(User("ann"), named("bob", *headers), LIST_PODS, authorizer).name == "bob"
        return
    with pytest.raises(ApiError) as error:
        impersonated(User("ann"), named("bob", *headers), LIST_PODS, authorizer)
    assert refused in str(error.value)


async def test_right_to_impersonate_allows_every_request(cluster: ControlPlane) -> None:
    rule = PolicyRule(verbs=("impersonate",), api_groups=("",), resources=("users",), resource_names=("bob",))
    await allow(cluster, "ann", rule)
    for asked in (LIST_PODS, Attributes("get", path="/version")):
        assert impersonated(User("ann"), named("bob"), asked, cluster.server.authorizer).name == "bob"


async def test_refusal_has_the_evaluation_error_of_the_authorizer(cluster: ControlPlane) -> None:
    await bind(cluster, "ann", "gone")
    with pytest.raises(ApiError) as error:
        impersonated(User("ann"), named("bob"), LIST_PODS, cluster.server.authorizer)
    assert str(error.value) == (
        'pods is forbidden: User "ann" cannot impersonate-on:user-info:list resource "pods" in API group "" '
        'in the namespace "team": RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )
