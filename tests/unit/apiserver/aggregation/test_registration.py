"""APIServices of the groups that the server serves itself."""

from __future__ import annotations

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apiregistration_v1 import APIService
from podling.apiserver.http import discovery
from podling.testing import ControlPlane
from tests.support.custom_resources import definition


async def names(cluster: ControlPlane) -> set[str]:
    await cluster.advance(seconds=10)
    return {each.metadata.name or "" for each in (await cluster.client.list(APIService)).items}


async def test_there_is_one_for_everything_that_is_discovered(cluster: ControlPlane) -> None:
    cluster.server.show_itself()
    found = await names(cluster)
    groups = {
        f"{version.version}.{group.name}" for group in discovery.groups().groups for version in group.versions
    }
    assert found == (groups - {"v1.apiregistration.k8s.io"}) | {"v1."}
    apps = await cluster.client.get(APIService, "v1.apps")
    assert (apps.spec.group_priority_minimum, apps.spec.version_priority) == (17800, 15)
    assert apps.metadata.labels == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    (condition,) = apps.status.conditions
    assert (condition.type, condition.status, condition.reason) == ("Available", "True", "Local")
    newest, older = [
        (await cluster.client.get(APIService, f"{version}.autoscaling")).spec.version_priority
        for version in ("v2", "v1")
    ]
    assert newest > older


async def test_they_come_back_and_write_nothing_more(cluster: ControlPlane) -> None:
    cluster.server.show_itself()
    await names(cluster)
    await cluster.client.delete(APIService, "v1.apps")
    assert "v1.apps" in await names(cluster)
    before = cluster.store.revision
    await cluster.advance(minutes=5)
    assert cluster.store.revision == before


async def test_one_of_a_definition_goes_with_it(cluster: ControlPlane) -> None:
    cluster.server.show_itself()
    await cluster.client.create(definition())
    assert "v1.example.com" in await names(cluster)
    await cluster.client.delete(CustomResourceDefinition, "widgets.example.com")
    assert "v1.example.com" not in await names(cluster)
