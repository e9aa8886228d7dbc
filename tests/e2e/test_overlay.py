"""Pods of nodes on different machines reach each other, and nothing else gets into their network."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from podling import clock
from podling.network.names import Names
from podling.network.overlay.kernel import OverlayNames
from podling.network.overlay.overlay_rules import overlay_table
from tests.e2e.conftest import missing_for_containers
from tests.support.machines import Machine, MachineCluster, Machines, machines, missing
from tests.support.overlay_clusters import (
    add_node,
    ask,
    in_pod,
    is_reached,
    large_packet,
    one_network,
    serve,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

RESTORE_SECONDS = 15.0
"""Ten seconds for the repair, and some for kubectl on a busy machine."""
HOSTILE = "192.168.177.200"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with machines(3, tmp_path_factory.mktemp("overlay")) as found:
        yield found


@pytest.fixture(scope="module")
def clusters(built: Machines) -> Iterator[Sequence[MachineCluster]]:
    with one_network(built) as found:
        for cluster in found:
            serve(cluster, "web")
        yield found


@pytest.fixture(autouse=True)
def healed(built: Machines) -> Iterator[None]:
    yield
    built.heal()


def address(cluster: MachineCluster) -> str:
    return str(cluster.get("pod", "web")["status"]["podIP"])


def names(cluster: MachineCluster) -> tuple[str, str]:
    """Return the names of a machine's tunnel and of its table."""
    identity = json.loads((cluster.directory / "identity.json").read_text())["id"]
    return OverlayNames.of(identity).device, overlay_table(Names.of(f"{identity}-0").table)


def eventually(holds: Callable[[], bool], seconds: float = RESTORE_SECONDS) -> bool:
    given_up = clock.monotonic() + seconds
    while not holds():
        if clock.monotonic() > given_up:
            return False
    return True


def test_pods_of_all_machines_reach_each_other_with_their_own_addresses(
    clusters: Sequence[MachineCluster],
) -> None:
    for one in clusters:
        for other in clusters:
            assert ask(one, "web", address(other)) == f"[::ffff:{address(one)}]"


def test_machine_reaches_the_pods_of_others_by_its_own_address_in_its_block(
    clusters: Sequence[MachineCluster],
) -> None:
    url = f"http://{address(clusters[1])}:8080/cgi-bin/who"
    assert clusters[0].machine.run("busybox", "wget", "-qO-", url).strip() == "[::ffff:10.88.1.1]"


def test_largest_packets_pass_unfragmented_and_larger_ones_are_refused(
    clusters: Sequence[MachineCluster],
) -> None:
    target = address(clusters[1])
    assert large_packet(clusters[0], "web", target, 1450) == "answered"
    assert large_packet(clusters[0], "web", target, 1451) == "too large"


def test_pods_meet_again_after_a_partition(built: Machines, clusters: Sequence[MachineCluster]) -> None:
    one, other, third = clusters
    built.cut(built[0], built[1])
    assert not is_reached(one, "web", address(other))
    assert is_reached(one, "web", address(third))
    built.heal()
    assert is_reached(one, "web", address(other))


def test_connections_survive_a_lossy_link(built: Machines, clusters: Sequence[MachineCluster]) -> None:
    built.lose(built[0], built[1], 20)
    script = "head -c 300000 /dev/zero >/tmp/w/large"
    clusters[1].kubectl("exec", "web", "--", "sh", "-c", script)
    url = f"http://{address(clusters[1])}:8080/large"
    got = clusters[0].kubectl("exec", "web", "--", "sh", "-c", f"busybox wget -qO- {url} | wc -c")
    assert got.strip() == "300000"


