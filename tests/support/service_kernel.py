"""Scenarios of the proxy's table in the kernel: ``... SCENARIO``. Run in a network namespace of their own."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from msgspec import structs

from podling.api.core_v1 import ServicePort
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Key
from podling.network.conntrack import Conntrack
from podling.network.nftables.kernel import Kernel
from podling.network.services import kernel_state
from podling.network.services.base_rules import Place, removal_text
from podling.network.services.kernel_features import FEATURES, kernel_accepts, missing_features, text_of
from podling.network.services.kernel_table import KernelTable
from podling.network.services.rule_table import TableState
from podling.network.services.rules import NOTHING, ServiceRules
from tests.support.service_packets import endpoint, endpoint_slice, rules_of, service

T = TypeVar("T")

PLACES = {
    "ip": Place("ip", "test_services", "pl-test", "10.180.0.0/24", ("172.30.0.0/16",)),
    "ip6": Place("ip6", "test_services", "pl-test", "fd00:10:180::/64", ("fd00:172:30::/112",)),
}


class Chance:
    """Numbers that look random and are the same in every run."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, count: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % count

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(count)]


def held(place: Place) -> TableState:
    with Kernel() as kernel:
        return kernel_state.read(kernel, place.family, place.table)


def run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True)


def random_service(chance: Chance, number: int, family: str) -> ServiceRules:
    """Return the rules of a Service of a random shape."""
    version, prefix = ("IPv4", "10.180.0.{}") if family == "ip" else ("IPv6", "fd00:10:180::{}")
    own = f"172.30.{number // 250}.{number % 250 + 1}" if family == "ip" else f"fd00:172:30::{number}"
    vip = "203.0.113.7" if family == "ip" else "2001:db8::7"
    addresses = chance.sample(range(2, 250), chance.below(4))
    endpoints = [endpoint(prefix.format(address), chance.choice(("here", "there"))) for address in addresses]
    return rules_of(
        service(
            f"svc{number}",
            own,
            type="LoadBalancer",
            ports=(ServicePort(name="p80", protocol="TCP", port=80, node_port=30000 + number),),
            session_affinity=chance.choice(("None", "ClientIP")),
            external_traffic_policy=chance.choice(("Cluster", "Local")),
            internal_traffic_policy=chance.choice(("Cluster", "Local")),
            ingress=chance.choice(((), (vip,))),
            load_balancer_source_ranges=chance.choice(((), ("203.0.113.0/24", "2001:db8::/32"))),
        ),
        endpoint_slice(*endpoints, name=f"svc{number}", family=version),
        family=family,
    )


async def changes() -> None:
    """Random changes, each in the kernel afterwards, and nothing is left for a comparison to mend."""
    chance = Chance(7)
    for family, place in PLACES.items():
        table = KernelTable(place)
        for _ in range(60):
            chosen = chance.sample(range(1, 9), 1 + chance.below(3))
            batch = {
                Key("ns", f"svc{each}"): chance.choice((NOTHING, random_service(chance, each, family)))
                for each in chosen
            }
            await table.put(batch)
            assert await table.restore() == ""
        await table.put(dict.fromkeys(table.rules.keys(), NOTHING))
        left = held(place)
        assert not left.elements
        assert not left.memories
        assert not [name for name in left.chains if "/" in name]
        assert "nat-prerouting" in run("nft", "list", "table", family, place.table).stdout
        await table.close()


async def listing() -> None:
    """The ``nft`` program shows every rule."""
    table = KernelTable(PLACES["ip"])
    chance = Chance(3)
    await table.put({Key("ns", f"svc{each}"): random_service(chance, each, "ip") for each in range(1, 60)})
    listed = run("nft", "list", "table", "ip", "test_services")
    assert listed.stderr == ""
    for shown in ("numgen random mod 2", "dnat to 10.180.0.", "masquerade fully-random", "update @affinity-"):
        assert shown in listed.stdout, listed.stdout
    await table.close()


async def takeover() -> None:
    """A new process changes only what differs, and clients stay remembered."""
    before = KernelTable(PLACES["ip"])
    chance = Chance(1)
    batch = {Key("ns", f"svc{each}"): random_service(chance, each, "ip") for each in range(1, 30)}
    await before.put(batch)
    first = held(PLACES["ip"])
    await before.close()
    after = KernelTable(PLACES["ip"])
    gone = Key("ns", "svc3")
    await after.put({key: rules for key, rules in batch.items() if key != gone})
    second = held(PLACES["ip"])
    assert {name for name in first.chains if name not in second.chains} == set(batch[gone].chains)
    assert await after.restore() == ""
    await after.close()


