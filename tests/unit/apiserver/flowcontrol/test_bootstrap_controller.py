"""The default flow schemas and priority levels, and their names in responses."""

from __future__ import annotations

import pytest

from podling.api.flowcontrol_v1 import FlowSchema, FlowSchemaSpec, PriorityLevelConfiguration
from podling.api.flowcontrol_v1 import PriorityLevelConfigurationReference as Level
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.flowcontrol.bootstrap_controller import ConfigurationProducer
from podling.apiserver.flowcontrol.flows import Flows
from podling.apiserver.flowcontrol.matching import in_order
from podling.apiserver.kinds.flowcontrol.defaults import flow_schemas, priority_levels
from podling.machinery.errors import ApiError
from podling.store.memory import MemoryStore
from podling.testing import ControlPlane
from tests.support.served_here import ServedHere

KNOWN = "system:authenticated"


def test_every_schema_has_its_level() -> None:
    levels = [each.metadata.name for each in priority_levels()]
    assert {each.spec.priority_level_configuration.name for each in flow_schemas()} == set(levels)
    found = list(flow_schemas())
    assert (len(found), len(levels)) == (13, 8)
    assert [each.metadata.name for each in in_order(found)] == [each.metadata.name for each in found]


async def test_changed_default_objects_are_restored(cluster: ControlPlane) -> None:
    producer = ConfigurationProducer(cluster.client, Flows(cluster.store))
    await producer.reconcile()
    before = cluster.store.revision
    await producer.reconcile()
    assert cluster.store.revision == before
    own = await cluster.client.get(FlowSchema, "probes")
    await cluster.client.patch(FlowSchema, "probes", {"spec": {"matchingPrecedence": 3}})
    await cluster.client.delete(PriorityLevelConfiguration, "system")
    await producer.reconcile()
    assert (await cluster.client.get(FlowSchema, "probes")).spec == own.spec
    assert (await cluster.client.get(PriorityLevelConfiguration, "system")).metadata.uid


async def test_mandatory_objects_cannot_be_changed(cluster: ControlPlane) -> None:
    await ConfigurationProducer(cluster.client, Flows(cluster.store)).reconcile()
    for kind, name, change, but in (
        (FlowSchema, "exempt", {"rules": None}, ""),
        (FlowSchema, "catch-all", {"matchingPrecedence": 9999}, ""),
        (PriorityLevelConfiguration, "catch-all", {"limited": {"nominalConcurrencyShares": 6}}, ""),
        (PriorityLevelConfiguration, "exempt", {"type": "Limited"}, " except the 'spec.exempt' field"),
    ):
        with pytest.raises(ApiError, match=f"spec of '{name}'{but} must equal the fixed value"):
            await cluster.client.patch(kind, name, {"spec": change})
    lends = {"spec": {"exempt": {"lendablePercent": 50}}}
    await cluster.client.patch(PriorityLevelConfiguration, "exempt", lends)
    await cluster.client.patch(FlowSchema, "exempt", {"metadata": {"labels": {"a": "b"}}})


async def test_flow_schema_without_its_level_is_dangling(cluster: ControlPlane) -> None:
    spec = FlowSchemaSpec(priority_level_configuration=Level(name="vip"), matching_precedence=7)
    await cluster.client.create(FlowSchema(metadata=ObjectMeta(name="mine"), spec=spec))
    await ConfigurationProducer(cluster.client, Flows(cluster.store)).reconcile()
    (mine,) = (await cluster.client.get(FlowSchema, "mine")).status.conditions
    assert (mine.type, mine.status, mine.reason) == ("Dangling", "True", "NotFound")
    (own,) = (await cluster.client.get(FlowSchema, "probes")).status.conditions
    assert (own.status, own.message) == (
        "False",
        'This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists',
    )


async def memory() -> MemoryStore:
    return MemoryStore()


@pytest.mark.asyncio(loop_factories=["real"])
async def test_responses_name_flow_schema_and_level() -> None:
    async with ServedHere(memory) as served:
        client = served.api.client()

        async def named(path: str, **headers: str) -> tuple[str | None, str | None]:
            async with served.session.get(served.url(path), headers=headers) as answer:
                prefix = "X-Kubernetes-PF"
                schema = answer.headers.get(f"{prefix}-FlowSchema-UID")
                return schema, answer.headers.get(f"{prefix}-PriorityLevel-UID")

        assert await named("/api/v1/pods") == (None, None), "there are none yet"
        await ConfigurationProducer(client, served.api.flows).reconcile()
        exempt = (await client.get(FlowSchema, "exempt")).metadata.uid
        level = (await client.get(PriorityLevelConfiguration, "exempt")).metadata.uid
        for path in ("/api/v1/pods", "/api/v1/pods/x/y", "/version", "/nowhere"):
            assert await named(path) == (exempt, level)
        everybody = (await client.get(FlowSchema, "global-default")).metadata.uid
        other = await named("/api/v1/pods", **{"Impersonate-User": "ann", "Impersonate-Group": KNOWN})
        assert other[0] == everybody, "who may not ask is told, too"
        assert await named("/version", Authorization="Bearer wrong") == (None, None)
        await client.delete(FlowSchema, "exempt")
        assert await named("/api/v1/pods") == ("", level), "the mandatory schema exists without an object"
