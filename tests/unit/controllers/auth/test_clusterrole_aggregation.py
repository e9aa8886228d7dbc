"""The controller that aggregates ClusterRoles."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.rbac_v1 import AggregationRule, ClusterRole, PolicyRule
from podling.controllers.auth.clusterrole_aggregation import ClusterRoleAggregationController, aggregated
from podling.controllers.auth.service_account_tokens import ServiceAccountTokensController
from podling.controllers.base import ControllerContext
from podling.controllers.controller_manager import ControllerManager
from podling.testing import ControlPlane
from tests.support.control_loops import running


def tokens(context: ControllerContext) -> ServiceAccountTokensController:
    return ServiceAccountTokensController(context, "CERTIFICATE")


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, ClusterRoleAggregationController, tokens) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


pytestmark = pytest.mark.usefixtures("manager")


READ_PODS = PolicyRule(api_groups=("",), resources=("pods",), verbs=("get",))


READ_NODES = PolicyRule(api_groups=("",), resources=("nodes",), verbs=("get",))


async def role(cluster: ControlPlane, name: str, *rules: PolicyRule) -> None:
    metadata = ObjectMeta(name=name, labels={"team": "a"})
    await cluster.client.create(ClusterRole(metadata=metadata, rules=rules))


async def rules_of(cluster: ControlPlane, name: str) -> tuple[PolicyRule, ...]:
    await cluster.advance(seconds=1)
    return (await cluster.client.get(ClusterRole, name)).rules


async def test_a_role_is_the_sum_of_those_it_selects(cluster: ControlPlane) -> None:
    selectors = (LabelSelector(match_labels={"team": "a"}),)
    total = ClusterRole(
        metadata=ObjectMeta(name="total"), aggregation_rule=AggregationRule(cluster_role_selectors=selectors)
    )
    await cluster.client.create(total)
    await role(cluster, "b", READ_NODES, READ_PODS)
    await role(cluster, "a", READ_PODS)
    assert await rules_of(cluster, "total") == (READ_PODS, READ_NODES)
    await cluster.client.delete(ClusterRole, "b")
    assert await rules_of(cluster, "total") == (READ_PODS,)
    await cluster.client.patch(ClusterRole, "total", {"rules": None})
    assert await rules_of(cluster, "total") == (READ_PODS,)


HAMMER = (
    PolicyRule(verbs=("hammer",), resources=("nails",)),
    PolicyRule(verbs=("hammer",), resources=("wedges",)),
)
CHISEL = (PolicyRule(verbs=("chisel",), resources=("mortises",)),)
SAW = (PolicyRule(verbs=("saw",), resources=("boards",)),)
# the labels that the selectors want, the other roles by name with their label and rules, the combined rules
# (cases of clusterroleaggregation_controller_test.go)
SUMS: list[tuple[list[str], dict[str, tuple[str, tuple[PolicyRule, ...]]], tuple[PolicyRule, ...]]] = [
    (["bar"], {"hammer": ("bar", HAMMER)}, HAMMER),
    (["bar"], {"hammer": ("not-bar", HAMMER)}, ()),
    (
        ["bar"],
        {"chisel": ("bar", CHISEL), "hammer": ("bar", HAMMER), "saw": ("not-bar", SAW)},
        CHISEL + HAMMER,
    ),
    (
        ["bar", "not-bar"],
        {"chisel": ("bar", CHISEL), "hammer": ("bar", HAMMER), "saw": ("not-bar", SAW)},
        CHISEL + HAMMER + SAW,
    ),
    (
        ["bar", "not-bar"],
        {
            "chisel": ("bar", CHISEL),
            "hammer": ("bar", HAMMER),
            "other-saw": ("not-bar", SAW),
            "saw": ("bar", SAW),
        },
        CHISEL + HAMMER + SAW,
    ),
]


@pytest.mark.parametrize(("wanted", "others", "rules"), SUMS)
async def test_rules_of_selected_roles_are_put_together_once_in_order(
    wanted: list[str],
    others: dict[str, tuple[str, tuple[PolicyRule, ...]]],
    rules: tuple[PolicyRule, ...],
) -> None:
    selectors = tuple(LabelSelector(match_labels={"foo": each}) for each in wanted)
    combined = ClusterRole(
        metadata=ObjectMeta(name="combined", labels={"foo": "bar"}),
        aggregation_rule=AggregationRule(cluster_role_selectors=selectors),
        rules=SAW,
    )
    roles = [
        ClusterRole(metadata=ObjectMeta(name=name, labels={"foo": label}), rules=own)
        for name, (label, own) in others.items()
    ]
    assert (
        aggregated(combined, sorted([*roles, combined], key=lambda each: each.metadata.name or "")) == rules
    )
