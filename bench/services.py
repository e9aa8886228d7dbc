"""Services: a connection through one beside a direct one, and one endpoint's change among many Services.

Runs in network namespaces of its own: a client, a server, and between them this process with the service
proxy and its table. A client of the benchmark's own holds the objects, so that only the proxy is measured.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from bench.harness import Figure, memory_mib, show
from podling.api.core_v1 import Node, Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Listing, WatchEvent, WatchEventType
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.network.nftables import attributes as nft
from podling.network.nftables.kernel import Kernel
from podling.network.services import messages
from podling.network.services.endpoint_slices import slice_record
from podling.network.services.rule_table import Transaction
from podling.network.services.rules import Spread
from podling.network.services.service_proxy import ProxySettings, ServiceProxy

SERVICES = 5000
ENDPOINTS = 10
CHANGES = 40
CONNECTIONS = 3000
BATCHES = 9
STREAM_SECONDS = 1.5
TABLE = "bench_services"
SERVER = "10.180.0.3"
PORT = 8080

PEER = r"""
import socket, sys, threading
server = socket.create_server(("", 8080), backlog=4096)
def serve(connection):
    with connection:
        while connection.recv(1 << 20):
            pass
while True:
    connection, _ = server.accept()
    first = connection.recv(1)
    if first:
        threading.Thread(target=serve, args=(connection,), daemon=True).start()
    else:
        connection.close()
"""
CLIENT = r"""
import socket, sys, time
kind, address, port, amount = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
begun = time.perf_counter()
if kind == "connect":
    for _ in range(int(amount)):
        socket.create_connection((address, port)).close()
    print((time.perf_counter() - begun) / amount)
else:
    data, sent = bytes(1 << 18), 0
    with socket.create_connection((address, port)) as connection:
        while time.perf_counter() - begun < amount:
            sent += connection.send(data)
    print(sent / (time.perf_counter() - begun))
"""


class Objects:
    """A client that lists and watches objects of its own; ``change`` sends an event."""

    def __init__(self, objects: dict[type[Any], tuple[Any, ...]]) -> None:
        self._objects = objects
        self._events: asyncio.Queue[WatchEvent[Any]] = asyncio.Queue()

    async def list(self, kind: type[Any], *_: object, **__: object) -> Listing[Any]:
        return Listing(self._objects.get(kind, ()), "1")

    async def watch(self, kind: type[Any], *_: object, **__: object) -> AsyncIterator[WatchEvent[Any]]:
        while True:
            if kind is not EndpointSlice:
                await asyncio.Event().wait()
            yield await self._events.get()

    def change(self, data: bytes) -> None:
        decoded = msgspec.json.decode(data, type=EndpointSlice)
        self._events.put_nowait(WatchEvent(WatchEventType.MODIFIED, decoded))


def address(number: int) -> str:
    return f"172.30.{number // 250}.{number % 250 + 1}"


def service(number: int) -> Service:
    return Service(
        metadata=ObjectMeta(
            name=f"service-{number}", namespace="bench", resource_version="1", uid=f"s{number}"
        ),
        spec=ServiceSpec(
            type="ClusterIP",
            cluster_ip=address(number),
            cluster_ips=(address(number),),
            ports=(ServicePort(name="http", protocol="TCP", port=80),),
        ),
    )


def endpoint_slice(number: int, revision: int = 1, last: int = ENDPOINTS) -> EndpointSlice:
    addresses = (
        [SERVER]
        if number == 0
        else [
            f"10.{181 + (number * ENDPOINTS + n) // 62500}.{(number * ENDPOINTS + n) // 250 % 250}.{n + 1}"
            for n in range(last)
        ]
    )
    ready = EndpointConditions(ready=True, serving=True, terminating=False)
    return EndpointSlice(
        metadata=ObjectMeta(
            name=f"service-{number}-x",
            namespace="bench",
            resource_version=str(revision),
            uid=f"e{number}",
            labels={"kubernetes.io/service-name": f"service-{number}"},
        ),
        address_type="IPv4",
        ports=(EndpointPort(name="http", protocol="TCP", port=PORT),),
        endpoints=tuple(
            Endpoint(addresses=(each,), conditions=ready, node_name=f"node-{n}")
            for n, each in enumerate(addresses)
        ),
    )


class Commits:
    """The times of the kernel's reports of changed rules, taken in a thread."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
        self.socket.bind((0, 0))
        self.socket.setsockopt(270, 1, 7)
        self.seen = threading.Event()
        self.at = 0.0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                self.socket.recv(1 << 18)
            except OSError:
                continue
            self.at = time.perf_counter()
            self.seen.set()


def run(*command: str) -> None:
    subprocess.run(command, check=True)


@contextmanager
def machines() -> Iterator[tuple[int, int]]:
    """Two namespaces with a cable to this one; their pids."""
    run("ip", "link", "set", "lo", "up")
    run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    children = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in range(2)]
    time.sleep(0.5)
    try:
        for number, child in zip((2, 3), children, strict=True):
            inside = ["nsenter", "-t", str(child.pid), "-n", "ip"]
            run(
                "ip",
                "link",
                "add",
                f"v{number}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                str(child.pid),
            )
            run("ip", "link", "set", f"v{number}", "up")
            run("ip", "addr", "add", "10.180.0.1/32", "dev", f"v{number}")
            run("ip", "route", "add", f"10.180.0.{number}", "dev", f"v{number}")
            run(*inside, "addr", "add", f"10.180.0.{number}/32", "dev", "eth0")
            run(*inside, "link", "set", "eth0", "up")
            run(*inside, "route", "add", "default", "via", "10.180.0.1", "dev", "eth0", "onlink")
        yield children[0].pid, children[1].pid
    finally:
        for child in children:
            child.kill()
            child.wait()


