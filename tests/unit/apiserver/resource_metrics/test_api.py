"""``metrics.k8s.io`` over a simulated kubelet, on virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling import clock
from podling.api.apiregistration_v1 import APIService
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, pod, sim_node
from tests.support.resource_metrics import KubeletPages

BASE = "/apis/metrics.k8s.io/v1beta1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
QUARTER = {"usage": [{"cpuMillicores": 250, "memoryBytes": 3 << 20}]}
RISING = {"usage": [{"cpuMillicores": 100, "memoryBytes": 1}, {"after": 60, "cpuMillicores": 900}]}


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path) as found:
        yield found


@pytest.fixture
async def pages(cluster: ControlPlane, node: SimNode) -> KubeletPages:
    found = KubeletPages(node)
    cluster.server.serve_resource_metrics(found.read)
    return found


async def get(cluster: ControlPlane, path: str, accept: str = "", **query: str) -> Any:
    api = cluster.server.aggregation.find_local(BASE + path)
    assert api is not None
    answer = await api.answer("GET", BASE + path, query, accept)
    return msgspec.json.decode(answer.body)


@pytest.mark.usefixtures("pages")
async def test_first_read_waits_for_two_samples(cluster: ControlPlane, node: SimNode) -> None:
    await node.create(pod("web", script=QUARTER))
    await node.pass_time(60)
    began = clock.monotonic()
    shown = await get(cluster, "/namespaces/default/pods/web")
    assert clock.monotonic() - began == pytest.approx(1, abs=0.01)
    assert shown["kind"] == "PodMetrics"
    assert shown["metadata"]["name"] == "web"
    assert shown["window"] == "1s"
    assert shown["containers"] == [{"name": "app", "usage": {"cpu": "250m", "memory": "3Mi"}}]
    assert shown["timestamp"] == clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    began = clock.monotonic()
    assert (await get(cluster, f"/nodes/{NODE}"))["usage"] == {"cpu": "250m", "memory": "3Mi"}
    assert clock.monotonic() == began


@pytest.mark.usefixtures("pages")
async def test_figures_follow_the_curve_and_are_at_most_15_s_old(
    cluster: ControlPlane, node: SimNode
) -> None:
    await node.create(pod("web", script=RISING))
    await node.pass_time(20)
    found = set()
    for _ in range(40):
        shown = await get(cluster, "/namespaces/default/pods/web")
        found.add(shown["containers"][0]["usage"]["cpu"])
        at = msgspec.convert(shown["timestamp"], type=type(clock.now()))
        assert (clock.now() - at).total_seconds() <= 15
        await node.pass_time(3)
    assert {"100m", "900m"} <= found


async def test_idle_clusters_are_not_read(cluster: ControlPlane, node: SimNode, pages: KubeletPages) -> None:
    await node.create(pod("web", script=QUARTER))
    await node.pass_time(600)
    assert pages.reads == 0
    await get(cluster, "/nodes")
    await node.pass_time(600)
    after = pages.reads
    assert 2 <= after <= 8
    await node.pass_time(600)
    assert pages.reads == after
    assert len((await get(cluster, "/pods"))["items"]) == 1


async def test_kubelet_that_does_not_answer_has_no_figures(
    cluster: ControlPlane, node: SimNode, pages: KubeletPages
) -> None:
    await node.create(pod("web", script=QUARTER))
    await node.pass_time(30)
    assert len((await get(cluster, "/nodes"))["items"]) == 1
    pages.down.add(NODE)
    await node.pass_time(16)
    assert (await get(cluster, "/nodes"))["items"] == []
    assert (await get(cluster, "/pods"))["items"] == []
    pages.down.clear()
    await node.pass_time(30)
    assert len((await get(cluster, "/pods"))["items"]) == 1


@pytest.mark.usefixtures("pages")
async def test_selectors_choose_pods(cluster: ControlPlane, node: SimNode) -> None:
    for name in ("b", "a", "c"):
        await node.create(pod(name, script=QUARTER))
    await node.client.patch(type(await node.get("a")), "a", {"metadata": {"labels": {"app": "x"}}}, "default")
    await node.pass_time(30)

    async def names(path: str, **query: str) -> list[str]:
        return [each["metadata"]["name"] for each in (await get(cluster, path, **query))["items"]]

    assert await names("/pods") == ["a", "b", "c"]
    assert await names("/namespaces/default/pods", labelSelector="app=x") == ["a"]
    assert await names("/pods", labelSelector="!app") == ["b", "c"]
    assert await names("/pods", fieldSelector="metadata.name=c") == ["c"]
    assert await names("/namespaces/kube-system/pods") == []
    assert await names("/nodes", labelSelector="none=such") == []
    with pytest.raises(ApiError, match=r"field label not supported: spec\.nodeName"):
        await names("/pods", fieldSelector="spec.nodeName=x")
    with pytest.raises(ApiError, match="unable to parse requirement"):
        await names("/pods", labelSelector="a in b")


@pytest.mark.usefixtures("pages")
async def test_tables_sum_containers(cluster: ControlPlane, node: SimNode) -> None:
    containers = [{"name": "app", "image": "app:1"}, {"name": "two", "image": "app:1"}]
    await node.create(pod("web", scripts={"app": QUARTER, "two": QUARTER}, containers=containers))
    await node.pass_time(30)
    table = await get(cluster, "/pods", TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "cpu", "memory", "Window"]
    (row,) = table["rows"]
    assert row["cells"] == ["web", "500m", "6Mi", "1s"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    (row,) = (await get(cluster, f"/nodes/{NODE}", TABLE, includeObject="Object"))["rows"]
    assert row["object"]["usage"] == {"cpu": "500m", "memory": "6Mi"}


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/namespaces/default/pods/none", 'pods "none" not found'),
        ("/nodes/none", 'nodes "none" not found'),
        ("/namespaces/default/pods/waiting", 'pods.metrics.k8s.io "default/waiting" not found'),
        ("/pods/web", "the server could not find the requested resource"),
        ("/namespaces/default/nodes", "the server could not find the requested resource"),
        ("/widgets", "the server could not find the requested resource"),
    ],
)
async def test_unknown_objects_are_not_found(
    cluster: ControlPlane, node: SimNode, path: str, message: str
) -> None:
    await node.create(pod("waiting", script={"startSeconds": 600}))
    await node.pass_time(30)
    with pytest.raises(ApiError, match=message) as found:
        await get(cluster, path)
    assert found.value.code == 404


async def test_only_get_is_offered(cluster: ControlPlane, pages: KubeletPages) -> None:
    api = cluster.server.aggregation.find_local(f"{BASE}/nodes")
    assert api is not None
    with pytest.raises(ApiError) as found:
        await api.answer("DELETE", f"{BASE}/nodes", {}, "")
    assert found.value.code == 405
    assert pages.reads == 0


@pytest.mark.usefixtures("pages")
async def test_users_own_server_takes_over(cluster: ControlPlane) -> None:
    cluster.server.show_itself()
    await cluster.advance(seconds=10)
    ours = await cluster.client.get(APIService, "v1beta1.metrics.k8s.io")
    assert ours.spec.service is None
    assert [each.status for each in ours.status.conditions] == ["True"]
    assert {each.kind for each in cluster.server.discovered()} >= {"NodeMetrics", "PodMetrics"}
    service = {"spec": {"service": {"name": "metrics-server", "namespace": "kube-system"}}}
    await cluster.client.patch(APIService, "v1beta1.metrics.k8s.io", service)
    await cluster.advance(seconds=1)
    assert cluster.server.aggregation.find_local(f"{BASE}/nodes") is None
    assert cluster.server.aggregation.find(f"{BASE}/nodes") is not None
    await cluster.client.delete(APIService, "v1beta1.metrics.k8s.io")
    await cluster.advance(seconds=10)
    assert cluster.server.aggregation.find_local(f"{BASE}/nodes") is not None
