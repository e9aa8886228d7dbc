"""Two nodes on two machines, a machine outside, servers and clients, and a Service for each case."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tests.support import service_client
from tests.support.clusters import shell_pod
from tests.support.joined_nodes import PORT as PORT_OF_API
from tests.support.joined_nodes import JoinedMachine, join_arguments
from tests.support.machines import Machine, MachineCluster, Machines, machines
from tests.support.service_ways import CASES, NODES, Case, Position, Way

PORT = 8080
PROTOCOLS = ("TCP", "UDP")
FAMILIES = ("ip", "ip6")
EXTERNAL_IP = "203.0.113.10"
RANGES = (
    "--cluster-cidr",
    "10.88.0.0/16,fd00:88::/56",
    "--service-cluster-ip-range",
    "10.96.0.0/16,fd00:96::/112",
)
ASKED = 12
"""Connections on a way to at most one server: another one would answer, too (all but 1 in 4,000 times)."""
ASKED_OF_TWO = 32
"""Connections on a way to two servers: both answer, all but 1 in 2,000,000,000 times. There are many ways."""
SECONDS = 1.6
"""Longer than the second after which TCP repeats its first packet: it may miss a first refusal over IPv6."""

EVERY_REFUSAL = """
cd /proc/sys/net
echo 0 >ipv4/icmp_ratelimit
echo 0 >ipv6/icmp/ratelimit
echo 1000000 >ipv4/icmp_msgs_per_sec
echo 1000000 >ipv4/icmp_msgs_burst
"""

Probe = tuple[str, str, str, int, int]


class Ground:
    """Two nodes with servers and clients, a machine outside, and a Service for each case."""

    def __init__(self, built: Machines, cluster: MachineCluster, joined: JoinedMachine) -> None:
        self.machines, self.cluster, self.joined = built, cluster, joined
        self.services: dict[str, Any] = {}
        self.pods: dict[str, Any] = {}

    def build(self) -> None:
        """Start everything. The kernels answer every refused connection, by default only some."""
        for machine in self.machines:
            answer_every_refusal(machine)
        for node in NODES:
            self.cluster.apply(_pod(f"server-{node}", node, f"serve server-{node} {PORT}"))
            self.cluster.apply(_pod(f"pod-{node}", node, ""))
        names = [f"pod/{kind}-{node}" for kind in ("server", "pod") for node in NODES]
        self.cluster.kubectl("wait", "--for=condition=Ready", *names, "--timeout=60s")
        listed = {"apiVersion": "v1", "kind": "List", "items": [_service(*each) for each in enumerate(CASES)]}
        self.cluster.apply(listed)
        self.cluster.kubectl(
            "wait", "--for=jsonpath={.status.loadBalancer.ingress}", "service", "-l", "balanced=yes"
        )
        self.services = {each["metadata"]["name"]: each for each in self.cluster.get("services")["items"]}
        self.pods = {each["metadata"]["name"]: each for each in self.cluster.get("pods")["items"]}

    def probe(self, case: Case, way: Way, family: str, protocol: str, asked: int = ASKED) -> Probe | None:
        """Return the question for one way; None if the Service has no such address."""
        spec = self.services[case.name]["spec"]
        (port,) = (each for each in spec["ports"] if each["protocol"] == protocol)
        host, number = "", port["port"]
        if way.kind == "cluster":
            host = next((each for each in spec["clusterIPs"] if _family(each) == family), "")
        elif way.kind == "node-port":
            machine = self.machines[way.over - 1]
            host, number = str(machine.address if family == "ip" else machine.address6), port["nodePort"]
        elif way.kind == "balancer":
            own = {str(self.machines[way.over - 1].address), str(self.machines[way.over - 1].address6)}
            ingress = self.services[case.name]["status"]["loadBalancer"].get("ingress", ())
            host = next(
                (each["ip"] for each in ingress if each["ip"] in own and _family(each["ip"]) == family), ""
            )
        elif family == "ip":
            host = EXTERNAL_IP
        return (family, protocol, host, number, asked) if host else None

    def ask(self, position: Position, probes: list[Probe]) -> list[list[str]]:
        """Return the answers to all probes from one position."""
        program = [sys.executable, service_client.__file__, "ask", str(SECONDS)]
        if position.kind == "pod":
            command = ("exec", "-i", str(position), "--", "python3", "-c", PROGRAM, "ask", str(SECONDS))
            answer = self.cluster.kubectl(*command, stdin=json.dumps(probes))
        else:
            answer = self.machine_of(position).run(*program, stdin=json.dumps(probes))
        found: list[list[str]] = json.loads(answer)
        return found

    def address(self, service: str, family: str) -> str:
        """Return the Service's own address of a family."""
        found: list[str] = self.cluster.get("service", service)["spec"]["clusterIPs"]
        return next(each for each in found if _family(each) == family)

    def machine_of(self, position: Position) -> Machine:
        return self.machines[(position.node or 3) - 1]

    def sources(self, name: str, position: Position) -> set[str]:
        """Return the addresses that stand for an expected source."""
        if name == "client" and position.kind == "pod":
            return {each["ip"] for each in self.pods[str(position)]["status"]["podIPs"]}
        machine = self.machine_of(position) if name == "client" else self.machines[int(name[-1]) - 1]
        shown = json.loads(machine.run("ip", "-json", "address"))
        return {each["local"] for device in shown for each in device["addr_info"]}


