"""The root certificate in every namespace. Cases of upstream's ``rootcacertpublisher/publisher_test.go``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import ConfigMap, Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.auth.root_ca import CONFIG_MAP, DESCRIPTION, DESCRIPTION_ANNOTATION, RootCAController
from podling.controllers.controller_manager import ControllerManager
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.counts import samples


@pytest.fixture(autouse=True)
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, lambda context: RootCAController(context, "CERTIFICATE")) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def published(cluster: ControlPlane, namespace: str = "default") -> ConfigMap:
    await cluster.advance(seconds=1)
    return await cluster.client.get(ConfigMap, CONFIG_MAP, namespace)


async def test_new_namespace_gets_the_certificate(cluster: ControlPlane, manager: ControllerManager) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    held = await published(cluster, "team")
    assert held.data == {"ca.crt": "CERTIFICATE"}
    assert held.metadata.annotations == {DESCRIPTION_ANNOTATION: DESCRIPTION}
    assert samples([manager], "root_ca_cert_publisher_sync_total")[("200",)] > 0


async def test_deleted_object_is_made_again(cluster: ControlPlane) -> None:
    before = await published(cluster)
    await cluster.client.delete(ConfigMap, CONFIG_MAP, "default")
    assert (await published(cluster)).metadata.uid != before.metadata.uid


@pytest.mark.parametrize("data", [{"ca.crt": "OTHER"}, {"ca.crt": None}, {"more": "x"}])
async def test_changed_data_are_restored(cluster: ControlPlane, data: dict[str, str | None]) -> None:
    await published(cluster)
    await cluster.client.patch(ConfigMap, CONFIG_MAP, {"data": data}, "default")
    assert (await published(cluster)).data == {"ca.crt": "CERTIFICATE"}


@pytest.mark.parametrize(
    ("text", "wanted"), [(None, DESCRIPTION), ("", DESCRIPTION), ("our own words", "our own words")]
)
async def test_missing_description_is_restored(cluster: ControlPlane, text: str | None, wanted: str) -> None:
    await published(cluster)
    patch = {"metadata": {"annotations": {DESCRIPTION_ANNOTATION: text}}}
    await cluster.client.patch(ConfigMap, CONFIG_MAP, patch, "default")
    assert (await published(cluster)).metadata.annotations[DESCRIPTION_ANNOTATION] == wanted
