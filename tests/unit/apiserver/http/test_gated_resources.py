"""Resources behind a feature gate, over HTTP: paths, discovery and OpenAPI have them with the gate only."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from tests.support.served_here import serving

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

GROUP = "/apis/scheduling.k8s.io/v1alpha2"
PATHS = (GROUP, f"{GROUP}/podgroups", f"{GROUP}/namespaces/default/workloads", f"/openapi/v3{GROUP}")
POD_GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "g"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}
HEADERS = {"Authorization": "Bearer t"}


async def test_without_the_gate_nothing_is_served() -> None:
    async with serving("t") as (_, port), aiohttp.ClientSession(headers=HEADERS) as session:
        for path in PATHS:
            async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                assert response.status == 404, path


async def test_with_the_gate_everything_is_served() -> None:
    gates = {"GenericWorkload": True}
    async with (
        serving("t", feature_gates=gates) as (_, port),
        aiohttp.ClientSession(headers=HEADERS) as session,
    ):
        url = f"http://127.0.0.1:{port}"

        async def read(path: str, **headers: str) -> Any:
            async with session.get(url + path, headers=headers) as response:
                assert response.status == 200, path
                return await response.json(content_type=None)

        for path in PATHS:
            await read(path)
        collection = f"{url}{GROUP}/namespaces/default/podgroups"
        async with session.post(collection, json=POD_GROUP) as response:
            assert response.status == 201
        status = {"status": {"conditions": [{"type": "PodGroupScheduled", "status": "False"}]}}
        patch = {"Content-Type": "application/strategic-merge-patch+json"}
        async with session.patch(f"{collection}/g/status", json=status, headers=patch) as response:
            assert response.status == 422
        found = await read(f"{GROUP}/podgroups", Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        assert [each["name"] for each in found["columnDefinitions"]] == ["Name", "Age"]
        assert [each["cells"][0] for each in found["rows"]] == ["g"]
        everything = await read("/openapi/v2")
        assert f"{GROUP}/namespaces/{{namespace}}/podgroups/{{name}}/status" in everything["paths"]
        document = await read(f"/openapi/v3{GROUP}")
        assert "io.k8s.api.scheduling.v1alpha2.Workload" in document["components"]["schemas"]
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        groups = (await read("/apis", Accept=accept))["items"]
        [versions] = [each["versions"] for each in groups if each["metadata"]["name"] == "scheduling.k8s.io"]
        assert [each["version"] for each in versions] == ["v1", "v1alpha2"]
