"""Clusters in several machines whose Node objects name each other: nodes of one network of pods.

Each machine has a control plane of its own. The Node objects of the other machines are made by hand, so
that what is tested is the network between nodes alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.support import large_packets
from tests.support.clusters import DEADLINE, shell_pod
from tests.support.machines import Machine, MachineCluster, Machines

SERVE = "exec busybox httpd -f -p 8080 -h /tmp/w"
ECHO_ADDRESS = "mkdir -p /tmp/w/cgi-bin; printf '#!/bin/sh\\necho; echo $REMOTE_ADDR' >/tmp/w/cgi-bin/who; "
ECHO_ADDRESS += "chmod +x /tmp/w/cgi-bin/who; "


def block_of(machine: Machine) -> str:
    return f"10.88.{machine.number}.0/24"


def add_node(cluster: MachineCluster, machine: Machine, address: object = None) -> None:
    """Create the Node of a machine, as its kubelet and the controller would."""
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": machine.name},
            "spec": {"podCIDR": block_of(machine)},
        }
    )
    addresses = [{"type": "InternalIP", "address": str(address or machine.address)}]
    status = json.dumps({"status": {"addresses": addresses}})
    cluster.kubectl("patch", "node", machine.name, "--subresource=status", "-p", status)


@contextmanager
def one_network(built: Machines, *options: str) -> Iterator[Sequence[MachineCluster]]:
    """Start a cluster in each machine; each knows the nodes of all."""
    clusters = [MachineCluster(machine, "oci", *options) for machine in built]
    try:
        for cluster in clusters:
            cluster.up("--nodes", "0")
            for machine in built:
                add_node(cluster, machine)
            cluster.podling("down")
            cluster.up("--nodes", "1")
        yield clusters
    finally:
        for cluster in clusters:
            cluster.down()


def serve(cluster: MachineCluster, name: str) -> str:
    """Start a pod that answers with the address of its client; return its own."""
    cluster.apply(shell_pod(name, f"{ECHO_ADDRESS}{SERVE}"))
    cluster.wait_ready(name)
    cluster.kubectl("wait", f"pod/{name}", f"--timeout={DEADLINE}", "--for=jsonpath={.status.podIP}")
    return str(cluster.get("pod", name)["status"]["podIP"])


def ask(cluster: MachineCluster, pod: str, address: str) -> str:
    """Return the answer of the pod at ``address`` to a pod: the address of the client, or the error."""
    url = f"http://{address}:8080/cgi-bin/who"
    done = cluster.try_kubectl("exec", pod, "--", "timeout", "5", "busybox", "wget", "-qO-", url)
    return done.out.strip() or done.err.strip()


def is_reached(cluster: MachineCluster, pod: str, address: str, *options: str) -> bool:
    """Return whether a ping from the pod gets an answer."""
    ping = ["busybox", "ping", "-c", "1", "-W", "2", *options, address]
    return cluster.try_kubectl("exec", pod, "--", *ping).code == 0


def network_of_pod(cluster: MachineCluster, pod: str) -> str:
    """Return the number of a process of the pod in its machine."""
    address = cluster.get("pod", pod)["status"]["podIP"]
    machine = cluster.machine
    for process in machine.run("pgrep", "-f", "busybox httpd").split():
        shown = machine.try_run("nsenter", f"--target={process}", "--net", "ip", "-brief", "address").out
        if f" {address}/" in shown:
            return process
    raise AssertionError(f"no process of pod {pod} was found")


def in_pod(cluster: MachineCluster, pod: str, *arguments: str) -> str:
    """Run a program of the machine in the network of a pod; return its output."""
    process = network_of_pod(cluster, pod)
    return cluster.machine.run("nsenter", f"--target={process}", "--net", *arguments)


def large_packet(cluster: MachineCluster, pod: str, address: str, size: int) -> str:
    """Send a packet of ``size`` bytes from a pod that must not be fragmented; return what came of it."""
    return in_pod(cluster, pod, sys.executable, large_packets.__file__, address, str(size)).strip()
