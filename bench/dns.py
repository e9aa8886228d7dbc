"""Cluster DNS: cached answers a second, punctuality, how soon a name appears, and memory.

``dnsmasq`` serves the same names from a file beside it, under the same load. The load comes from one process
with one socket: at full speed 64 questions are on their way, at a fixed rate each is sent at its time.
Meanwhile another process reads an object from the API server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import dnslib
import msgspec

from bench.harness import BenchCluster, Figure, cluster, memory_mib, show
from podling.cluster.directory import DataDirectory
from podling.network.dns.build import build_of
from podling.network.dns.launch import Launch
from podling.network.dns.link import connect, end_server, start
from podling.network.dns.listening import bind
from podling.network.dns.messages import Begin, Complete, Namespaces, Services
from podling.network.dns.records import (
    Address,
    Endpoints,
    Port,
    SlicedRecords,
    encode_endpoints,
    encode_records,
)

SECONDS = 5.0
RATE = 2000
WINDOW = 64
NAMES = 200
SERVICES, ENDPOINTS = 5000, 50_000
APPEARANCES = 20
HTTP = Port("http", "tcp", 80)

Place = tuple[str, int]


def main() -> None:
    with cluster("--runtime", "oci") as running:
        show(served(running))
    show(asyncio.run(filled()))


def served(running: BenchCluster) -> list[Figure]:
    place, pid = place_of(running)
    make_services(running)
    names = [f"web-{number}.default.svc.cluster.local" for number in range(NAMES)]
    with dnsmasq(names) as other:
        own_rate, floor_rate = throughput(place, names), throughput(other, names)
        floor_late = lateness(other, names)
        with api_reads(running) as reads:
            own_late = lateness(place, names)
        figures = [
            Figure("cached answers", own_rate, "/s", goal=15_000, more_is_better=True),
            Figure("the same of dnsmasq", floor_rate, "/s"),
            Figure(f"p99 at {RATE}/s", percentile(own_late, 99) * 1e3, "ms", goal=2),
            Figure("the same of dnsmasq", percentile(floor_late, 99) * 1e3, "ms"),
            Figure("p99 of API reads meanwhile", percentile(reads, 99) * 1e3, "ms", goal=20),
        ]
    appeared = [appearance(running, place, number) for number in range(APPEARANCES)]
    return [
        *figures,
        Figure("a name appears after", statistics.median(appeared) * 1e3, "ms", goal=100),
        Figure("memory of the DNS process", memory_mib(pid), "MiB", goal=30),
    ]


def place_of(running: BenchCluster) -> tuple[Place, int]:
    """Return where the node's DNS server listens, and its process."""
    text = ""
    while not text:
        (node,) = json.loads(running.kubectl("get", "nodes", "-o", "json"))["items"]
        text = node["metadata"]["annotations"].get("podling.dev/cluster-dns", "")
    stated = json.loads(text)
    address, port = stated["addresses"][0], stated["port"]
    directory = f"/run/podling/{DataDirectory(running.data_directory).id}-0.dns".encode()
    found = [path for path in Path("/proc").glob("[0-9]*/cmdline") if directory in path.read_bytes()]
    return (address, port), int(found[0].parent.name)


def make_services(running: BenchCluster) -> None:
    items: list[dict[str, object]] = [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"web-{number}"},
            "spec": {"ports": [{"port": 80}]},
        }
        for number in range(NAMES)
    ]
    apply(running, items)


