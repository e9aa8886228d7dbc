"""Clients of the kubelet's server."""

from __future__ import annotations

import pytest

from podling.kubelet.server.server_auth import Peer, refusal
from tests.unit.kubelet.server.served_kubelet import Served

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]


@pytest.mark.parametrize(
    ("name", "path", "allowed"),
    [
        ("system:node:n1", "/images", True),
        ("system:node:n1", "/images/load", True),
        ("system:node:n1", "/imagesx", False),
        ("system:node:n1", "/pods", False),
        ("system:node:n1", "/exec/default/web/app", False),
        ("system:node:n2", "/images", False),
        ("", "/images", False),
    ],
)
async def test_node_itself_may_use_its_images_alone(name: str, path: str, allowed: bool) -> None:
    peer = Peer(name, ("system:nodes",))
    assert (refusal(peer, "GET", path, "system:node:n1") is None) is allowed
    assert refusal(peer, "GET", path) is not None


async def test_only_api_server_and_administrators_are_admitted(served: Served) -> None:
    assert await served.nobody.get("/pods") == (401, "Unauthorized")
    refused = "Forbidden (user=system:node:node, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
    assert await served.node.get("/pods") == (403, refused)
    code, text = await served.api_server.get("/pods")
    assert code == 200
    assert '"kind":"PodList"' in text
    assert '"name":"web"' in text
