"""Namespaces x, y and z with servers as pods, an outside, and the connections among all of them.

The same layout as upstream's ``test/e2e/network/netpol``: pods a, b and c in each namespace, with their names
in the label ``pod``, and a table of the connections that are allowed, compared with reality.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from podling import ids
from podling.cluster.directory import DataDirectory
from tests.support.clusters import RealCluster
from tests.support.connectivity import SERVE, reached

NAMESPACES = ("x", "y", "z")
PODS = tuple(f"{namespace}/{pod}" for namespace in NAMESPACES for pod in "abc")
HOST, OUTSIDE = "host", "outside"
OUTSIDE_ADDRESS, OUTSIDE_GATEWAY = "198.51.100.2", "198.51.100.1"
TCP, UDP = "tcp", "udp"

Allowed = Callable[[str, str], bool]
"""Says for a source and a pod whether the source may reach it."""


def policy(name: str, namespace: str = "x", **spec: Any) -> dict[str, Any]:
    """Return a manifest. Without ``podSelector`` it is about all pods of the namespace."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSelector": {}, **spec},
    }


def labelled(**labels: str) -> dict[str, Any]:
    return {"matchLabels": labels}


def server_pod(
    name: str,
    namespace: str,
    ports: Sequence[int] = (80, 81),
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a pod that answers on TCP and UDP; its ports are named ``serve-80-tcp`` and so on."""
    named = [
        {"name": f"serve-{port}-{protocol}", "containerPort": port, "protocol": protocol.upper()}
        for port in ports
        for protocol in (TCP, UDP)
    ]
    container = {
        "name": "main",
        "image": "podling.local/host",
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", SERVE, *map(str, ports)],
        "ports": named,
        "readinessProbe": {"tcpSocket": {"port": ports[0]}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"pod": name, **(labels or {})}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container], **spec},
    }


class PolicyCluster:
    """A cluster with the servers; knows the network namespaces of their pods, the host and the outside."""

    def __init__(self, cluster: RealCluster, outside: Path) -> None:
        self.cluster = cluster
        self.outside = outside
        self.places: dict[str, Path] = {}
        self.addresses: dict[str, str] = {}

    def apply(self, *manifests: dict[str, Any]) -> None:
        self.cluster.apply({"apiVersion": "v1", "kind": "List", "items": list(manifests)})

    def add(self, *pods: dict[str, Any]) -> None:
        """Start pods and learn where they are."""
        self.apply(*pods)
        for pod in pods:
            known = pod["metadata"]
            self.cluster.wait_ready(known["name"], "-n", known["namespace"])
            self.locate(f"{known['namespace']}/{known['name']}")

    def locate(self, name: str) -> None:
        namespace, pod = name.split("/")
        address = self.cluster.get("pod", pod, "-n", namespace)["status"]["podIP"]
        self.addresses[name] = address
        self.places[name] = self._network_namespace(address)

    def _network_namespace(self, address: str) -> Path:
        """Return the pinned network namespace of the pod to which an address is leased."""
        for state in Path("/run/podling").glob(f"{DataDirectory(self.cluster.directory).id}-*"):
            lease = state / "network" / "leases" / address
            if lease.exists():
                return Path(state, "sandboxes", json.loads(lease.read_text())["sandbox_id"], "net")
        raise LookupError(address)

    def reached(self, sources: Iterable[str], targets: Iterable[str]) -> dict[str, set[str]]:
        """Return for each source the targets (``protocol:address:port``) that answer."""
        known = {**self.places, HOST: Path("/proc/self/ns/net"), OUTSIDE: self.outside}
        return reached({name: known[name] for name in sources}, targets)

    def check(
        self,
        allowed: Allowed,
        *,
        port: int = 80,
        protocol: str = TCP,
        sources: Sequence[str] = (*PODS, HOST, OUTSIDE),
        pods: Sequence[str] = PODS,
    ) -> None:
        """Compare every connection with the table. A pod reaches itself, and the host its pods, always."""
        targets = {f"{protocol}:{self.addresses[name]}:{port}": name for name in pods}
        found = self.reached(sources, targets)
        wrong = [
            f"{source} -> {name}: {'open' if is_open else 'closed'}"
            for source in sources
            for target, name in targets.items()
            if (is_open := target in found[source]) != (source in (name, HOST) or allowed(source, name))
        ]
        assert not wrong, "\n".join(wrong)

    @contextmanager
    def policies(self, *manifests: dict[str, Any]) -> Iterator[None]:
        """Policies that exist, and are in force, as long as the block lasts."""
        self.apply(*manifests)
        self.settle()
        try:
            yield
        finally:
            for each in manifests:
                known = each["metadata"]
                self.cluster.kubectl(
                    "delete", "networkpolicy", known["name"], "-n", known["namespace"], "--ignore-not-found"
                )

    def settle(self) -> None:
        """Wait until all changes of policies so far are in force.

        A pod starts after the policies of its namespace. The last of them is made here, after all others.
        """
        name = f"settle-{ids.suffix(8)}"
        last = policy("last", "settled", podSelector=labelled(pod="none"))
        last["metadata"]["annotations"] = {"for": name}
        self.apply(last)
        pod = server_pod(name, "settled")
        del pod["spec"]["containers"][0]["readinessProbe"]
        self.apply(pod)
        self.cluster.wait_ready(name, "-n", "settled")
        self.cluster.kubectl("delete", "pod", name, "-n", "settled", "--wait=false")


@contextmanager
def outside_network() -> Iterator[Path]:
    """A network namespace beside the node, with an address of its own and routes over the node."""
    suffix = ids.suffix(6)
    name, link = f"outside-{suffix}", f"out-{suffix}"
    commands = (
        f"ip netns add {name}",
        f"ip link add {link} type veth peer name eth0 netns {name}",
        f"ip address add {OUTSIDE_GATEWAY}/24 dev {link}",
        f"ip link set {link} up",
        f"ip -n {name} address add {OUTSIDE_ADDRESS}/24 dev eth0",
        f"ip -n {name} link set eth0 up",
        f"ip -n {name} link set lo up",
        f"ip -n {name} route add default via {OUTSIDE_GATEWAY}",
    )
    try:
        for each in commands:
            subprocess.run(each.split(), check=True)
        yield Path("/run/netns", name)
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False)
        subprocess.run(["ip", "link", "delete", link], check=False, stderr=subprocess.DEVNULL)


@contextmanager
def policy_cluster(cluster: RealCluster) -> Iterator[PolicyCluster]:
    """The namespaces with their servers, ready; the namespaces are labelled ``ns`` with their names."""
    with outside_network() as outside:
        made = PolicyCluster(cluster, outside)
        spaces = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"ns": name}}}
            for name in (*NAMESPACES, "settled")
        ]
        made.apply(*spaces)
        try:
            made.add(*(server_pod(pod, space) for space in NAMESPACES for pod in "abc"))
            yield made
        finally:
            cluster.kubectl("delete", "namespace", *NAMESPACES, "settled", "--ignore-not-found")
