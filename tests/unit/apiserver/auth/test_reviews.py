"""SelfSubjectReviews and SelfSubjectRulesReviews."""

from __future__ import annotations

from podling.api.authentication_v1 import SelfSubjectReview, UserInfo
from podling.api.authorization_v1 import SelfSubjectRulesReview, SelfSubjectRulesReviewSpec
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from podling.client.requests import User
from podling.testing import ControlPlane

GROUP = "rbac.authorization.k8s.io"
ANN = User("ann", ("system:authenticated",))
NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))
HERE = SelfSubjectRulesReview(
    metadata=ObjectMeta(labels={"a": "b"}), spec=SelfSubjectRulesReviewSpec(namespace="default")
)


def bound(role: str, user: str) -> RoleBinding:
    return RoleBinding(
        metadata=ObjectMeta(name=f"{user.replace(':', '.')}-{role}", namespace="default"),
        role_ref=RoleRef(api_group=GROUP, kind="Role", name=role),
        subjects=(Subject(kind="User", name=user),),
    )


async def rules_of(cluster: ControlPlane, user: User) -> SelfSubjectRulesReview:
    return await cluster.client_for(user).create(HERE)


async def test_self_subject_review_answers_the_user(cluster: ControlPlane) -> None:
    asked = SelfSubjectReview(metadata=ObjectMeta(labels={"a": "b"}))
    found = await cluster.client_for(ANN).create(asked)
    assert found.metadata == ObjectMeta(creation_timestamp=found.metadata.creation_timestamp)
    assert found.status.user_info == UserInfo(username="ann", groups=ANN.groups)


async def test_rules_review_lists_the_rules_of_the_user(cluster: ControlPlane) -> None:
    rule = PolicyRule(verbs=("get",), api_groups=("",), resources=("pods",))
    await cluster.client.create(Role(metadata=ObjectMeta(name="reader", namespace="default"), rules=(rule,)))
    await cluster.client.create(bound("reader", "ann"))
    found = await rules_of(cluster, ANN)
    assert (found.metadata, found.spec) == (ObjectMeta(), SelfSubjectRulesReviewSpec())
    assert ("pods",) in [each.resources for each in found.status.resource_rules]
    assert (found.status.incomplete, found.status.evaluation_error) == (False, "")


async def test_rules_review_reports_evaluation_errors(cluster: ControlPlane) -> None:
    await cluster.client.create(bound("gone", "ann"))
    missing = 'role.rbac.authorization.k8s.io "gone" not found'
    status = (await rules_of(cluster, ANN)).status
    assert (status.incomplete, status.evaluation_error) == (False, missing)
    await cluster.client.create(bound("gone", "system:node:n1"))
    status = (await rules_of(cluster, NODE)).status
    nodes = "node authorizer does not support user rule resolution"
    assert (status.incomplete, status.evaluation_error) == (True, f"[{nodes}, {missing}]")


async def test_rules_of_administrators_are_listed_once(cluster: ControlPlane) -> None:
    status = (await rules_of(cluster, User("root", ("system:masters",)))).status
    assert [each.verbs for each in status.resource_rules] == [("*",)]
    assert [each.non_resource_urls for each in status.non_resource_rules] == [("*",)]