@pytest.mark.parametrize(
    "damage",
    [
        "ip link delete {tunnel}",
        "ip link set {tunnel} down",
        "ip link set {tunnel} mtu 1000",
        "ip route delete 10.88.2.0/24",
        "ip neigh flush dev {tunnel} nud permanent",
        "ip addr flush dev {tunnel}",
        "bridge fdb delete 0a:59:c0:a8:b1:02 dev {tunnel} dst 192.168.177.2 self",
        "nft delete table inet {table}",
        "nft flush table inet {table}",
    ],
)
def test_damage_is_restored(clusters: Sequence[MachineCluster], damage: str) -> None:
    one, other = clusters[:2]
    tunnel, table = names(one)
    target = address(other)
    before = state(one.machine, tunnel, table)
    # Running, it may restore everything before the look.
    one.machine.run("kill", "-STOP", str(one.pid))
    one.machine.run(*damage.format(tunnel=tunnel, table=table).split())
    assert state(one.machine, tunnel, table) != before
    one.machine.run("kill", "-CONT", str(one.pid))
    assert eventually(lambda: state(one.machine, tunnel, table) == before)
    assert is_reached(one, "web", target)
    assert "NodeNetworkRestored" in one.kubectl("get", "events")


def state(machine: Machine, tunnel: str, table: str) -> list[str]:
    """Return what the kernel has of the overlay."""
    shown = [
        machine.try_run("nft", "-s", "list", "table", "inet", table).out,
        machine.try_run("ip", "-o", "-brief", "link", "show", tunnel).out,
        machine.try_run("cat", f"/sys/class/net/{tunnel}/mtu").out,
        *sorted(machine.try_run("ip", "-4", "addr", "show", "dev", tunnel).out.splitlines()[1:]),
        *sorted(machine.try_run("ip", "route", "show", "proto", "88").out.splitlines()),
        *sorted(machine.try_run("ip", "neigh", "show", "dev", tunnel, "nud", "permanent").out.splitlines()),
        *sorted(machine.try_run("bridge", "fdb", "show", "dev", tunnel).out.splitlines()),
    ]
    return [" ".join(line.split()) for line in shown]


def count(machine: Machine, rule: str, hook: str, act: Callable[[], object]) -> int:
    """Return how many packets a rule meets while ``act`` runs."""
    machine.run(
        "nft",
        "-f",
        "-",
        stdin=f"table inet seen {{ chain seen {{ type filter hook {hook}; {rule} counter; }}; }}\n",
    )
    try:
        act()
        listed = json.loads(machine.run("nft", "--json", "list", "chain", "inet", "seen", "seen"))
    finally:
        machine.run("nft", "delete", "table", "inet", "seen")
    (found,) = [each["rule"] for each in listed["nftables"] if "rule" in each]
    return int(next(each["counter"]["packets"] for each in found["expr"] if "counter" in each))


def test_peer_cannot_send_with_an_address_outside_of_its_block(clusters: Sequence[MachineCluster]) -> None:
    one, peer = clusters[0].machine, clusters[2].machine
    target = address(clusters[0])
    tunnel, _ = names(clusters[0])

    def forge() -> None:
        peer.try_run("busybox", "ping", "-c", "3", "-W", "1", "-I", "10.88.2.77", target)

    peer.run("ip", "addr", "add", "10.88.2.77/32", "dev", "lo")
    try:
        assert count(one, "ip saddr 10.88.2.77", "forward priority 0", forge) == 0
        rule = f'iifname "{tunnel}" ip saddr 10.88.2.77'
        assert count(one, rule, "prerouting priority -400", forge) > 0, "it did arrive"
    finally:
        peer.run("ip", "addr", "del", "10.88.2.77/32", "dev", "lo")


