"""Records to look up: the cluster that CoreDNS' own tests of its ``kubernetes`` plugin play with."""

from __future__ import annotations

from collections.abc import Generator
from ipaddress import ip_address
from typing import TypeVar

import msgspec

from podling.network.dns.answers import Answer, Record, Soa, Srv
from podling.network.dns.records import (
    ANY_PORT,
    NO_PORT,
    Address,
    Endpoints,
    Port,
    RecordsHead,
    encode_records,
)
from podling.network.dns.service_index import ServiceIndex

T = TypeVar("T")
HTTP = Port("http", "tcp", 80)
SERIAL = 1499347823


class ServiceRecords(RecordsHead, frozen=True, array_like=True):
    """Everything that names of one Service are answered from; on the wire the same as ``SlicedRecords``."""

    endpoints: tuple[Endpoints, ...] = ()


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
        result_of(index.put(encode_records(each), SERIAL))
    index.set_namespaces({*namespaces, "kube-system"}, SERIAL)
    index.synced = True
    return index


def decode_records(data: bytes) -> ServiceRecords:
    """Return a Service's records with all endpoints. Raises ``msgspec.DecodeError``."""
    return msgspec.msgpack.decode(data, type=ServiceRecords)


def result_of(steps: Generator[None, None, T]) -> T:
    """Take all the steps of a change; return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


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