def client(pid: int, *arguments: str) -> float:
    command = ["nsenter", "-t", str(pid), "-n", sys.executable, "-c", CLIENT, *arguments]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def connection_figures() -> list[Figure]:
    """Alternate between the Service and its endpoint, so that other load meets both alike."""
    with machines() as (near, far):
        server = subprocess.Popen(["nsenter", "-t", str(far), "-n", sys.executable, "-c", PEER])
        try:
            time.sleep(0.5)
            found: dict[str, list[float]] = {key: [] for key in ("cs", "cd", "ts", "td")}
            for _ in range(BATCHES):
                found["cd"].append(client(near, "connect", SERVER, str(PORT), str(CONNECTIONS // BATCHES)))
                found["cs"].append(client(near, "connect", address(0), "80", str(CONNECTIONS // BATCHES)))
                found["td"].append(client(near, "send", SERVER, str(PORT), str(STREAM_SECONDS / 3)))
                found["ts"].append(client(near, "send", address(0), "80", str(STREAM_SECONDS / 3)))
        finally:
            server.kill()
            server.wait()
    middle = {key: statistics.median(values) for key, values in found.items()}
    return [
        Figure(
            "new connection through a cluster IP",
            middle["cs"] * 1e6,
            "us",
            middle["cd"] * 1e6,
            "direct",
            1.15,
        ),
        Figure(
            "throughput through a cluster IP",
            middle["ts"] / 1e9,
            "GB/s",
            middle["td"] / 1e9,
            "direct",
            0.95,
            more_is_better=True,
        ),
    ]


async def change_figures(objects: Objects, commits: Commits) -> list[Figure]:
    waits, costs = [], []
    loop = asyncio.get_running_loop()
    for number in range(CHANGES):
        changed = endpoint_slice(1 + number % 7, number + 10, ENDPOINTS - 1 - number // 7 % 2)
        data = msgspec.json.encode(changed)
        await asyncio.sleep(0.05)
        commits.seen.clear()
        cpu, begun = time.process_time(), time.perf_counter()
        objects.change(data)
        await loop.run_in_executor(None, commits.seen.wait, 10)
        waits.append((commits.at - begun) * 1e3)
        await asyncio.sleep(0.05)
        costs.append((time.process_time() - cpu) * 1e3)
    floor = statistics.median(kernel_part(number) for number in range(CHANGES // 2))
    return [
        Figure("one endpoint's change, until the kernel has it", statistics.median(waits), "ms", goal=50),
        Figure("the slowest of the changes", max(waits), "ms", goal=50),
        Figure("CPU of a change", statistics.median(costs), "ms", goal=20),
        Figure("CPU of a change, beside the kernel's part", statistics.median(costs), "ms", floor, "kernel"),
    ]


def kernel_part(number: int) -> float:
    """Return the CPU milliseconds of a bare commit of one chain."""
    with Kernel() as kernel:
        found = kernel.dump(nft.GETCHAIN, "ip")
        names = [each[nft.CHAIN_NAME].rstrip(b"\0").decode() for each in found]
        chain = next(name for name in names if name.endswith(f"/service-{100 + number}/tcp/http"))
        targets = tuple(bytes((10, 250, 0, n, 31, 144)) for n in range(ENDPOINTS))
        batch = messages.batch_of("ip", TABLE, Transaction(write_chains={chain: (Spread(targets, 6),)}))
        begun = time.process_time()
        kernel.commit(batch)
        return (time.process_time() - begun) * 1e3


async def measure() -> list[Figure]:
    node = Node(metadata=ObjectMeta(name="here", resource_version="1", uid="n"))
    before = memory_mib(os.getpid())
    services = tuple(service(number) for number in range(SERVICES))
    objects = Objects({Service: services, Node: (node,)})
    objects._objects[EndpointSlice] = tuple(endpoint_slice(number) for number in range(SERVICES))
    informers = InformerFactory(objects, {EndpointSlice: slice_record})  # type: ignore[arg-type]
    settings = ProxySettings("here", TABLE, "pl-bench")
    recorder = EventRecorder(objects, "bench")  # type: ignore[arg-type]
    proxy = ServiceProxy(informers, settings, lambda: {"ip": "10.180.0.0/24"}, recorder)
    begun, cpu = time.perf_counter(), time.process_time()
    tasks = [asyncio.create_task(each()) for each in (informers.run, proxy.run)]
    with Kernel() as kernel:
        while len(kernel.dump(nft.GETRULE, "ip", nft.text(nft.RULE_TABLE, TABLE))) < SERVICES:
            await asyncio.sleep(0.02)
    first = Figure("the first 5,000 Services in the kernel", time.perf_counter() - begun, "s")
    first_cpu = Figure("CPU of that", time.process_time() - cpu, "s")
    objects._objects.clear()
    del services
    await asyncio.sleep(3)
    memory = Figure("memory for 5,000 Services and 50,000 endpoints", memory_mib(os.getpid()) - before, "MiB")
    commits = Commits()
    changes = await change_figures(objects, commits)
    connections = await asyncio.get_running_loop().run_in_executor(None, connection_figures)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [*changes, first, first_cpu, memory, *connections]


def main() -> None:
    if "BENCH_SERVICES" not in os.environ:
        run("env", "BENCH_SERVICES=1", "unshare", "--net", sys.executable, "-m", "bench", "services")
        return
    show(asyncio.run(measure()))


if __name__ == "__main__":
    main()
