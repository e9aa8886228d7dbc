"""The state of the DNS process: what messages make of it, and the frames that lead to it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.network.dns.answering import UDP, Answering
from podling.network.dns.answers import NXDOMAIN, SERVFAIL
from podling.network.dns.forwarder import Forwarder
from podling.network.dns.messages import Begin, Complete, Configure, Namespaces, Services, to_server
from podling.network.dns.metrics import Metrics
from podling.network.dns.queries import read_query
from podling.network.dns.records import encode_records
from podling.network.dns.reply_cache import ReplyCache
from podling.network.dns.resolver import Resolver
from podling.network.dns.service_index import ServiceIndex
from podling.network.dns.settings import Server, Settings
from podling.network.dns.state import State, read_servers
from podling.network.dns.zone import Zone
from podling.supervisor import Supervisor
from tests.support.dns_messages import answers, question, read
from tests.support.dns_records import ServiceRecords, cluster_ip

WEB = "web.testns.svc.cluster.local"


class Process:
    """The parts of the DNS process that answer, without sockets."""

    def __init__(self) -> None:
        self.replies, metrics = ReplyCache(), Metrics()
        forwarder = Forwarder(Supervisor(), metrics, lambda reason, text: None)
        self.resolver = Resolver(Zone(ServiceIndex(), "cluster.local"), forwarder, ())
        self.answering = Answering(self.resolver, self.replies, metrics)
        self.state = State(self.resolver, self.replies, "")

    def ask(self, name: str, kind: str = "A") -> bytes:
        data = question(name, kind)
        kept = self.replies.get(data, 0.0)
        query = read_query(data)
        assert query is not None
        response = self.answering.at_once(query, data, UDP, "1")
        assert response is not None
        assert kept in (None, response), "a kept reply is no other than a new one"
        return response

    def put(self, *services: ServiceRecords, gone: tuple[str, ...] = ()) -> None:
        self.state.apply(Services(tuple(map(encode_records, services)), gone))


@pytest.fixture
def process() -> Process:
    return Process()


def addresses(response: bytes) -> list[str]:
    return [each.rpartition(" ")[2] for each in answers(response)]


def test_name_exists_as_soon_as_it_is_sent(process: Process) -> None:
    assert read(process.ask(WEB)).header.rcode == SERVFAIL, "nothing is known yet"
    process.put(cluster_ip("web", "10.96.0.7"))
    assert addresses(process.ask(WEB)) == ["10.96.0.7"]
    assert read(process.ask("other.testns.svc.cluster.local")).header.rcode == SERVFAIL
    process.state.apply(Complete())
    assert read(process.ask("other.testns.svc.cluster.local")).header.rcode == NXDOMAIN


def test_kept_replies_follow_every_change(process: Process) -> None:
    process.state.apply(Complete())
    for ip in ("10.96.0.7", "10.96.0.8", "10.96.0.7"):
        process.put(cluster_ip("web", ip))
        assert addresses(process.ask(WEB)) == [ip]
        reverse = f"{ip.rpartition('.')[2]}.0.96.10.in-addr.arpa"
        assert addresses(process.ask(reverse, "PTR")) == [f"{WEB}."]
    process.put(gone=("testns/web",))
    assert read(process.ask(WEB)).header.rcode == NXDOMAIN
    process.put(cluster_ip("web", "10.96.0.9"))
    assert addresses(process.ask(WEB)) == ["10.96.0.9"]


def test_namespaces_come_and_go(process: Process) -> None:
    process.state.apply(Complete())
    for names, rcode in ((("testns",), 0), ((), NXDOMAIN), (("testns",), 0)):
        process.state.apply(Namespaces(names))
        assert read(process.ask("testns.svc.cluster.local")).header.rcode == rcode
        assert read(process.ask("1-2-3-4.testns.pod.cluster.local")).header.rcode == rcode


def test_service_that_is_not_sent_again_is_gone(process: Process) -> None:
    process.put(cluster_ip("web", "10.96.0.7"), cluster_ip("old", "10.96.0.8"))
    process.state.apply(Begin())
    process.put(cluster_ip("web", "10.96.0.7"))
    assert addresses(process.ask("old.testns.svc.cluster.local")) == ["10.96.0.8"], "not before the end"
    process.put(cluster_ip("new", "10.96.0.9"))
    process.state.apply(Complete())
    assert read(process.ask("old.testns.svc.cluster.local")).header.rcode == NXDOMAIN
    assert addresses(process.ask(WEB)) == ["10.96.0.7"]
    assert addresses(process.ask("new.testns.svc.cluster.local")) == ["10.96.0.9"]


def test_frames_lead_to_the_same_state(process: Process) -> None:
    process.state.apply(Namespaces(("testns",)))
    process.state.apply(Configure(Settings(hosts="10.0.0.1 db"), ""))
    process.put(*(cluster_ip(f"web-{number}", f"10.96.1.{number}") for number in range(120)))
    process.state.apply(Complete())
    copy = Process()
    for data in process.state.frames():
        copy.state.apply(to_server.decode(data[4:]))
    assert list(copy.state.frames()) == list(process.state.frames())
    for name in ("web-119.testns.svc.cluster.local", "db", "no.testns.svc.cluster.local"):
        assert answers(copy.ask(name)) == answers(process.ask(name))


def test_change_of_the_settings_forgets_kept_replies(process: Process) -> None:
    process.state.apply(Complete())
    for ip in ("10.0.0.1", "10.0.0.2"):
        process.state.apply(Configure(Settings(hosts=f"{ip} db.testns.svc.cluster.local"), ""))
        assert addresses(process.ask("db.testns.svc.cluster.local")) == [ip], "hosts come before the cluster"
    process.state.apply(Configure(Settings(), ""))
    assert read(process.ask("db.testns.svc.cluster.local")).header.rcode == NXDOMAIN


def test_servers_of_the_node_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver 10.255.0.1\n")
    assert read_servers(str(path)) == (Server("10.255.0.1"),)
    assert read_servers(str(tmp_path / "missing")) == ()
    assert read_servers("") == ()
