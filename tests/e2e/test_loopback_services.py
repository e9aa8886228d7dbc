"""Services of a cluster of plain processes: their addresses work on the machine, and are gone afterwards."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from podling import clock
from tests.support.clusters import shell_pod
from tests.support.machines import Machine, MachineCluster, machines, missing

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

SERVER = """exec {python} -c '
import http.server
class Named(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{name}")
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("{host}", {port}), Named).serve_forever()
'"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineCluster]:
    with machines(1, tmp_path_factory.mktemp("loopback")) as built:
        running = MachineCluster(built[0], "process")
        running.up()
        for number in (1, 2):
            running.apply(server(f"web-{number}", 18080 + number))
        for number in (1, 2):
            running.wait_ready(f"web-{number}")
        running.apply(service("web", {"app": "web"}, type="NodePort"))
        yield running
        running.down()
        assert added(built[0]) == []


def server(name: str, port: int, host: str = "") -> dict[str, Any]:
    """Return a pod that answers HTTP requests with its name."""
    script = SERVER.format(python=sys.executable, name=name, port=port, host=host)
    pod = shell_pod(name, script, terminationGracePeriodSeconds=0)
    pod["metadata"]["labels"] = {"app": name.partition("-")[0]}
    (container,) = pod["spec"]["containers"]
    container["ports"] = [{"name": "http", "containerPort": port}]
    container["readinessProbe"] = {"tcpSocket": {"port": "http", "host": host}, "periodSeconds": 1}
    return pod


def service(name: str, selector: dict[str, str], **spec: object) -> dict[str, Any]:
    ports = [{"port": 80, "targetPort": "http"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": selector, "ports": ports, **spec},
    }


def added(machine: Machine) -> list[str]:
    """Return the addresses of the machine's loopback interface that are Services'."""
    (shown,) = json.loads(machine.run("ip", "-json", "-4", "address", "show", "lo"))
    return sorted(each["local"] for each in shown["addr_info"] if not each["local"].startswith("127."))


def fetched(cluster: MachineCluster, host: str, port: int = 80) -> str:
    """Return a server's name, or what curl says."""
    done = cluster.machine.try_run("curl", "-sS", "-m", "5", f"http://{host}:{port}/")
    return done.out.strip() or done.err


def wait(happens: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for a change that nothing announces to the test."""
    deadline = clock.monotonic() + seconds
    while not happens():
        assert clock.monotonic() < deadline
        threading.Event().wait(0.1)


def address(cluster: MachineCluster, name: str) -> str:
    found: str = cluster.get("service", name)["spec"]["clusterIP"]
    return found


def test_both_addresses_of_a_service_lead_to_its_pods(cluster: MachineCluster) -> None:
    found = cluster.get("service", "web")["spec"]
    wait(lambda: fetched(cluster, found["clusterIP"]).startswith("web-"))
    for host, port in ((found["clusterIP"], 80), ("127.0.0.1", found["ports"][0]["nodePort"])):
        assert {fetched(cluster, host, port) for _ in range(4)} == {"web-1", "web-2"}


def test_pods_reach_the_api_by_the_variables_of_its_service(cluster: MachineCluster) -> None:
    script = "echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"
    cluster.apply(shell_pod("reader", script, restartPolicy="Never"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/reader", "--timeout=30s")
    host, _, port = cluster.kubectl("logs", "reader").strip().partition(":")
    answered = cluster.machine.run("curl", "-ks", "-m", "5", f"https://{host}:{port}/livez")
    assert answered == "ok"


def test_service_without_endpoints_refuses_connections_at_once(cluster: MachineCluster) -> None:
    cluster.apply(service("empty", {"app": "nothing"}))
    host = address(cluster, "empty")
    wait(lambda: host in added(cluster.machine))
    assert "Couldn't connect" in fetched(cluster, host)


def test_address_of_deleted_service_is_removed(cluster: MachineCluster) -> None:
    cluster.apply(service("brief", {"app": "web"}))
    host = address(cluster, "brief")
    wait(lambda: fetched(cluster, host).startswith("web-"))
    cluster.kubectl("delete", "service", "brief")
    wait(lambda: host not in added(cluster.machine))


def test_port_in_use_is_an_event_and_opened_once_it_is_free(cluster: MachineCluster) -> None:
    cluster.apply(server("holder", 31999, "127.0.0.1"))
    cluster.wait_ready("holder")
    ports = [{"port": 80, "targetPort": "http", "nodePort": 31999}]
    cluster.apply(service("late", {"app": "web"}, type="NodePort", ports=ports))
    wait(lambda: "PortNotOpened" in cluster.kubectl("events", "--for=service/late"))
    assert "can't open port 127.0.0.1:31999/TCP, skipping it: " in cluster.kubectl(
        "events", "--for=service/late"
    )
    assert fetched(cluster, "127.0.0.1", 31999) == "holder"
    cluster.kubectl("delete", "pod", "holder")
    wait(lambda: fetched(cluster, "127.0.0.1", 31999).startswith("web-"), 30)


def test_kill_leaves_addresses_that_the_next_start_takes_over(cluster: MachineCluster) -> None:
    before = added(cluster.machine)
    cluster.kill()
    assert added(cluster.machine) == before
    cluster.up()
    host = address(cluster, "web")
    wait(lambda: fetched(cluster, host).startswith("web-"))
    assert added(cluster.machine) == before
