"""Damages the network of a node of its own and shows whether it comes back: ``... ROOT COMMAND``.

To be run in a network namespace of its own, because some of the damage is machine-wide.
"""

from __future__ import annotations

import asyncio
import sys
from ipaddress import IPv4Address
from pathlib import Path

from podling import clock
from podling.network.guard import port_name
from podling.network.names import Names
from podling.runtime.base import PortMapping
from tests.support.oci_node import Node, node

PORT = 8080
REPAIR_SECONDS = 20.0


async def on_node(*command: str) -> str:
    """Run a command on the machine; return what it printed."""
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await child.communicate()
    assert child.returncode == 0, command
    return said.decode().strip()


async def fetch(port: int) -> str:
    """Return the answer of a pod's web server at its host port on the node's loopback."""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2].decode().strip()


async def healthy(here: Node) -> None:
    """Read the network's status, as the kubelet does, until it is good."""
    async with asyncio.timeout(REPAIR_SECONDS):
        while await here.network.status():
            await clock.sleep(0.01)


async def web_pod(here: Node, port: int) -> str:
    """Start a pod that answers on a host port; return its address."""
    pod = await here.pod(port_mappings=(PortMapping(container_port=80, host_port=port),))
    script = "mkdir /w; echo through > /w/index.html; exec httpd -f -p 80 -h /w"
    container = await here.run(pod, "sh", "-c", script)
    while (await here.exec(container, "wget", "-qO-", "http://127.0.0.1/")).code:
        pass
    return pod.ips[0]


async def main(root: Path, damage: str) -> None:
    await on_node("ip", "link", "set", "lo", "up")
    async with node(root) as here:
        address = await web_pod(here, PORT)
        await healthy(here)
        print("before:", await fetch(PORT))
        names, port = Names.of(here.cluster), port_name(here.cluster, IPv4Address(address))
        await on_node(*damage.format(table=names.table, bridge=names.bridge, port=port).split())
        print("reported:", await here.network.status() or "nothing")
        await healthy(here)
        print("after:", await fetch(PORT))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
