"""Services of a real cluster: connections through the kernel's rules to pods, from everywhere."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from podling import clock, ids
from podling.cluster.directory import DataDirectory
from podling.network.names import Names
from podling.network.services.base_rules import service_table
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, running_cluster, shell_pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers()),
]

WEB = """
import http.server, signal, sys
class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[1].encode())
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[2:] else signal.SIG_DFL)
http.server.ThreadingHTTPServer(("", 8080), Web).serve_forever()
"""
ECHO = """
import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100):
            self.request.sendall(data)
socketserver.ThreadingTCPServer(("", 8080), Echo).serve_forever()
"""
UDP = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 8080))
while True:
    _, client = server.recvfrom(100)
    server.sendto(sys.argv[1].encode(), client)
"""
FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    print(urllib.request.urlopen(url, timeout=5).read().decode())
"""
RESTORED_SECONDS = 60.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A cluster with two web servers behind several Services."""
    with running_cluster(tmp_path_factory.mktemp("services"), "oci") as cluster:
        for name in ("one", "two"):
            cluster.apply(pod(name, "web", WEB, name))
        cluster.apply(pod("client", "client", "import signal; signal.pause()"))
        cluster.apply(service("web", "web", type="NodePort"))
        cluster.apply(service("sticky", "web", sessionAffinity="ClientIP"))
        cluster.apply(service("nothing", "nothing", type="NodePort"))
        cluster.apply(service("only-one", "", selector={"name": "one"}))
        for name in ("one", "two", "client"):
            cluster.wait_ready(name)
        wait_for_endpoints(cluster, "web", 2)
        wait_for_endpoints(cluster, "sticky", 2)
        wait_for_endpoints(cluster, "only-one", 1)
        yield cluster


def pod(name: str, app: str, program: str, *arguments: str) -> dict[str, Any]:
    """Return a pod that runs a Python program."""
    found = shell_pod(name, "", container={"command": ["python3", "-c", program, *arguments]})
    found["metadata"]["labels"] = {"name": name, "app": app}
    return found


def service(name: str, app: str, port: int = 80, protocol: str = "TCP", **spec: Any) -> dict[str, Any]:
    ports = [{"port": port, "targetPort": 8080, "protocol": protocol}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": app}, "ports": ports, **spec},
    }


def wait_for_endpoints(cluster: RealCluster, name: str, count: int) -> None:
    """Wait until a Service has so many ready endpoints, and the proxy has rules for them."""

    def ready() -> bool:
        found = cluster.get("endpointslices", "-l", f"kubernetes.io/service-name={name}")["items"]
        endpoints = [each for part in found for each in part.get("endpoints") or []]
        return len([each for each in endpoints if each["conditions"].get("ready")]) == count

    eventually(ready)