async def damage() -> None:
    """Changes by other programs are mended, also if the names are taken by other things."""
    table = KernelTable(PLACES["ip"])
    chance = Chance(5)
    await table.put({Key("ns", f"svc{each}"): random_service(chance, each, "ip") for each in range(1, 30)})
    right = held(PLACES["ip"])
    service_chain = next(name for name in right.chains if name.startswith("service-"))
    for command in (
        "delete table ip test_services",
        "flush ruleset",
        "flush chain ip test_services nat-output",
        "add rule ip test_services services drop",
        "insert rule ip test_services services drop",
        "flush map ip test_services service-ips",
        "add element ip test_services cluster-ips { 8.8.8.8 }",
        f"flush chain ip test_services {service_chain}",
        "add chain ip test_services more { type filter hook input priority 5; policy drop; }",
    ):
        run("nft", command)
        assert await table.restore(), command
        assert held(PLACES["ip"]) == right, command
        assert await table.restore() == "", command
    text = removal_text(("ip",), "test_services") + "add table ip test_services\n"
    text += "add set ip test_services service-ips { type ipv4_addr; }\n"
    run("nft", "-f", "-", text=text)
    assert await table.restore()
    assert held(PLACES["ip"]) == right
    await table.close()


async def refusal() -> None:
    """A change that the kernel refuses, because the table was changed, ends in the right table as well."""
    table = KernelTable(PLACES["ip"])
    chance = Chance(5)
    await table.put({Key("ns", "svc1"): random_service(chance, 1, "ip")})
    run("nft", "delete", "table", "ip", "test_services")
    await table.put({Key("ns", "svc2"): random_service(chance, 2, "ip")})
    assert await table.restore() == ""
    assert held(PLACES["ip"]).elements
    await table.close()


async def large() -> None:
    """A Service of more endpoints than fit into one message."""
    many: EndpointSlice = endpoint_slice(
        *(endpoint(f"10.{180 + n // 65536}.{n // 256 % 256}.{n % 256}") for n in range(5000))
    )
    table = KernelTable(PLACES["ip"])
    await table.put({Key("ns", "svc"): rules_of(service(), many)})
    await table.put({Key("ns", "svc"): rules_of(service(session_affinity="ClientIP"), endpoint_slice())})
    assert await table.restore() == ""
    await table.close()


async def connections() -> None:
    """UDP connections are found in both families, and deleted one by one."""
    run("ip", "link", "set", "lo", "up")
    for family in ("ip", "ip6"):
        rule = f"add table {family} t; add chain {family} t c {{ type filter hook output priority 0; }}; "
        run("nft", f"{rule} add rule {family} t c ct state new accept")
    for family, own, address in (("ip", socket.AF_INET, "127.0.0.1"), ("ip6", socket.AF_INET6, "::1")):
        with socket.socket(own, socket.SOCK_DGRAM) as first, Conntrack() as kernel:
            for port in (1001, 1002):
                first.sendto(b"x", (address, port))
            flows = sorted(kernel.udp_flows(family), key=lambda flow: flow.destination)
            ports = [int.from_bytes(flow.destination[-2:], "big") for flow in flows]
            assert ports == [1001, 1002], flows
            assert flows[0].destination == flows[0].answers_from
            kernel.delete(family, flows[0])
            kernel.delete(family, flows[0])
            assert [flow.destination for flow in kernel.udp_flows(family)] == [flows[1].destination]


async def moved() -> None:
    """Another subnet of pods changes the fixed part; elements and remembered clients stay."""
    place = PLACES["ip"]
    table = KernelTable(place)
    chance = Chance(2)
    await table.put({Key("ns", f"svc{each}"): random_service(chance, each, "ip") for each in range(1, 30)})
    before = held(place)
    table.move(structs.replace(place, subnet="10.180.9.0/24", guarded_port=6443))
    await table.put({})
    after = held(place)
    assert after.elements == before.elements
    assert after.memories == before.memories
    changed = {name for name in after.chains if after.chains[name] != before.chains.get(name)}
    assert changed == {"services", "filter-input"}
    assert await table.restore() == ""
    await table.close()


async def many() -> None:
    """More Services than are written at once, then a new process that finds nothing to do."""
    chance = Chance(4)
    batch = {Key("ns", f"svc{each}"): random_service(chance, each, "ip") for each in range(900)}
    first = KernelTable(PLACES["ip"])
    await first.put(batch)
    assert await first.restore() == ""
    await first.close()
    second = KernelTable(PLACES["ip"])
    before = held(PLACES["ip"])
    await second.put(batch)
    assert held(PLACES["ip"]) == before
    await second.close()


async def features() -> None:
    """The kernel that runs these tests has every feature, and lacks one that does not exist."""
    assert missing_features(kernel_accepts) == []
    unknown = structs.replace(FEATURES[0], rule="no such rule")
    assert not kernel_accepts(text_of(unknown))
    assert "podling_check" not in run("nft", "list", "tables").stdout


_ALL: tuple[Callable[[], Awaitable[None]], ...] = (
    changes,
    listing,
    takeover,
    damage,
    refusal,
    large,
    connections,
    moved,
    many,
    features,
)
SCENARIOS = {each.__name__: each for each in _ALL}


async def _run(name: str) -> None:
    await SCENARIOS[name]()


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1]))
