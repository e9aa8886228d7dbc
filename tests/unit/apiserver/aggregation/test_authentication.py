"""The ConfigMap with the authorities that aggregated servers trust."""

from __future__ import annotations

from podling.api.core_v1 import ConfigMap
from podling.api.rbac_v1 import Role
from podling.apiserver.aggregation.authentication import NAME, NAMESPACE, READER, publish
from podling.testing import ControlPlane


async def test_config_map_is_written_at_every_start(cluster: ControlPlane) -> None:
    await publish(cluster.client, "first")
    await publish(cluster.client, "second")
    found = await cluster.client.get(ConfigMap, NAME, NAMESPACE)
    assert found.data["requestheader-client-ca-file"] == "second"
    assert found.data["requestheader-allowed-names"] == '["front-proxy-client"]'
    role = await cluster.client.get(Role, READER, NAMESPACE)
    assert role.rules[0].resource_names == (NAME,)