def test_stranger_cannot_send_into_the_tunnel(built: Machines, clusters: Sequence[MachineCluster]) -> None:
    """A host that is no node sends as a peer would, with the hardware and pod address of one."""
    one, target = clusters[0].machine, address(clusters[0])
    stranger = built[2]
    commands = [
        f"ip addr add {HOSTILE}/24 dev eth0",
        f"ip link add forged address 0a:59:c0:a8:b1:02 type vxlan id 88 dstport 8472 "
        f"local {HOSTILE} nolearning srcport 50000 50001",
        "ip link set forged up",
        "ip addr add 10.88.2.99/32 dev forged",
        f"bridge fdb append 0a:59:c0:a8:b1:01 dev forged dst {one.address} self",
        "ip neigh add 10.88.1.0 lladdr 0a:59:c0:a8:b1:01 dev forged",
        f"ip route add {target} via 10.88.1.0 dev forged onlink src 10.88.2.99",
    ]
    with stopped(clusters[2]):
        try:
            for each in commands:
                stranger.run(*each.split())

            def forge() -> None:
                stranger.try_run("busybox", "ping", "-c", "3", "-W", "1", target)

            inner = "ip saddr 10.88.2.99"
            assert count(one, inner, "prerouting priority -400", forge) == 0
            outer = f"ip saddr {HOSTILE} udp dport 8472"
            assert count(one, outer, "prerouting priority -400", forge) > 0, "it did arrive"
        finally:
            stranger.try_run("ip", "link", "delete", "forged")
            stranger.try_run("ip", "addr", "del", f"{HOSTILE}/24", "dev", "eth0")


@contextmanager
def stopped(cluster: MachineCluster) -> Iterator[None]:
    """A machine without its cluster and its tunnel, for as long as the block lasts."""
    cluster.kill()
    cluster.machine.run("ip", "link", "delete", names(cluster)[0])
    try:
        yield
    finally:
        cluster.up()
        assert eventually(lambda: is_reached(cluster, "web", address(cluster)))


def test_pod_cannot_send_tunnel_packets_to_nodes(clusters: Sequence[MachineCluster]) -> None:
    other = clusters[1].machine

    def send(port: int) -> int:
        script = f"import socket; socket.socket(2, 2).sendto(b'x', ('{other.address}', {port}))"

        def act() -> None:
            in_pod(clusters[0], "web", sys.executable, "-c", script)

        rule = f"udp dport {port} udp length < 20"
        return count(other, rule, "prerouting priority -400", act)

    assert send(8472) == 0
    assert send(8473) > 0


def test_network_stays_without_the_control_plane_and_over_restarts(
    clusters: Sequence[MachineCluster],
) -> None:
    one, other = clusters[:2]
    target, mine = address(other), address(one)
    tunnel, table = names(one)
    before = state(one.machine, tunnel, table)
    for _ in range(2):
        one.kill()
        assert state(one.machine, tunnel, table) == before
        assert ask(other, "web", mine) == f"[::ffff:{target}]"
        one.up()
        assert is_reached(one, "web", target)
    assert state(one.machine, tunnel, table) == before


def test_deleted_node_loses_its_routes_and_gets_them_back(clusters: Sequence[MachineCluster]) -> None:
    one, third = clusters[0], clusters[2]
    one.kubectl("delete", "node", third.machine.name)
    assert eventually(lambda: "10.88.3.0/24" not in one.machine.run("ip", "route"))
    assert not is_reached(one, "web", address(third))
    add_node(one, third.machine)
    assert eventually(lambda: is_reached(one, "web", address(third)))


def test_down_removes_everything_and_direct_routes_need_no_tunnel(tmp_path: Path) -> None:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with machines(2, tmp_path) as built, one_network(built, "--network", "routes") as (one, other):
        addresses = [serve(cluster, "web") for cluster in (one, other)]
        assert ask(one, "web", addresses[1]) == f"[::ffff:{addresses[0]}]"
        assert large_packet(one, "web", addresses[1], 1500) == "answered"
        assert "vxlan id" not in one.machine.run("ip", "-d", "link")
        one.kill()
        one.podling("up", "--detach", "--network", "vxlan")
        assert eventually(lambda: "vxlan id 88" in one.machine.run("ip", "-d", "link"))
        assert one.down().code == 0
        assert "pvx-" not in one.machine.run("ip", "link")
        assert "proto 88" not in one.machine.run("ip", "route")
        assert "_overlay" not in one.machine.run("nft", "list", "tables")
