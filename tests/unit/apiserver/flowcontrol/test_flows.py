"""The flow schema and priority level of a request, as the store has them at that time."""

from __future__ import annotations

from podling.api.core_v1 import Namespace, Pod
from podling.api.flowcontrol_v1 import FlowSchema, PriorityLevelConfiguration
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.flowcontrol.bootstrap_controller import ConfigurationProducer
from podling.apiserver.flowcontrol.flows import Flows
from podling.client.requests import Target, User
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane

KNOWN = "system:authenticated"
ANN = User("ann", (KNOWN,))
ROOT = User("root", ("system:masters", KNOWN))
PODS = Target(resource_of(Pod), "default")


async def following(cluster: ControlPlane) -> Flows:
    """Return flows that follow the default flow schemas."""
    flows = Flows(cluster.store)
    await ConfigurationProducer(cluster.client, flows).reconcile()
    if not flows.following:
        await flows.follow()
    return flows


async def uids(cluster: ControlPlane, schema: str, level: str) -> tuple[str | None, str | None]:
    found = await cluster.client.get(FlowSchema, schema)
    return found.metadata.uid, (await cluster.client.get(PriorityLevelConfiguration, level)).metadata.uid


async def test_request_has_the_uids_of_its_schema_and_level(cluster: ControlPlane) -> None:
    flows = await following(cluster)
    exempt, default = (
        await uids(cluster, "exempt", "exempt"),
        await uids(cluster, "global-default", "global-default"),
    )
    assert flows.of_target(ROOT, "list", PODS).uids == exempt
    assert flows.of_target(ANN, "list", PODS).uids == default
    assert flows.of(ANN, Attributes("get", path="/version")).uids == default
    catch_all = await uids(cluster, "catch-all", "catch-all")
    assert flows.of_target(User("ghost"), "list", PODS).uids == catch_all, "as upstream for no match at all"
    flows.close()


async def test_cached_flow_ends_with_its_schema(cluster: ControlPlane) -> None:
    flows = await following(cluster)
    default = await uids(cluster, "global-default", "global-default")
    assert flows.of_target(ANN, "list", PODS).uids == default
    await cluster.client.delete(FlowSchema, "global-default")
    flows.catch_up()
    assert flows.of_target(ANN, "list", PODS).uids == await uids(cluster, "catch-all", "catch-all")
    flows.close()


async def test_flow_of_a_namespace_is_the_flow_within_it(cluster: ControlPlane) -> None:
    flows = await following(cluster)
    target = Target(resource_of(Namespace), "", "default")
    expected = flows.of(ANN, Attributes("get", "", "namespaces", namespace="default"))
    assert flows.of_target(ANN, "get", target).uids == expected.uids
    flows.close()


async def test_closed_flows_follow_nothing(cluster: ControlPlane) -> None:
    flows = await following(cluster)
    assert flows.following
    flows.close()
    assert not flows.following
