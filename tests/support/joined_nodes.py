"""Nodes that have joined a cluster from other machines, for end-to-end tests."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.support.clusters import PODLING, SWAP, Done
from tests.support.machines import Machine, MachineCluster

PORT = "6443"
"""The port of the API server, which is the same after a restart: the machine is the test's own."""


class JoinedMachine:
    """The node of one machine, in a process of its own there."""

    def __init__(self, machine: Machine, runtime: str) -> None:
        self.machine = machine
        self.name = machine.name
        self.directory = machine.directory / "node"
        self._runtime = runtime

    def podling(self, *arguments: str) -> Done:
        name, *rest = arguments
        return self.machine.try_run(*PODLING, *name.split(), "--data-dir", str(self.directory), *rest)

    def try_join(self, *arguments: str) -> Done:
        return self.podling("join", *arguments, "--runtime", self._runtime, SWAP, "--detach")

    def join(self, *arguments: str) -> Done:
        """Join, or start again without arguments; the test fails if that fails."""
        done = self.try_join(*arguments)
        assert done.code == 0, f"podling join: {done.out}{done.err}\n{self.log()}"
        return done

    def kill(self) -> None:
        """``kill -9`` the node's process, and wait until it is gone."""
        pid = self.machine.outside(int((self.directory / "podling.pid").read_text()))
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            assert select.select([handle], [], [], 10)[0], f"process {pid} survived SIGKILL"
        finally:
            os.close(handle)

    def log(self) -> str:
        path = self.directory / "podling.log"
        return path.read_text()[-5000:] if path.exists() else "(no log)"

    def request(self, url: str, method: str = "GET", body: object = None) -> tuple[int, dict[str, Any]]:
        """Send a request with the node's own certificate; return code and decoded answer."""
        pair = self.directory / "pki" / "kubelet-client-current.pem"
        authority = self.directory / "pki" / "ca.crt"
        return curl(self.machine, url, authority, "--cert", str(pair), method=method, body=body)


def curl(
    machine: Machine, url: str, authority: Path, *options: str, method: str = "GET", body: object = None
) -> tuple[int, dict[str, Any]]:
    """Send a request from a machine; return code and decoded answer, 0 where TLS or TCP fails."""
    sent = ["--data", json.dumps(body), "--header", "Content-Type: application/json"] if body else []
    done = machine.try_run(
        "curl", "--silent", "--max-time", "10", "--cacert", str(authority), *options, *sent,
        "--request", method, "--write-out", "\n%{http_code}", url,
    )  # fmt: skip
    text, _, code = done.out.rpartition("\n")
    try:
        return int(code), json.loads(text)
    except ValueError:
        return int(code or 0), {"text": text}


def join_arguments(cluster: MachineCluster, *options: str) -> list[str]:
    """Return the arguments of the command that a new token prints."""
    done = cluster.podling("token create", "--join", *options)
    assert done.code == 0, done.err
    return done.out.split()[2:]


def advertised_url(cluster: MachineCluster) -> str:
    """Return the URL of the API server for other machines."""
    return join_arguments(cluster)[0]


@contextmanager
def cluster_on(machine: Machine, runtime: str, *options: str) -> Iterator[MachineCluster]:
    """Run a cluster in a machine that others may join."""
    address = ("--advertise-address", str(machine.address), "--port", PORT)
    cluster = MachineCluster(machine, runtime, *address, *options)
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down()


@contextmanager
def joined(cluster: MachineCluster, runtime: str, *others: Machine) -> Iterator[list[JoinedMachine]]:
    """Join the cluster from other machines."""
    arguments = join_arguments(cluster)
    with ExitStack() as stack:
        nodes = [JoinedMachine(machine, runtime) for machine in others]
        for node in nodes:
            stack.callback(node.podling, "down", "--grace", "1")
            node.join(*arguments)
        yield nodes
