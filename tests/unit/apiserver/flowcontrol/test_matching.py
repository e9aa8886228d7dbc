"""Matching of requests to flow schemas."""

from __future__ import annotations

import pytest

from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.flowcontrol.matching import first_match, in_order
from podling.apiserver.kinds.flowcontrol.defaults import flow_schemas
from podling.client.requests import User

KNOWN = "system:authenticated"
MANAGER = User("system:kube-controller-manager", (KNOWN,))
NODE = User("system:node:n1", ("system:nodes", KNOWN))
OWN = "system:serviceaccounts:kube-system"
OPERATOR = User("system:serviceaccount:default:op", ("system:serviceaccounts", KNOWN))
COLLECTOR = User("system:serviceaccount:kube-system:gc", ("system:serviceaccounts", OWN, KNOWN))
POD = Attributes("create", "", "pods", namespace="default")
LEASE = Attributes("update", "coordination.k8s.io", "leases", namespace="kube-system", name="lock")


@pytest.mark.parametrize(
    ("user", "asked", "schema"),
    [
        (User("root", ("system:masters", KNOWN)), POD, "exempt"),
        (User("probe", ("system:unauthenticated",)), Attributes("get", path="/readyz"), "probes"),
        (User("probe", ("system:unauthenticated",)), Attributes("get", path="/readyz/x"), "global-default"),
        (MANAGER, LEASE, "system-leader-election"),
        (COLLECTOR, LEASE, "system-leader-election"),
        (MANAGER, Attributes("update", "", "endpoints", namespace="default"), "endpoint-controller"),
        (COLLECTOR, Attributes("get", "", "configmaps", namespace="a"), "workload-leader-election"),
        (NODE, Attributes("patch", "", "nodes", "status", name="n1"), "system-node-high"),
        (NODE, LEASE, "system-node-high"),
        (NODE, Attributes("list", "", "pods"), "system-nodes"),
        (MANAGER, POD, "kube-controller-manager"),
        (User("system:kube-scheduler", (KNOWN,)), POD, "kube-scheduler"),
        (COLLECTOR, POD, "kube-system-service-accounts"),
        (OPERATOR, POD, "service-accounts"),
        (OPERATOR, LEASE, "service-accounts"),
        (User("ann", (KNOWN,)), POD, "global-default"),
    ],
)
def test_request_matches_a_flow_schema(user: User, asked: Attributes, schema: str) -> None:
    found = first_match(in_order(flow_schemas()), user, asked)
    assert found is not None
    assert found.metadata.name == schema


def test_user_without_groups_matches_no_flow_schema() -> None:
    assert first_match(in_order(flow_schemas()), User("ghost"), POD) is None
