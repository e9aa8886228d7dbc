"""Network policies: a pod's change among 5,000 pods and 500 policies, and traffic with and without them.

Runs in network namespaces of its own. 110 of the pods are on this node; half of the changed ones are.
"""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from bench.harness import Figure, memory_mib, show
from bench.services import BATCHES, CONNECTIONS, PEER, PORT, SERVER, STREAM_SECONDS, client, machines, run
from podling.api.networking_v1 import NetworkPolicy
from podling.network.policy.index import PolicyIndex
from podling.network.policy.kernel import PolicyTable
from podling.network.policy.policies import policy_of
from podling.network.policy.values import NamedPort, NodeFacts, PolicyPod

PODS = 5000
POLICIES = 500
NAMESPACES = 100
LOCAL = 110
CHANGES = 60
FACTS = NodeFacts(families=(4,), dns=("10.180.0.1",))
CLIENT = "10.180.0.2"


def policy(number: int) -> Any:
    """Five policies in each namespace, with every sort of peer and port."""
    label, kind = {"matchLabels": {"app": f"app-{number % 7}"}}, number // NAMESPACES
    peers: list[dict[str, Any]] = [
        {"podSelector": {"matchLabels": {"app": f"app-{number % 5}"}}},
        {"namespaceSelector": {"matchLabels": {"team": f"team-{number % 10}"}}},
        {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": f"app-{number % 3}"}}},
        {"ipBlock": {"cidr": "10.180.0.0/16", "except": ["10.180.9.0/24", "10.180.11.0/24"]}},
        {"podSelector": {}},
    ]
    ports = [{"port": "web"}, {"port": PORT}, {"port": 9000, "endPort": 9100}]
    spec = {
        "podSelector": label if kind % 2 else {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": peers[: 1 + kind], "ports": ports}],
        "egress": [{"to": peers[kind:], "ports": ports}],
    }
    body = {"metadata": {"name": f"policy-{number}", "namespace": f"ns-{number % NAMESPACES}"}, "spec": spec}
    return policy_of(msgspec.convert(body, NetworkPolicy))


def pod(number: int, address: str = "", *, app: int = 0) -> PolicyPod:
    return PolicyPod(
        key=f"pod-{number}",
        namespace=f"ns-{number % NAMESPACES}",
        labels={"app": f"app-{(number + app) % 7}", "pod-template-hash": f"{number % 400:x}", "tier": "web"},
        addresses=(address or f"10.{200 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}",),
        ports=(NamedPort("web", "TCP", 8000 + number % 50),),
        local=number < LOCAL,
    )


def filled(pods: int, policies: int) -> PolicyIndex:
    index = PolicyIndex(FACTS)
    for number in range(NAMESPACES):
        labels = {"kubernetes.io/metadata.name": f"ns-{number}", "team": f"team-{number % 10}"}
        index.put_namespace(f"ns-{number}", labels)
    for number in range(policies):
        index.put_policy(policy(number))
    for number in range(pods):
        index.put_pod(pod(number, {0: CLIENT, NAMESPACES: SERVER}.get(number, "")))
    return index


def changed(number: int) -> PolicyPod:
    """Return a pod with other labels: of this node and of others in turn."""
    return pod(2 + number // 2 if number % 2 else LOCAL + 40 * number, app=1 + number % 5)


def index_cost(index: PolicyIndex) -> float:
    """Return the median CPU microseconds of a pod's change without the kernel."""
    costs = []
    for number in range(CHANGES):
        begun = time.process_time()
        index.put_pod(changed(number))
        index.take_changes()
        costs.append((time.process_time() - begun) * 1e6)
        index.put_pod(pod(int(changed(number).key.partition("-")[2])))
        index.take_changes()
    return statistics.median(costs)


async def kernel_cost(index: PolicyIndex, table: PolicyTable, make: Callable[[int], PolicyPod]) -> float:
    waits = []
    for number in range(CHANGES):
        begun = time.perf_counter()
        index.put_pod(make(number))
        if changes := index.take_changes():
            await table.change(changes)
            waits.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(waits)


def traffic(table: str) -> list[Figure]:
    """Alternate between a table that is asleep and one that is awake, so that other load meets both alike."""
    found: dict[str, list[float]] = {key: [] for key in ("c1", "c0", "t1", "t0")}
    with machines() as (near, far):
        server = subprocess.Popen(["nsenter", "-t", str(far), "-n", sys.executable, "-c", PEER])
        try:
            time.sleep(0.5)
            for _ in range(BATCHES):
                for awake in (0, 1):
                    flags = "" if awake else "flags dormant;"
                    run("nft", f"add table inet {table} {{ {flags} }}")
                    found[f"c{awake}"].append(
                        client(near, "connect", SERVER, str(PORT), str(CONNECTIONS // BATCHES))
                    )
                    found[f"t{awake}"].append(
                        client(near, "send", SERVER, str(PORT), str(STREAM_SECONDS / 3))
                    )
        finally:
            server.kill()
            server.wait()
    middle = {key: statistics.median(values) for key, values in found.items()}
    return [
        Figure(
            "new connection under policies", middle["c1"] * 1e6, "us", middle["c0"] * 1e6, "without", 1.15
        ),
        Figure(
            "throughput under policies",
            middle["t1"] / 1e9,
            "GB/s",
            middle["t0"] / 1e9,
            "without",
            0.95,
            more_is_better=True,
        ),
    ]


async def measure() -> list[Figure]:
    before = memory_mib(os.getpid())
    begun = time.process_time()
    index = filled(PODS, POLICIES)
    filling = time.process_time() - begun
    gc.collect()
    memory = memory_mib(os.getpid()) - before
    table = PolicyTable("bench_policy")
    index.take_changes()
    begun = time.perf_counter()
    await table.write(FACTS.families, index.tables())
    writing = time.perf_counter() - begun
    begun = time.perf_counter()
    assert await table.damage(index.tables()) == ""
    checking = time.perf_counter() - begun
    remote = await kernel_cost(index, table, lambda n: pod(LOCAL + 40 * n, app=1))
    local = await kernel_cost(index, table, lambda n: pod(2 + n, app=1))
    figures = traffic(table.name)
    small = index_cost(filled(PODS // 10, POLICIES // 5))
    return [
        Figure(f"a pod's change among {PODS}, computed", index_cost(index), "us", small, "a tenth", 2),
        Figure("a pod of another node, until the kernel has it", remote, "ms", goal=100),
        Figure("a pod of this node, until the kernel has it", local, "ms", goal=100),
        Figure("the whole table computed", filling, "s"),
        Figure("the whole table written", writing, "s"),
        Figure("the whole table compared with the kernel's", checking, "s"),
        Figure(f"memory for {PODS} pods and {POLICIES} policies", memory, "MiB", goal=50),
        *figures,
    ]


def main() -> None:
    if "BENCH_POLICIES" not in os.environ:
        run("env", "BENCH_POLICIES=1", "unshare", "--net", sys.executable, "-m", "bench", "policies")
        return
    show(asyncio.run(measure()))


if __name__ == "__main__":
    main()
