"""Bytes a second between the pods of two machines, beside a bare VXLAN device between the same machines.

The machines are network namespaces joined by a switch. The floor is what two namespaces reach that are
connected as pods are, by a veth pair and routing, over a VXLAN device made by hand, without any rules.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import ROOT, Figure, show

if TYPE_CHECKING:
    from tests.support.machines import Machine, Machines

SECONDS = 3.0
ROUNDS = 3


def main() -> None:
    sys.path.insert(0, str(ROOT))  # the machines are those of the tests
    from tests.support.machines import machines, missing

    if reason := missing():
        print(f"not measured: {reason}")
        return
    directory = Path(tempfile.mkdtemp(prefix="podling-bench-"))
    try:
        with machines(2, directory) as built:
            measured = compare(built)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    show(
        [
            Figure(
                "one TCP stream between pods of two machines",
                statistics.median(ours) / 1e6,
                "MB/s",
                statistics.median(bare) / 1e6,
                "bare VXLAN",
                goal=0.8,
                more_is_better=True,
            )
            for ours, bare in [measured]
        ]
    )


def compare(built: Machines) -> tuple[list[float], list[float]]:
    """Return the rates over ours and over the bare tunnel, measured in turns: load changes with time."""
    from tests.support.overlay_clusters import network_of_pod, one_network, serve

    with one_network(built) as clusters:
        ends = []
        addresses = []
        for cluster in clusters:
            addresses.append(serve(cluster, "web"))
            ends.append(network_of_pod(cluster, "web"))
        bare = [bare_end(machine, built[1 - index]) for index, machine in enumerate(built)]
        ours, floor = [], []
        for _ in range(ROUNDS):
            ours.append(rate(built, ends, addresses[1]))
            floor.append(rate(built, bare, "10.99.2.2"))
        return ours, floor


def bare_end(machine: Machine, peer: Machine) -> str:
    """Make a namespace behind a VXLAN device; return the process that holds it."""
    holder = machine.run("sh", "-c", "unshare --net sleep 3600 >/dev/null 2>&1 & echo $!").strip()
    own, other = machine.number, peer.number
    mac = "02:00:00:00:00:0{}".format
    apart = f"[ $(readlink /proc/{holder}/ns/net) != $(readlink /proc/1/ns/net) ]"
    machine.run("sh", "-c", f"until {apart}; do :; done")
    local = f"local {machine.address} nolearning"
    for line in f"""link add bare address {mac(own)} type vxlan id 99 dstport 4790 {local}
link set bare mtu 1450 up
link add out mtu 1450 type veth peer name eth0 mtu 1450 netns {holder}
link set out up
addr add 10.99.{own}.1/24 dev out
neigh add 10.99.{other}.0 lladdr {mac(other)} dev bare
route add 10.99.{other}.0/24 via 10.99.{other}.0 dev bare onlink""".splitlines():
        machine.run("ip", *line.split())
    machine.run("bridge", "fdb", "append", mac(other), "dev", "bare", "dst", str(peer.address), "self")
    inside = ["nsenter", f"--target={holder}", "--net", "ip"]
    machine.run(*inside, "addr", "add", f"10.99.{own}.2/24", "dev", "eth0")
    machine.run(*inside, "link", "set", "eth0", "up")
    machine.run(*inside, "route", "add", "default", "via", f"10.99.{own}.1")
    return holder


def rate(built: Machines, ends: list[str], address: str) -> float:
    """Return the bytes a second from the first end to the second."""
    program = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "bench.overlay")
    commands = [
        built[index].command("nsenter", f"--target={ends[index]}", "--net", *program, *arguments)
        for index, arguments in ((1, ["receive"]), (0, ["send", address]))
    ]
    with subprocess.Popen(commands[0], stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "listening\n"
        subprocess.run(commands[1], check=True)
        result = json.loads(receiver.stdout.readline())
    return float(result["bytes"] / result["seconds"])


def receive() -> None:
    import socket
    import time

    with socket.create_server(("", 5201)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        buffer, total, began = bytearray(1 << 20), 0, time.perf_counter()
        with connection:
            while got := connection.recv_into(buffer):
                total += got
        print(json.dumps({"bytes": total, "seconds": time.perf_counter() - began}), flush=True)


def send(address: str) -> None:
    import socket
    import time

    data = bytes(1 << 18)
    with socket.create_connection((address, 5201), timeout=10) as connection:
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            connection.sendall(data)


if __name__ == "__main__":
    receive() if sys.argv[1] == "receive" else send(sys.argv[2])