def answer_every_refusal(machine: Machine) -> None:
    """Let the kernel of a machine answer every refused connection."""
    machine.run("sh", "-ec", EVERY_REFUSAL)


PROGRAM = Path(service_client.__file__).read_text()


def talker(name: str, node: int, host: str) -> dict[str, Any]:
    """Return a pod that keeps a connection to a Service of the servers' next port; its log names breaks."""
    return _pod(name, node, f"hold {host} {PORT + 1}")


def talk_service() -> dict[str, Any]:
    """Return the Service of the servers' next port."""
    ports = [{"port": PORT + 1}]
    spec = {"selector": {"app": "server"}, "ipFamilyPolicy": "RequireDualStack", "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "talk"}, "spec": spec}


def _pod(name: str, node: int, arguments: str) -> dict[str, Any]:
    command = f'exec python3 -c "$PROGRAM" {arguments}' if arguments else "while :; do sleep 1; done"
    pod = shell_pod(name, command, nodeName=f"machine-{node}", terminationGracePeriodSeconds=0)
    (container,) = pod["spec"]["containers"]
    container["env"] = [{"name": "PROGRAM", "value": PROGRAM.replace("$", "$$")}]
    if arguments.startswith("serve"):
        pod["metadata"]["labels"] = {"app": "server", "node": str(node)}
        container["readinessProbe"] = {"tcpSocket": {"port": PORT}, "periodSeconds": 1}
    return pod


def _service(number: int, case: Case) -> dict[str, Any]:
    selector = {"app": "server"}
    if case.nodes == (1,):
        selector["node"] = "1"
    elif not case.nodes:
        selector["node"] = "none"
    spec: dict[str, Any] = {
        "type": case.type,
        "selector": selector,
        "internalTrafficPolicy": case.internal,
        "ipFamilyPolicy": "RequireDualStack",
        "ports": [
            {"name": each.lower(), "protocol": each, "port": 9000 + number, "targetPort": PORT}
            for each in PROTOCOLS
        ],
    }
    if case.type != "ClusterIP":
        spec["externalTrafficPolicy"] = case.external
    if case.external_ip:
        spec["externalIPs"] = [EXTERNAL_IP]
    labels = {"balanced": "yes"} if case.type == "LoadBalancer" else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": case.name, "labels": labels},
        "spec": spec,
    }


def _family(address: str) -> str:
    return "ip" if ip_address(address).version == 4 else "ip6"


@contextmanager
def service_ground(folder: Path) -> Iterator[Ground]:
    """Build everything, and remove it at the end."""
    with machines(3, folder) as built:
        address = str(built[0].address)
        cluster = MachineCluster(
            built[0], "oci", "--advertise-address", address, "--port", PORT_OF_API, *RANGES
        )
        joined = JoinedMachine(built[1], "oci")
        try:
            cluster.up()
            joined.join(*join_arguments(cluster))
            built[2].run("ip", "route", "add", EXTERNAL_IP, "via", address)
            ground = Ground(built, cluster, joined)
            ground.build()
            yield ground
        finally:
            joined.podling("down")
            cluster.remove()
