"""Faults of two nodes' network at random, beside live connections.

Control plane, node and DNS are killed, links cut, rules deleted, machines restarted. Connections that pods
keep to a Service must survive all of it but the restart of a machine at one of their ends, as they do with
kube-proxy: their translation is the kernel's. A while after each fault every server is reached from
everywhere, names are resolved, no address belongs to two pods, and the pods of a machine have restarted as
often as the machine.

``PODLING_NETWORK_FAULTS`` is the number of rounds, ``PODLING_NETWORK_FAULTS_SEED`` decides about them.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random  # noqa: TID251 (seeded)

import pytest

from podling import clock
from tests.e2e.conftest import missing_for_containers
from tests.support.machines import Machine, missing
from tests.support.service_ground import FAMILIES, Ground, Probe, answer_every_refusal, service_ground
from tests.support.service_ways import CASES, NODES, POSITIONS, Expected, Position, Way, expected, is_possible
from tests.support.talkers import Talkers

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.timeout(14400),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

ROUNDS = int(os.environ.get("PODLING_NETWORK_FAULTS", "10"))
SEED = os.environ.get("PODLING_NETWORK_FAULTS_SEED", "0")
REACHABLE_SECONDS = 15.0
PROGRAM = "podling.network.dns.server_process"
RESOLVING = "import socket; print(socket.gethostbyname('plain.default.svc.cluster.local'))"


class Faults:
    """The faults, each by a method. A fault is over when its method returns.

    ``restarts`` counts the restarts of each machine, by the number of its node.
    """

    def __init__(self, ground: Ground, random: Random) -> None:
        self._ground, self._random = ground, random
        self.restarts: Counter[int] = Counter()

    def control_plane_is_killed(self) -> None:
        """The first node runs in the same process."""
        self._ground.cluster.kill()
        self._pass_time(2)
        self._ground.cluster.up()

    def node_is_killed(self) -> None:
        self._ground.joined.kill()
        self._pass_time(2)
        self._ground.joined.join()

    def dns_is_killed(self) -> None:
        self._machine().run("pkill", "-9", "-f", PROGRAM)

    def machines_are_parted(self) -> None:
        one, other = self._ground.machines[0], self._ground.machines[1]
        self._ground.machines.cut(one, other, both_ways=self._random.random() < 0.5)
        self._pass_time(5)
        self._ground.machines.heal()

    def rules_of_services_are_deleted(self) -> None:
        self._delete_table("_services")

    def rules_of_tunnels_are_deleted(self) -> None:
        self._delete_table("_overlay")

    def tunnel_is_deleted(self) -> None:
        machine = self._machine()
        for name in machine.run("ls", "/sys/class/net").split():
            if name.startswith("pvx-"):
                machine.run("ip", "link", "delete", name)

    def machine_of_the_control_plane_restarts(self) -> None:
        self._restart(1)
        self._pass_time(2)
        self._ground.cluster.up()

    def machine_of_a_joined_node_restarts(self) -> None:
        self._restart(2)
        self._pass_time(2)
        self._ground.joined.join()

    def all_machines_restart(self) -> None:
        self._restart(1)
        self._restart(2)
        self._ground.cluster.up()
        self._ground.joined.join()

    def _restart(self, node: int) -> None:
        """Restart the machine of a node. What the test had set in its kernel is set again."""
        machine = self._ground.machines[node - 1]
        self._ground.machines.restart(machine)
        answer_every_refusal(machine)
        self.restarts[node] += 1

    def _delete_table(self, suffix: str) -> None:
        machine = self._machine()
        for line in machine.run("nft", "list", "tables").splitlines():
            _, family, name = line.split()
            if name.endswith(suffix):
                machine.run("nft", "delete", "table", family, name)

    def _machine(self) -> Machine:
        return self._random.choice([self._ground.machines[node - 1] for node in NODES])

    def _pass_time(self, seconds: float) -> None:
        """Leave the fault as it is for a while: the length is the one thing that real time decides."""
        threading.Event().wait(self._random.uniform(0, seconds))


FAULTS: tuple[Callable[[Faults], None], ...] = (
    Faults.control_plane_is_killed,
    Faults.node_is_killed,
    Faults.dns_is_killed,
    Faults.machines_are_parted,
    Faults.rules_of_services_are_deleted,
    Faults.rules_of_tunnels_are_deleted,
    Faults.tunnel_is_deleted,
    Faults.machine_of_the_control_plane_restarts,
    Faults.machine_of_a_joined_node_restarts,
    Faults.all_machines_restart,
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with service_ground(tmp_path_factory.mktemp("faults")) as built:
        yield built


def test_connections_survive_faults_and_everything_is_reached_soon(ground: Ground) -> None:
    random = Random(SEED)
    faults, talkers = Faults(ground, random), Talkers(ground)
    # Each kind of fault comes once before any comes again.
    order = [fault for _ in range(-(-ROUNDS // len(FAULTS))) for fault in random.sample(FAULTS, len(FAULTS))]
    waits = []
    for number, fault in enumerate(order[:ROUNDS]):
        before = Counter(faults.restarts)
        print(f"round {number}: {fault.__name__}, ", end="", flush=True)
        fault(faults)
        waits.append(_reached(ground))
        print(f"all reached after {waits[-1]:.1f} s", flush=True)
        _check_pods(ground, faults.restarts)
        talkers.check(frozenset(faults.restarts - before), f"round {number}, {fault.__name__}")
    print(
        f"{len(waits)} rounds, {faults.restarts.total()} restarts of machines: all reached after "
        f"{max(waits):.1f} s at most, {sum(waits) / len(waits):.1f} s on average; "
        f"{talkers.ended} connections ended with their machines, no other broke"
    )


def _check_pods(ground: Ground, restarts: Counter[int]) -> None:
    """Check that no address is assigned twice, and that containers restarted with their machines only."""
    pods = ground.cluster.get("pods")["items"]
    found = [each["ip"] for pod in pods for each in pod["status"]["podIPs"]]
    assert len(found) == len(set(found)), f"an address belongs to two pods: {sorted(found)}"
    for pod in pods:
        name, (status,) = pod["metadata"]["name"], pod["status"]["containerStatuses"]
        if name.startswith(("server-", "pod-")):
            assert status["restartCount"] == restarts[int(name[-1])], f"{name}: {pod['status']}"


def _reached(ground: Ground) -> float:
    """Wait until everything is reached; return after how many seconds."""
    begun = clock.monotonic()
    while problem := _unreached(ground):
        assert clock.monotonic() < begun + REACHABLE_SECONDS, problem
    return clock.monotonic() - begun


def _unreached(ground: Ground) -> str:
    """Return what is not reached, from any position; empty if everything is."""
    for position in POSITIONS:
        asked = _probes(ground, position)
        try:
            answers = ground.ask(position, [probe for _, probe in asked])
        except AssertionError as error:  # kubectl reaches no node
            return f"{position}: {error}"
        for (wanted, probe), found in zip(asked, answers, strict=True):
            servers = {answer.partition(" ")[0] for answer in found}
            if servers != {f"server-{node}" for node in wanted.servers}:
                return f"{position}: {probe}: {sorted(set(found))}"
        if position.kind == "pod":
            done = ground.cluster.try_kubectl("exec", str(position), "--", "python3", "-c", RESOLVING)
            if done.out.strip() != ground.address("plain", "ip"):
                return f"{position}: the name is not resolved: {done.out}{done.err}"
    return ""


def _probes(ground: Ground, position: Position) -> list[tuple[Expected, Probe]]:
    case = next(each for each in CASES if each.name == "nodeport")
    ways = [
        way
        for way in (Way("cluster"), *(Way("node-port", node) for node in NODES))
        if is_possible(position, way)
    ]
    found = [
        (expected(case, position, way), ground.probe(case, way, family, "TCP"))
        for way in ways
        for family in FAMILIES
    ]
    return [(wanted, probe) for wanted, probe in found if probe is not None]
