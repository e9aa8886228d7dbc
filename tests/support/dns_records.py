"""Records to look up: the cluster that CoreDNS' own tests of its ``kubernetes`` plugin play with."""

from __future__ import annotations

from ipaddress import ip_address

from podling.network.dns.answers import Answer, Record, Soa, Srv
from podling.network.dns.records import (
    ANY_PORT,
    NO_PORT,
    Address,
    Endpoints,
    Port,
    ServiceRecords,
    encode_records,
)
from podling.network.dns.service_index import ServiceIndex

HTTP = Port("http", "tcp", 80)
SERIAL = 1499347823
HEADLESS = (
    Address("172.0.0.2"),
    Address("172.0.0.3"),
    Address("172.0.0.4", "dup-name"),
    Address("172.0.0.5", "dup-name"),
    Address("5678:abcd::1"),
    Address("5678:abcd::2"),
)


def cluster_ip(name: str, *ips: str, endpoints: tuple[Address, ...] = ()) -> ServiceRecords:
    groups = (Endpoints((HTTP,), endpoints),) if endpoints else ()
    return ServiceRecords("testns", name, cluster_ips=ips, ports=(HTTP,), endpoints=groups)


def headless(name: str, *groups: Endpoints) -> ServiceRecords:
    return ServiceRecords("testns", name, ports=(ANY_PORT,), endpoints=groups)


def external(name: str, target: str) -> ServiceRecords:
    return ServiceRecords("testns", name, external_name=target)


SERVICES = (
    ServiceRecords("kube-system", "kube-dns", cluster_ips=("10.0.0.10",), ports=(Port("dns", "udp", 53),)),
    cluster_ip("svc1", "10.0.0.1", endpoints=(Address("172.0.0.1", "ep1a"),)),
    cluster_ip("svcempty", "10.0.0.2"),
    cluster_ip("svc6", "1234:abcd::1"),
    cluster_ip("svc-dual-stack", "10.0.0.3", "10::3"),
    headless("hdls1", Endpoints((HTTP,), HEADLESS)),
    headless("hdlsprtls", Endpoints((Port("", "", NO_PORT),), (Address("172.0.0.20"),))),
    headless("hdlsnone"),
    external("external", "ext.interwebs.test"),
    external("external-to-service", "svc1.testns.svc.cluster.local."),
    external("external-to-nothing", "svc0.testns.svc.cluster.local"),
    external("itself", "itself.testns.svc.cluster.local"),
    external("loop-a", "loop-b.testns.svc.cluster.local"),
    external("loop-b", "loop-a.testns.svc.cluster.local"),
    external("address", "1.2.3.4"),
)


def index_of(*services: ServiceRecords, namespaces: tuple[str, ...] = ("testns", "empty")) -> ServiceIndex:
    index = ServiceIndex()
    for each in services:
        index.put(encode_records(each), SERIAL)
    index.set_namespaces({*namespaces, "kube-system"}, SERIAL)
    index.synced = True
    return index


def shown(answer: Answer) -> tuple[list[str], list[str]]:
    """Return the answer's records and its additional ones as text, each sorted."""
    return sorted(map(text_of, answer.records)), sorted(map(text_of, answer.additional))


def text_of(record: Record) -> str:
    names = {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 16: "TXT", 28: "AAAA", 33: "SRV"}
    match record.data:
        case Srv(priority, weight, port, target):
            data = f"{priority} {weight} {port} {target}"
        case Soa(primary, mailbox, serial):
            data = f"{primary} {mailbox} {serial}"
        case bytes(packed) if record.type != 16:
            data = str(ip_address(packed))
        case bytes(text):
            data = text.decode()
        case name:
            data = str(name)
    return f"{record.owner or '@'} {record.ttl} {names[record.type]} {data}"