def eventually(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = clock.monotonic() + seconds
    while not condition():
        assert clock.monotonic() < deadline


def address_of(cluster: RealCluster, name: str) -> str:
    return str(cluster.get("service", name)["spec"]["clusterIP"])


def node_port_of(cluster: RealCluster, name: str) -> int:
    return int(cluster.get("service", name)["spec"]["ports"][0]["nodePort"])


def node_address(cluster: RealCluster) -> str:
    addresses = cluster.get("nodes")["items"][0]["status"]["addresses"]
    return next(str(each["address"]) for each in addresses if each["type"] == "InternalIP")


def fetch(address: str, port: int = 80, timeout: float = 5) -> str:
    connection = http.client.HTTPConnection(address, port, timeout=timeout)
    with contextlib.closing(connection):
        connection.request("GET", "/")
        return connection.getresponse().read().decode().strip()


def from_pod(cluster: RealCluster, name: str, *urls: str) -> list[str]:
    """Return the answers to a pod."""
    return cluster.kubectl("exec", name, "--", "python3", "-c", FETCH, *urls).split()


def table_of(cluster: RealCluster) -> str:
    return service_table(Names.of(f"{DataDirectory(cluster.directory).id}-0"))


def test_cluster_ip_leads_to_every_pod_from_the_node_and_from_pods(served: RealCluster) -> None:
    address = address_of(served, "web")
    assert {fetch(address) for _ in range(40)} == {"one", "two"}
    assert set(from_pod(served, "client", *[f"http://{address}/"] * 40)) == {"one", "two"}


def test_pod_reaches_itself_through_its_service(served: RealCluster) -> None:
    address = address_of(served, "only-one")
    assert from_pod(served, "one", *[f"http://{address}/"] * 5) == ["one"] * 5


def test_client_stays_with_its_pod(served: RealCluster) -> None:
    address = address_of(served, "sticky")
    assert len(set(from_pod(served, "client", *[f"http://{address}/"] * 20))) == 1
    assert len({fetch(address) for _ in range(20)}) == 1


def test_service_without_endpoints_refuses_at_once(served: RealCluster) -> None:
    for target in (
        (address_of(served, "nothing"), 80),
        (node_address(served), node_port_of(served, "nothing")),
        (address_of(served, "web"), 81),
    ):
        with pytest.raises(ConnectionRefusedError):
            fetch(*target)
    url = f"http://{address_of(served, 'nothing')}/"
    assert "Connection refused" in served.try_kubectl("exec", "client", "--", "python3", "-c", FETCH, url).err


@pytest.fixture
def machine() -> Iterator[str]:
    """Another machine: a network namespace with a cable to this one, whose end here is ``198.18.77.1``.

    Yields the number of the process that holds it.
    """
    cable = f"t-{ids.suffix(8)}"
    with subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE) as holder:
        inside = f"nsenter -t {holder.pid} -n"
        eventually(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        for line in (
            f"ip link add {cable} type veth peer name eth0 netns {holder.pid}",
            f"ip addr add 198.18.77.1/24 dev {cable}",
            f"ip link set {cable} up",
            f"{inside} ip addr add 198.18.77.2/24 dev eth0",
            f"{inside} ip link set eth0 up",
            f"{inside} ip route add default via 198.18.77.1",
        ):
            subprocess.run(line.split(), check=True)
        yield str(holder.pid)
        subprocess.run(["ip", "link", "delete", cable], check=True)
        holder.communicate()


def from_machine(machine: str, url: str) -> str:
    """Return the answer to the other machine, or the error."""
    command = ["nsenter", "-t", machine, "-n", "curl", "-sS", "--max-time", "3", url]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


def test_node_port_is_answered_on_addresses_of_the_machine_but_not_on_loopback(
    served: RealCluster, machine: str
) -> None:
    port = node_port_of(served, "web")
    assert {from_machine(machine, f"http://198.18.77.1:{port}/") for _ in range(20)} == {"one", "two"}
    assert {fetch("198.18.77.1", port) for _ in range(40)} == {"one", "two"}
    assert is_refused(("127.0.0.1", port))
    assert is_refused(("::1", port))


def test_api_server_is_for_the_machine_and_its_pods_only(served: RealCluster, machine: str) -> None:
    endpoints = served.get("endpoints", "kubernetes")["subsets"][0]
    port = endpoints["ports"][0]["port"]
    assert "timed out" in from_machine(machine, f"https://198.18.77.1:{port}/healthz")
    socket.create_connection((endpoints["addresses"][0]["ip"], port), timeout=5).close()


def test_external_addresses_follow_policy_source_ranges_and_health_checks(
    served: RealCluster, machine: str
) -> None:
    served.apply(
        service(
            "balanced",
            "web",
            type="LoadBalancer",
            externalTrafficPolicy="Local",
            loadBalancerSourceRanges=["198.18.77.0/24"],
            loadBalancerClass="example.com/test",
        )
    )
    ingress = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.77"}]}}}
    served.kubectl(
        "patch", "service", "balanced", "--subresource=status", "--type=merge", "-p", json.dumps(ingress)
    )
    eventually(lambda: from_machine(machine, "http://203.0.113.77/") in ("one", "two"))
    port = served.get("service", "balanced")["spec"]["healthCheckNodePort"]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection):
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        assert response.status == 200
        assert response.headers["X-Load-Balancing-Endpoint-Weight"] == "2"
        assert json.load(response) == {
            "service": {"namespace": "default", "name": "balanced"},
            "localEndpoints": 2,
            "serviceProxyHealthy": True,
        }
    served.kubectl(
        "patch", "service", "balanced", "-p", '{"spec": {"loadBalancerSourceRanges": ["198.18.78.0/24"]}}'
    )
    eventually(lambda: "timed out" in from_machine(machine, "http://203.0.113.77/"))
    served.kubectl("delete", "service", "balanced")
    eventually(lambda: is_refused(("127.0.0.1", port)))


