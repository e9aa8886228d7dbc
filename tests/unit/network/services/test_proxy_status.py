"""The servers of a node's service proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from podling import clock
from podling.network.services.proxy_status import CONNECTIONS_MAX, ProxyStatus

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


@pytest.fixture
async def two() -> AsyncIterator[list[ProxyStatus]]:
    """The proxies of two nodes of one machine."""
    nodes = [ProxyStatus("one"), ProxyStatus("two")]
    tasks = [asyncio.create_task(each.run()) for each in nodes]
    async with asyncio.timeout(10):
        while any(len(each.ports) < 2 for each in nodes):
            await clock.sleep(0)
    yield nodes
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def get(port: int, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(10):
        answer = (await reader.read()).decode()
    writer.close()
    return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]


async def test_nodes_of_one_machine_have_servers_of_their_own(two: list[ProxyStatus]) -> None:
    one, other = two
    assert not set(one.ports.values()) & set(other.ports.values())
    other.health.see(None)
    assert (await get(one.ports["healthz"], "/healthz"))[0] == 200
    code, body = await get(other.ports["healthz"], "/healthz?verbose")
    assert (code, "false" in body) == (503, True)
    assert (await get(other.ports["healthz"], "/livez"))[0] == 200
    assert (await get(one.ports["healthz"], "/metrics"))[0] == 404
    code, page = await get(other.ports["metrics"], "/metrics")
    assert (code, 'kubeproxy_proxy_healthz_total{code="503"} 1.0' in page) == (200, True)
    assert await get(one.ports["metrics"], "/proxyMode") == (200, "nftables")


async def test_idle_connections_are_limited(two: list[ProxyStatus]) -> None:
    port = two[0].ports["healthz"]
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS_MAX)]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with pytest.raises(ConnectionError):
        async with asyncio.timeout(10):
            await reader.read()
            raise ConnectionResetError  # an end without a reset is one as well
    for _, each in [*idle, (reader, writer)]:
        each.close()
