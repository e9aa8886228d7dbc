"""Static pods from a URL, on a simulated node."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podling.kubelet.config import KubeletConfig
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.manifest_fetch import FetchFailed, Response
from podling.kubelet.pods.static_pods import BadManifest
from podling.kubelet.pods.static_url import UrlPods
from podling.node.static_pods import complete_static_pod
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, sim_node

URL = "http://manifests.example/pods"
CONFIG = KubeletConfig(
    node_addresses=("192.168.0.10",),
    capacity={"cpu": "4", "memory": "8Gi"},
    write_files=False,
    static_pod_url=URL,
    static_pod_url_header={"Metadata-Flavor": ("Google",), "X-Two": ("a", "b")},
)


def manifest(name: str = "proxy", image: str = "app:1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }


class Web:
    """A server of manifests, without a network."""

    def __init__(self) -> None:
        self.response: Response | FetchFailed = FetchFailed("connection refused")
        self.requests: list[tuple[str, Mapping[str, tuple[str, ...]]]] = []

    def show(self, *pods: dict[str, Any]) -> None:
        body = pods[0] if len(pods) == 1 else {"apiVersion": "v1", "kind": "PodList", "items": list(pods)}
        self.response = Response(200, "OK", json.dumps(body).encode())

    async def fetch(self, url: str, headers: Mapping[str, tuple[str, ...]]) -> Response:
        self.requests.append((url, headers))
        if isinstance(self.response, FetchFailed):
            raise self.response
        return self.response


async def running(node: SimNode) -> list[str]:
    return sorted(sandbox.pod_name for sandbox in await node.runtime.list_sandboxes() if sandbox.ready)


async def start(node: SimNode, web: Web) -> None:
    """Start the node's kubelet anew, with this server."""
    await node.stop()
    node.deps = replace(node.deps, fetch_manifest=web.fetch)
    node.kubelet = Kubelet(node.deps)
    await node.start()


async def test_pods_follow_the_url(cluster: ControlPlane, tmp_path: Path) -> None:
    web = Web()
    async with sim_node(cluster, tmp_path, config=replace(CONFIG, static_pod_url="")) as node:
        node.deps = replace(node.deps, config=CONFIG)
        await start(node, web)
        await node.pass_time(1)
        assert web.requests == [(URL, CONFIG.static_pod_url_header)]
        assert await running(node) == []
        web.show(manifest())
        await node.pass_time(25)
        assert await running(node) == [f"proxy-{NODE}"]
        mirror = await node.get(f"proxy-{NODE}")
        assert mirror.metadata.annotations["kubernetes.io/config.source"] == "http"
        assert mirror.metadata.annotations["kubernetes.io/config.mirror"]
        web.show(manifest(), manifest("second"))
        await node.pass_time(25)
        assert await running(node) == [f"proxy-{NODE}", f"second-{NODE}"]
        web.show(manifest(image="app:2"))
        await node.pass_time(90)
        assert await running(node) == [f"proxy-{NODE}"]
        (container,) = await node.runtime.list_containers()
        assert container.image == "app:2"


@pytest.mark.parametrize(
    "response",
    [
        FetchFailed("connection refused"),
        Response(500, "Internal Server Error", b""),
        Response(404, "Not Found", json.dumps(manifest("other")).encode()),
        Response(200, "OK", b"{"),
        Response(200, "OK", b"[]"),
        Response(200, "OK", b'{"kind": "PodList", "items": 3}'),
        Response(200, "OK", json.dumps(manifest("not a name")).encode()),
        Response(200, "OK", b"x" * (10 * 1024 * 1024 + 1)),
    ],
)
async def test_bad_response_leaves_the_pods_as_they_are(
    cluster: ControlPlane, tmp_path: Path, response: Response | FetchFailed
) -> None:
    web = Web()
    web.show(manifest())
    async with sim_node(cluster, tmp_path, config=replace(CONFIG, static_pod_url="")) as node:
        node.deps = replace(node.deps, config=CONFIG)
        await start(node, web)
        await node.pass_time(3)
        web.response = response
        await node.pass_time(120)
        assert await running(node) == [f"proxy-{NODE}"]
        web.show(manifest("next"))
        await node.pass_time(60)
        assert await running(node) == [f"next-{NODE}"]


async def test_empty_response_means_no_pods(cluster: ControlPlane, tmp_path: Path) -> None:
    web = Web()
    web.show(manifest())
    async with sim_node(cluster, tmp_path, config=replace(CONFIG, static_pod_url="")) as node:
        node.deps = replace(node.deps, config=CONFIG)
        await start(node, web)
        await node.pass_time(3)
        web.response = Response(200, "OK", b"")
        await node.pass_time(90)
        assert await running(node) == []


async def test_files_and_url_stand_side_by_side(cluster: ControlPlane, tmp_path: Path) -> None:
    """Of two pods of one name that of the files counts."""
    web, files = Web(), tmp_path / "manifests"
    files.mkdir()
    (files / "proxy").write_text(json.dumps(manifest(image="of-the-file")))
    web.show(manifest(image="of-the-url"), manifest("other"))
    config = replace(CONFIG, static_pod_path=files)
    async with sim_node(cluster, tmp_path / "node", config=replace(config, static_pod_url="")) as node:
        node.deps = replace(node.deps, config=config)
        await start(node, web)
        await node.pass_time(5)
        assert await running(node) == [f"other-{NODE}", f"proxy-{NODE}"]
        images = {container.image for container in await node.runtime.list_containers()}
        assert "of-the-file" in images
        assert "of-the-url" not in images


def reader() -> UrlPods:
    return UrlPods(CONFIG, NODE, complete_static_pod, lambda pods: None, Web().fetch)


def test_identity_depends_on_the_content_and_the_url() -> None:
    (first,) = reader().pods_of(json.dumps(manifest()).encode(), EPOCH)
    (same,) = reader().pods_of(json.dumps(manifest()).encode(), EPOCH)
    (other,) = reader().pods_of(json.dumps(manifest(image="app:2")).encode(), EPOCH)
    elsewhere = UrlPods(
        replace(CONFIG, static_pod_url=URL + "2"), NODE, complete_static_pod, lambda pods: None, Web().fetch
    )
    (moved,) = elsewhere.pods_of(json.dumps(manifest()).encode(), EPOCH)
    assert first.metadata.uid == same.metadata.uid
    assert len({first.metadata.uid, other.metadata.uid, moved.metadata.uid}) == 3


def test_uid_of_the_manifest_is_kept() -> None:
    plain = manifest()
    body = {**plain, "metadata": {**plain["metadata"], "uid": "given"}}
    (pod,) = reader().pods_of(json.dumps(body).encode(), EPOCH)
    assert (pod.metadata.uid, pod.metadata.annotations["kubernetes.io/config.hash"]) == ("given", "given")


def test_one_wrong_pod_refuses_the_whole_list() -> None:
    wrong = {**manifest("second"), "spec": {"containers": []}}
    body = json.dumps({"kind": "PodList", "items": [manifest(), wrong]}).encode()
    with pytest.raises(BadManifest, match="invalid pod"):
        reader().pods_of(body, EPOCH)
