"""GET and LIST with API workers beside one process, over TLS, in turns: the same ``wrk`` and the same
objects.

Processor time says how far workers scale: ``N`` workers answer ``N`` times as many requests as one process if
each request costs the same there. The rates that are measured depend on the cores that are left: ``wrk`` runs
on the same machine, so where one process takes ``c`` seconds of a core for a request and ``wrk`` takes ``w``,
two cores cannot give more than ``2c / (c + w)`` times the rate of one process. The figures state that bound,
too.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.api import pod
from bench.api_load import PODS
from bench.harness import BenchCluster, Figure, cluster, cpu_seconds, memory_mib, show
from podling.api.authentication_v1 import TokenRequest, TokenRequestSpec
from podling.api.core_v1 import ConfigMap, Pod, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRoleBinding, RoleRef, Subject
from podling.client.http import HttpClient
from podling.cluster.processes.state_file import read_states

WORKERS = 2
CORES = 2
SECONDS, ROUNDS = 1, 9
CONNECTIONS = 32
LISTED = 500
FILLED = 2_000
"""Objects of 4 kB, for the memory of a worker."""
GOAL = 1.6
REQUESTS = {"GET one pod": f"{PODS.format('default')}/p0000", f"LIST {LISTED} pods": PODS.format("default")}
_rate = re.compile(r"Requests/sec:\s+([0-9.]+)")
_count = re.compile(r"(\d+) requests in")


@dataclass(frozen=True)
class Run:
    """One run of ``wrk``: requests a second, and processor seconds for a request."""

    rate: float
    server: float
    wrk: float
    shares: tuple[float, ...]
    """The part of each of the server's processes in its processor time."""


class Served:
    """A cluster under load."""

    def __init__(self, running: BenchCluster) -> None:
        self.running = running
        self.token = asyncio.run(_filled(running.kubeconfig))
        found = re.search(r"https://127.0.0.1:\d+", running.kubeconfig.read_text())
        assert found is not None, "a kubeconfig names the server"
        self.url = found[0]

    @property
    def pids(self) -> list[int]:
        states = read_states(self.running.data_directory)
        return [each.pid for each in states.parts] if states is not None else [self.running.pid]

    def run(self, path: str) -> Run:
        """Measure one run."""
        pids = self.pids
        before, own = [cpu_seconds(pid) for pid in pids], os.times()
        done = subprocess.run(
            [
                "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}", "-H", f"Authorization: Bearer {self.token}",
                f"{self.url}{path}",
            ],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        after, ended = [cpu_seconds(pid) for pid in pids], os.times()
        used = [new - old for new, old in zip(after, before, strict=True)]
        rate, count = _rate.search(done.stdout), _count.search(done.stdout)
        if rate is None or count is None or "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise RuntimeError(f"wrk of {path} says:\n{done.stdout}")
        requests = int(count[1])
        wrk = ended.children_user + ended.children_system - own.children_user - own.children_system
        shares = tuple(each / sum(used) for each in used)
        return Run(float(rate[1]), sum(used) / requests, wrk / requests, shares)


async def _filled(kubeconfig: Path) -> str:
    """Create the objects that are read; return the token of an administrator."""
    client = HttpClient.from_kubeconfig(kubeconfig)
    name = "bench"
    await client.create(ServiceAccount(metadata=ObjectMeta(name=name, namespace="default")))
    role = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="cluster-admin")
    subject = Subject(kind="ServiceAccount", name=name, namespace="default")
    await client.create(
        ClusterRoleBinding(metadata=ObjectMeta(name=name), role_ref=role, subjects=(subject,))
    )
    for number in range(LISTED):
        await client.create(pod(f"p{number:04}"))
    asked = TokenRequest(spec=TokenRequestSpec(audiences=()))
    answer = await client.create_subresource(ServiceAccount, name, "token", asked, "default")
    await client.get(Pod, "p0000", "default")
    await client.close()
    assert isinstance(answer, TokenRequest)
    return answer.status.token


async def _fill(kubeconfig: Path) -> None:
    client = HttpClient.from_kubeconfig(kubeconfig)
    for number in range(FILLED):
        metadata = ObjectMeta(name=f"filled-{number}", namespace="kube-public")
        await client.create(ConfigMap(metadata=metadata, data={"text": "x" * 4_000}))
    await client.close()


def main() -> None:
    figures: list[Figure] = []
    workers = ("--processes", "several", "--api-workers", str(WORKERS))
    with cluster("--api-only", "--processes", "one") as one, cluster("--api-only", *workers) as several:
        single, shared = Served(one), Served(several)
        for name, path in REQUESTS.items():
            rounds = [(single.run(path), shared.run(path)) for _ in range(ROUNDS)]
            figures += figures_of(name, rounds)
        figures += memory_of(single, shared)
    show(figures)


def figures_of(name: str, rounds: Sequence[tuple[Run, Run]]) -> list[Figure]:
    """Return the figures of one kind of request."""
    first, second = sorted(rounds, key=lambda each: each[1].rate / each[0].rate)[len(rounds) // 2]
    c_one, c_shared = (statistics.median(run[which].server for run in rounds) for which in (0, 1))
    wrk = statistics.median(run[1].wrk for run in rounds)
    busiest = statistics.median(max(each[1].shares) for each in rounds)
    floor, scaled = "one process", f"{name}, {WORKERS} workers"
    bound = CORES / (c_shared + wrk)
    return [
        Figure(f"{scaled}, cores of their own", WORKERS / c_shared, "/s", 1 / c_one, floor, GOAL, True),
        Figure(f"{scaled}, beside wrk on {CORES} cores, at most", bound, "/s", 1 / c_one, floor),
        Figure(f"{scaled}, as measured", second.rate, "/s", first.rate, floor),
        Figure(f"{name}, processor time", c_shared * 1e6, "us", c_one * 1e6, floor),
        Figure(f"{name}, processor time of wrk", wrk * 1e6, "us"),
        Figure(f"{name}, share of the busiest process", busiest * 100, "%"),
    ]


def memory_of(single: Served, shared: Served) -> list[Figure]:
    """Return the memory of each process after the load, and after more objects."""
    names = ("one process", "writer", *(f"worker {number + 1}" for number in range(WORKERS)))
    figures = [*_memory(names, single, shared, "after the load")]
    for each in (single, shared):
        asyncio.run(_fill(each.running.kubeconfig))
    return [*figures, *_memory(names, single, shared, f"with {FILLED} more objects of 4 kB")]


def _memory(names: Sequence[str], single: Served, shared: Served, when: str) -> list[Figure]:
    pids = (*single.pids, *shared.pids)
    return [
        Figure(f"memory {when}, {name}", memory_mib(pid), "MiB")
        for name, pid in zip(names, pids, strict=True)
    ]


if __name__ == "__main__":
    main()