def apply(running: BenchCluster, items: list[dict[str, object]]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    command = ["kubectl", "--kubeconfig", str(running.kubeconfig), "create", "-f", "-"]
    subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def dnsmasq(names: list[str]) -> Iterator[Place]:
    """Run dnsmasq on loopback with an address for each name."""
    program = shutil.which("dnsmasq", path="/usr/sbin:/usr/bin:/sbin")
    if program is None:
        sys.exit("dnsmasq is missing: scripts/setup --dev installs it")
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        hosts = Path(folder) / "hosts"
        hosts.write_text("".join(f"10.96.1.{number % 250} {name}\n" for number, name in enumerate(names)))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        arguments = [program, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"]
        arguments += [f"--addn-hosts={hosts}", f"--port={port}", "--listen-address=127.0.0.1"]
        arguments += ["--bind-interfaces", "--cache-size=10000", "--user=root", "--pid-file="]
        process = subprocess.Popen(arguments)
        try:
            wait_for_answer(("127.0.0.1", port), names[0])
            yield "127.0.0.1", port
        finally:
            process.terminate()
            process.wait()


def query(name: str) -> bytes:
    return bytes(dnslib.DNSRecord.question(name).pack())


def wait_for_answer(place: Place, name: str, seconds: float = 10.0) -> float:
    """Return how long it took until a name had an address."""
    began = time.perf_counter()
    with client(place) as sock:
        sock.settimeout(0.05)
        while time.perf_counter() - began < seconds:
            with contextlib.suppress(OSError):
                sock.send(query(name))
                if dnslib.DNSRecord.parse(sock.recv(4096)).rr:
                    return time.perf_counter() - began
    sys.exit(f"{name} has no address after {seconds} s")


def client(place: Place) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
    sock.connect(place)
    return sock


def throughput(place: Place, names: list[str]) -> float:
    """Return answers per second with a full window."""
    queries = [query(name) for name in names]
    with client(place) as sock:
        sock.settimeout(1)
        for each in queries:
            sock.send(each)
            sock.recv(4096)
        began, answered = time.perf_counter(), 0
        for number in range(WINDOW):
            sock.send(queries[number % len(queries)])
        while (now := time.perf_counter()) - began < SECONDS:
            sock.recv(4096)
            answered += 1
            sock.send(queries[answered % len(queries)])
        return answered / (now - began)


def lateness(place: Place, names: list[str]) -> list[float]:
    """Return the seconds of each answer at a fixed rate of questions."""
    queries = [query(name) for name in names]
    sent: dict[int, float] = {}
    found: list[float] = []
    with client(place) as sock:
        sock.setblocking(False)
        began = time.perf_counter()
        number = 0
        while number < RATE * SECONDS or (sent and time.perf_counter() - began < SECONDS + 1):
            now = time.perf_counter()
            if number < RATE * SECONDS and now >= began + number / RATE:
                sent[number & 0xFFFF] = began + number / RATE
                sock.send((number & 0xFFFF).to_bytes(2, "big") + queries[number % len(queries)][2:])
                number += 1
            with contextlib.suppress(BlockingIOError):
                data = sock.recv(4096)
                found.append(time.perf_counter() - sent.pop(int.from_bytes(data[:2], "big")))
    return found + [SECONDS] * len(sent)


READS = """
import ssl, sys, time, http.client, json
host, port, certificate, key, authority = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
context.load_cert_chain(certificate, key)
connection = http.client.HTTPSConnection(host, int(port), context=context)
print("ready", flush=True)
found = []
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    began = time.perf_counter()
    connection.request("GET", "/api/v1/namespaces/default/services/web-1")
    connection.getresponse().read()
    found.append(time.perf_counter() - began)
    time.sleep(0.005)
print(json.dumps(found))
"""


@contextlib.contextmanager
def api_reads(running: BenchCluster) -> Iterator[list[float]]:
    """Read an object again and again in another process; the list then has the seconds of each read."""
    import base64

    import yaml

    config = yaml.safe_load(running.kubeconfig.read_text())
    user, server = config["users"][0]["user"], config["clusters"][0]["cluster"]
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        paths = []
        parts = (
            user["client-certificate-data"],
            user["client-key-data"],
            server["certificate-authority-data"],
        )
        for number, text in enumerate(parts):
            path = Path(folder) / str(number)
            path.write_bytes(base64.b64decode(text))
            paths.append(str(path))
        host, port = server["server"].removeprefix("https://").split(":")
        script = READS.replace("SECONDS", str(SECONDS))
        command = [sys.executable, "-c", script, host, port, *paths]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process:
            process.stdout.readline()
            found: list[float] = []
            yield found
            found += json.loads(process.stdout.readline())


def percentile(values: list[float], number: int) -> float:
    return statistics.quantiles(values, n=100)[number - 1]


def appearance(running: BenchCluster, place: Place, number: int) -> float:
    """Return the seconds from the request that makes an endpoint until its name has an address."""
    name = f"fresh-{number}"
    labels = {"kubernetes.io/service-name": name}
    spec = {"clusterIP": "None", "ports": [{"port": 80}]}
    apply(running, [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}])
    body = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.88.200.7"], "conditions": {"ready": True}}],
    }
    creating = subprocess.Popen(
        ["kubectl", "--kubeconfig", str(running.kubeconfig), "create", "-f", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert creating.stdin is not None
    watch = subprocess.Popen(
        [
            *("kubectl", "--kubeconfig", str(running.kubeconfig), "get", "endpointslices", "--watch-only"),
            *("-o", "name", f"--field-selector=metadata.name={name}"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with creating, watch:
        time.sleep(0.3)
        creating.stdin.write(json.dumps(body))
        creating.stdin.close()
        assert watch.stdout is not None
        watch.stdout.readline()
        found = wait_for_answer(place, f"{name}.default.svc.cluster.local")
        watch.terminate()
    return found


async def filled() -> list[Figure]:
    """Return the memory of a process that knows many Services and endpoints, and the time to send them."""
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        listening = bind(("127.0.53.90",))
        try:
            launch = Launch(
                directory=folder,
                build=build_of(),
                domain="cluster.local",
                networks=(),
                endpoints=tuple(listening.endpoints),
                descriptors=tuple(each.fileno() for each in listening.sockets),
            )
            await start(launch)
            link = await connect(Path(folder))
            empty = memory_mib(link.hello.pid)
            began = time.perf_counter()
            await link.send(Begin())
            await link.send(Namespaces(("default",)))
            records = many_services()
            for first in range(0, len(records), 50):
                await link.send(Services(tuple(records[first : first + 50])))
            await link.send(Complete())
            last = f"web-{SERVICES - 1}.default.svc.cluster.local"
            place = "127.0.53.90", listening.port("udp")
            await asyncio.to_thread(wait_for_answer, place, last, 60.0)
            seconds = time.perf_counter() - began
            memory = memory_mib(link.hello.pid)
            link.close()
            link.listening.close()
        finally:
            listening.close()
            end_server(Path(folder))
    return [
        Figure("memory without records", empty, "MiB"),
        Figure(f"memory with {SERVICES} Services, {ENDPOINTS} endpoints", memory, "MiB", goal=60),
        Figure("until all of them are known", seconds, "s"),
    ]


def many_services() -> list[bytes]:
    return [one_service(number) for number in range(SERVICES)]


def one_service(number: int, without: int = 0) -> bytes:
    """Return the records of one Service, whose last endpoints may be missing."""
    each = ENDPOINTS // SERVICES
    places = range(number * each, (number + 1) * each - without)
    addresses = tuple(Address(f"10.{place >> 16}.{place >> 8 & 255}.{place & 255}") for place in places)
    endpoints = msgspec.Raw(encode_endpoints(Endpoints((HTTP,), addresses)))
    return encode_records(SlicedRecords("default", f"web-{number}", ports=(HTTP,), endpoints=(endpoints,)))


if __name__ == "__main__":
    main()