def is_refused(target: tuple[str, int]) -> bool:
    try:
        socket.create_connection(target, timeout=5).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # the server was closing its port
        return False
    return False


def test_api_server_is_reached_from_a_pod_with_its_token(served: RealCluster) -> None:
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = (
        f"exec curl -s --max-time 10 --cacert {folder}/ca.crt "
        f'-H "Authorization: Bearer $(cat {folder}/token)" '
        "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/default/pods"
    )
    said = json.loads(served.kubectl("exec", "client", "--", "sh", "-c", script))
    assert said["message"].startswith('pods is forbidden: User "system:serviceaccount:default:default"')


def test_udp_client_gets_the_next_pod_after_its_pod_is_gone(served: RealCluster) -> None:
    """The client keeps its socket, so the kernel knows its connection."""
    served.apply(pod("udp-1", "udp", UDP, "first"))
    served.apply(service("udp", "udp", port=53, protocol="UDP"))
    wait_for_endpoints(served, "udp", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((address_of(served, "udp"), 53))
        assert ask(client) == "first"
        served.kubectl("delete", "pod", "udp-1", "--now")
        wait_for_endpoints(served, "udp", 0)
        served.apply(pod("udp-2", "udp", UDP, "second"))
        wait_for_endpoints(served, "udp", 1)
        assert ask(client) == "second"
    served.kubectl("delete", "service/udp", "pod/udp-2", "--now")


def ask(client: socket.socket) -> str:
    """Return the answer to a datagram; a lost one is sent again."""
    client.settimeout(1)
    for _ in range(10):
        with contextlib.suppress(TimeoutError, ConnectionRefusedError):
            client.send(b"x\n")
            return client.recv(100).decode().strip()
    return "no answer"


def test_terminating_pod_serves_while_no_other_is_left(served: RealCluster) -> None:
    last = pod("last", "last", WEB, "last", "ignores SIGTERM")
    last["spec"]["terminationGracePeriodSeconds"] = 600
    served.apply(last)
    served.apply(service("last", "last"))
    wait_for_endpoints(served, "last", 1)
    address = address_of(served, "last")
    served.kubectl("delete", "pod", "last", "--wait=false")
    wait_for_endpoints(served, "last", 0)
    assert [fetch(address) for _ in range(5)] == ["last"] * 5
    served.kubectl("delete", "pod", "last", "--now")
    served.kubectl("delete", "service", "last")


@pytest.mark.parametrize(
    "damage",
    [
        "nft delete table ip {table}",
        "nft flush chain ip {table} nat-prerouting",
        "nft flush map ip {table} service-ips",
        "nft add rule ip {table} services drop",
    ],
)
def test_damaged_table_is_restored_with_an_event(served: RealCluster, damage: str) -> None:
    address = address_of(served, "web")
    before = damage_events(served)
    subprocess.run(damage.format(table=table_of(served)).split(), check=True)
    eventually(lambda: damage_events(served) > before, RESTORED_SECONDS)
    assert {fetch(address) for _ in range(20)} == {"one", "two"}
    assert len(from_pod(served, "client", f"http://{address}/")) == 1


def damage_events(cluster: RealCluster) -> int:
    events = cluster.get("events", "--field-selector", "reason=ServiceRulesRestored", "-n", "default")
    return sum(each.get("count") or 1 for each in events["items"])


def test_connections_survive_a_killed_proxy_and_down_removes_its_tables(own_cluster: RealCluster) -> None:
    own_cluster.up()
    own_cluster.apply(pod("echo", "echo", ECHO))
    own_cluster.apply(service("echo", "echo"))
    own_cluster.wait_ready("echo")
    wait_for_endpoints(own_cluster, "echo", 1)
    address, table = address_of(own_cluster, "echo"), table_of(own_cluster)
    with socket.create_connection((address, 80), timeout=5) as connection:
        assert echoed(connection, b"before") == b"before"
        own_cluster.kill()
        assert echoed(connection, b"without") == b"without"
        with socket.create_connection((address, 80), timeout=5) as another:
            assert echoed(another, b"new") == b"new"
            own_cluster.up()
            wait_for_endpoints(own_cluster, "echo", 1)
            assert echoed(another, b"still") == b"still"
        assert echoed(connection, b"after") == b"after"
    own_cluster.down()
    listed = subprocess.run(["nft", "list", "tables"], check=True, capture_output=True, text=True).stdout
    assert table not in listed


def echoed(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return connection.recv(100)
