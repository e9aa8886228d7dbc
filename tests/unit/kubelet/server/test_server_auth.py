"""Clients of the kubelet's server."""

from __future__ import annotations

import pytest

from tests.unit.kubelet.server.served_kubelet import Served

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]


async def test_only_api_server_and_administrators_are_admitted(served: Served) -> None:
    assert await served.nobody.get("/pods") == (401, "Unauthorized")
    refused = "Forbidden (user=system:node:node, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
    assert await served.node.get("/pods") == (403, refused)
    code, text = await served.api_server.get("/pods")
    assert code == 200
    assert '"kind":"PodList"' in text
    assert '"name":"web"' in text
