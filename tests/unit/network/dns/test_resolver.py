"""The order of sources: static hosts, the cluster, the cache, other servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.network.dns.answers import NXDOMAIN, REFUSED, SERVFAIL
from podling.network.dns.forwarder import Forwarder
from podling.network.dns.metrics import Metrics
from podling.network.dns.queries import read_query, respond
from podling.network.dns.resolver import Resolved, Resolver
from podling.network.dns.settings import Server, Settings
from podling.network.dns.zone import Zone
from podling.supervisor import Supervisor
from tests.support.dns_messages import StandIn, answers, question, read, reply
from tests.support.dns_records import SERVICES, external, index_of

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

TESTNS = "testns.svc.cluster.local"
RECORDS = {
    "www.example.": ["www.example. 60 IN A 1.2.3.4"],
    "ext.interwebs.test.": ["ext.interwebs.test. 20 IN CNAME far.test.", "far.test. 10 IN A 9.9.9.9"],
}


def upstream(data: bytes) -> list[bytes]:
    records = RECORDS.get(str(read(data).q.qname), [])
    return [reply(data, *records, rcode=0 if records else NXDOMAIN)]


@pytest.fixture
async def resolver() -> AsyncIterator[Resolver]:
    tasks = Supervisor()
    index = index_of(*SERVICES, external("to-host", "db.example"))
    forwarder = Forwarder(tasks, Metrics(), lambda reason, text: None)
    yield Resolver(Zone(index, "cluster.local"), forwarder, [Server("10.88.0.1")])
    await tasks.close()


async def resolve(resolver: Resolver, name: str, kind: str = "A") -> tuple[Resolved, bytes]:
    query = read_query(question(name, kind))
    assert query is not None
    found = resolver.answer(query, 4096) or await resolver.forward(query)
    return found, respond(query, found.encoded, 4096)


def use(resolver: Resolver, server: StandIn, settings: Settings | None = None) -> None:
    resolver.use(settings or Settings(), [Server("127.0.0.1", server.port)])


async def test_other_names_are_forwarded_once(resolver: Resolver) -> None:
    async with StandIn(upstream) as server:
        use(resolver, server)
        found, data = await resolve(resolver, "www.example")
        assert answers(data) == ["www.example. 30 A 1.2.3.4"], "no TTL is above 30 seconds"
        assert found.plugin == "forward"
        again, data = await resolve(resolver, "WWW.Example")
        assert answers(data)[0].endswith("A 1.2.3.4")
        assert (again.plugin, again.cached) == ("cache", "success")
        assert len([each for each in server.queries if b"www" in each]) == 1


async def test_names_of_the_cluster_are_never_forwarded(resolver: Resolver) -> None:
    async with StandIn(upstream) as server:
        use(resolver, server)
        for name in (f"svc1.{TESTNS}", f"nothing.{TESTNS}", "cluster.local"):
            found, _ = await resolve(resolver, name)
            assert found.plugin == "kubernetes"
        assert not [each for each in server.queries if b"cluster" in each]


async def test_external_name_brings_the_addresses_behind_it(resolver: Resolver) -> None:
    async with StandIn(upstream) as server:
        use(resolver, server)
        for _ in range(2):
            _, data = await resolve(resolver, f"external.{TESTNS}")
            assert [each.split()[0::3] + each.split()[2:3] for each in answers(data)] == [
                [f"external.{TESTNS}.", "ext.interwebs.test.", "CNAME"],
                ["ext.interwebs.test.", "far.test.", "CNAME"],
                ["far.test.", "9.9.9.9", "A"],
            ]
        _, data = await resolve(resolver, f"external.{TESTNS}", "CNAME")
        assert answers(data) == [f"external.{TESTNS}. 30 CNAME ext.interwebs.test."]
    _, data = await resolve(resolver, f"external.{TESTNS}", "AAAA")
    assert answers(data) == [f"external.{TESTNS}. 30 CNAME ext.interwebs.test."], "the name alone, as CoreDNS"


async def test_static_hosts_come_first(resolver: Resolver) -> None:
    hosts = f"10.0.0.1 db.example\n10.0.0.2 svc1.{TESTNS}\n"
    async with StandIn(upstream) as server:
        use(resolver, server, Settings(hosts=hosts))
        found, data = await resolve(resolver, "db.example")
        assert (found.plugin, answers(data)) == ("hosts", ["db.example. 3600 A 10.0.0.1"])
        assert answers((await resolve(resolver, f"svc1.{TESTNS}"))[1]) == [f"svc1.{TESTNS}. 3600 A 10.0.0.2"]
        _, data = await resolve(resolver, f"to-host.{TESTNS}")
        assert answers(data) == [f"to-host.{TESTNS}. 30 CNAME db.example.", "db.example. 3600 A 10.0.0.1"]


async def test_stub_domain_has_servers_of_its_own(resolver: Resolver) -> None:
    async with (
        StandIn(lambda data: [reply(data, rcode=NXDOMAIN)]) as usual,
        StandIn(lambda data: [reply(data, "db.acme.local. 60 IN A 5.5.5.5")]) as stub,
    ):
        use(resolver, usual, Settings({"acme.local": (Server("127.0.0.1", stub.port),)}))
        assert answers((await resolve(resolver, "db.acme.local"))[1]) == ["db.acme.local. 30 A 5.5.5.5"]
        assert read((await resolve(resolver, "db.other.local"))[1]).header.rcode == NXDOMAIN
        assert not [each for each in usual.queries if b"acme" in each]


async def test_servers_of_the_map_replace_those_of_the_node(resolver: Resolver) -> None:
    async with StandIn(upstream) as node, StandIn(upstream) as chosen:
        use(resolver, node, Settings(upstreams=(Server("127.0.0.1", chosen.port),)))
        assert answers((await resolve(resolver, "www.example"))[1])
        assert not [each for each in node.queries if b"www" in each]


async def test_without_servers_other_names_fail_at_once(resolver: Resolver) -> None:
    resolver.use(Settings(), [Server("10.88.0.1")])
    found, data = await resolve(resolver, "www.example")
    assert read(data).header.rcode == SERVFAIL
    assert found.until == 0


async def test_question_for_everything_is_refused(resolver: Resolver) -> None:
    assert read((await resolve(resolver, "www.example", "ANY"))[1]).header.rcode == REFUSED
    assert read((await resolve(resolver, f"svc1.{TESTNS}", "ANY"))[1]).header.rcode == 0


async def test_unknown_name_fails_until_everything_is_known(resolver: Resolver) -> None:
    resolver.zone.index.synced = False
    found, data = await resolve(resolver, f"nothing.{TESTNS}")
    assert read(data).header.rcode == SERVFAIL
    assert found.until == 0
    assert answers((await resolve(resolver, f"svc1.{TESTNS}"))[1]), "known names are answered"
