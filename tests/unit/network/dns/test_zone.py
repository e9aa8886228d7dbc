"""Names of a cluster, as CoreDNS' ``kubernetes`` plugin answers them.

The cases are those of ``plugin/kubernetes/handler_test.go`` and ``reverse_test.go``, and of the Kubernetes
DNS specification 1.1.0; TTLs are those of the default Corefile.
"""

from __future__ import annotations

import pytest

from podling.network.dns.answers import (
    AAAA,
    ANY,
    AXFR,
    CNAME,
    MX,
    NOERROR,
    NS,
    NXDOMAIN,
    PTR,
    REFUSED,
    SOA,
    SRV,
    TXT,
    A,
    Srv,
    labels_of,
)
from podling.network.dns.records import Address, Endpoints
from podling.network.dns.zone import Zone
from tests.support.dns_records import HTTP, SERVICES, ServiceRecords, cluster_ip, headless, index_of, shown

TESTNS = "testns.svc.cluster.local"
DENIAL = ["cluster.local 30 SOA ns.dns.cluster.local hostmaster.cluster.local 1499347823"]


@pytest.fixture(scope="module")
def zone() -> Zone:
    return Zone(index_of(*SERVICES), "cluster.local", ("10.88.0.1",))


def look_up(zone: Zone, name: str, kind: int) -> tuple[int, list[str], list[str]]:
    answer = zone.lookup(labels_of(name), kind)
    records, additional = shown(answer)
    denied = shown(type(answer)(records=answer.authority))[0]
    assert denied == ([] if records or answer.rcode == REFUSED else DENIAL), "only a denial names its SOA"
    return answer.rcode, records, additional


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        (f"svc1.{TESTNS}", A, ["@ 30 A 10.0.0.1"]),
        ("SVC1.TestNS.svc.Cluster.local.", A, ["@ 30 A 10.0.0.1"]),
        (f"svcempty.{TESTNS}", A, ["@ 30 A 10.0.0.2"]),
        (f"svc6.{TESTNS}", AAAA, ["@ 30 AAAA 1234:abcd::1"]),
        (f"svc-dual-stack.{TESTNS}", A, ["@ 30 A 10.0.0.3"]),
        (f"svc-dual-stack.{TESTNS}", AAAA, ["@ 30 AAAA 10::3"]),
        (f"_http._tcp.svc1.{TESTNS}", A, ["@ 30 A 10.0.0.1"]),
        (f"hdls1.{TESTNS}", A, [f"@ 30 A 172.0.0.{number}" for number in (2, 3, 4, 5)]),
        (f"hdls1.{TESTNS}", AAAA, ["@ 30 AAAA 5678:abcd::1", "@ 30 AAAA 5678:abcd::2"]),
        (f"hdlsprtls.{TESTNS}", A, ["@ 30 A 172.0.0.20"]),
        (f"172-0-0-2.hdls1.{TESTNS}", A, ["@ 30 A 172.0.0.2"]),
        (f"172-0-0-20.hdlsprtls.{TESTNS}", A, ["@ 30 A 172.0.0.20"]),
        (f"5678-abcd--2.hdls1.{TESTNS}", AAAA, ["@ 30 AAAA 5678:abcd::2"]),
        (f"dup-name.hdls1.{TESTNS}", A, ["@ 30 A 172.0.0.4", "@ 30 A 172.0.0.5"]),
        (f"ep1a.svc1.{TESTNS}", A, ["@ 30 A 172.0.0.1"]),
        (f"external.{TESTNS}", CNAME, ["@ 30 CNAME ext.interwebs.test"]),
        (f"external.{TESTNS}", A, ["@ 30 CNAME ext.interwebs.test"]),
        (
            f"external-to-service.{TESTNS}",
            A,
            [f"@ 30 CNAME svc1.{TESTNS}", f"svc1.{TESTNS} 30 A 10.0.0.1"],
        ),
        ("10-240-0-1.testns.pod.cluster.local", A, ["@ 30 A 10.240.0.1"]),
        ("fd00--1.testns.pod.cluster.local", AAAA, ["@ 30 AAAA fd00::1"]),
        ("dns-version.cluster.local", TXT, ["@ 28800 TXT 1.1.0"]),
        ("cluster.local", SOA, DENIAL),
        ("ns.dns.cluster.local", A, ["@ 30 A 10.0.0.10"]),
    ],
)
def test_name_has_records(zone: Zone, name: str, kind: int, wanted: list[str]) -> None:
    assert look_up(zone, name, kind) == (0, wanted, [])


@pytest.mark.parametrize(
    ("name", "records", "additional"),
    [
        (f"svc1.{TESTNS}", [f"0 100 80 svc1.{TESTNS}"], [f"svc1.{TESTNS} 30 A 10.0.0.1"]),
        (f"_http._tcp.svc1.{TESTNS}", [f"0 100 80 svc1.{TESTNS}"], [f"svc1.{TESTNS} 30 A 10.0.0.1"]),
        (f"svc6.{TESTNS}", [f"0 100 80 svc6.{TESTNS}"], [f"svc6.{TESTNS} 30 AAAA 1234:abcd::1"]),
        (
            f"svc-dual-stack.{TESTNS}",
            [f"0 50 80 svc-dual-stack.{TESTNS}"],
            [f"svc-dual-stack.{TESTNS} 30 A 10.0.0.3", f"svc-dual-stack.{TESTNS} 30 AAAA 10::3"],
        ),
        (
            f"_http._tcp.hdls1.{TESTNS}",
            [
                f"0 16 80 172-0-0-2.hdls1.{TESTNS}",
                f"0 16 80 172-0-0-3.hdls1.{TESTNS}",
                f"0 16 80 5678-abcd--1.hdls1.{TESTNS}",
                f"0 16 80 5678-abcd--2.hdls1.{TESTNS}",
                f"0 16 80 dup-name.hdls1.{TESTNS}",
            ],
            [
                f"172-0-0-2.hdls1.{TESTNS} 30 A 172.0.0.2",
                f"172-0-0-3.hdls1.{TESTNS} 30 A 172.0.0.3",
                f"5678-abcd--1.hdls1.{TESTNS} 30 AAAA 5678:abcd::1",
                f"5678-abcd--2.hdls1.{TESTNS} 30 AAAA 5678:abcd::2",
                f"dup-name.hdls1.{TESTNS} 30 A 172.0.0.4",
                f"dup-name.hdls1.{TESTNS} 30 A 172.0.0.5",
            ],
        ),
    ],
)
def test_service_records_name_ports_and_targets(
    zone: Zone, name: str, records: list[str], additional: list[str]
) -> None:
    assert look_up(zone, name, SRV) == (0, [f"@ 30 SRV {each}" for each in records], additional)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"svc1.{TESTNS}", AAAA),
        (f"svc1.{TESTNS}", TXT),
        (f"svc1.{TESTNS}", SOA),
        (f"svc1.{TESTNS}", MX),
        (f"svc1.{TESTNS}", PTR),
        (f"svc1.{TESTNS}", ANY),
        (f"svc1.{TESTNS}", CNAME),
        (f"external.{TESTNS}", SRV),
        (f"external.{TESTNS}", TXT),
        (f"hdlsprtls.{TESTNS}", SRV),
        ("cluster.local", A),
        ("svc.cluster.local", A),
        ("svc.cluster.local", NS),
        ("pod.cluster.local", A),
        (TESTNS, A),
        (TESTNS, NS),
        ("empty.svc.cluster.local", A),
        ("testns.pod.cluster.local", A),
        ("10-240-0-1.testns.pod.cluster.local", AAAA),
        ("dns-version.cluster.local", A),
        (f"external-to-nothing.{TESTNS}", A),
        (f"itself.{TESTNS}", A),
        (f"loop-a.{TESTNS}", A),
    ],
)
def test_name_exists_without_such_records(zone: Zone, name: str, kind: int) -> None:
    assert look_up(zone, name, kind) == (0, [], [])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"svc0.{TESTNS}", A),
        (f"svc0.{TESTNS}", AAAA),
        (f"svc0.{TESTNS}", TXT),
        ("svc0.svc-nons.svc.cluster.local", A),
        ("svc-nons.svc.cluster.local", A),
        ("foo.cluster.local", NS),
        ("example.org.cluster.local", PTR),
        ("100.0.0.10.cluster.local", PTR),
        (f"bogusendpoint.hdls1.{TESTNS}", A),
        (f"bogusendpoint.svc0.{TESTNS}", A),
        (f"_https._tcp.svc1.{TESTNS}", SRV),
        (f"_http._udp.svc1.{TESTNS}", SRV),
        (f"endpoint.external.{TESTNS}", CNAME),
        (f"subdomain.subdomain.external.{TESTNS}", CNAME),
        (f"a.b.c.svc1.{TESTNS}", A),
        (f"*.{TESTNS}", A),
        ("svc1.*.svc.cluster.local", A),
        (f"hdlsnone.{TESTNS}", A),
        (f"address.{TESTNS}", A),
        ("10-240-0-1.nowhere.pod.cluster.local", A),
        ("10-240-0-300.testns.pod.cluster.local", A),
        ("a-pod.testns.pod.cluster.local", A),
        ("x.10-240-0-1.testns.pod.cluster.local", A),
        ("dns-version.svc.cluster.local", TXT),
    ],
)
def test_name_does_not_exist(zone: Zone, name: str, kind: int) -> None:
    assert look_up(zone, name, kind) == (NXDOMAIN, [], [])


def test_external_name_outside_of_the_cluster_is_to_be_followed(zone: Zone) -> None:
    assert zone.lookup(labels_of(f"external.{TESTNS}"), A).follow == "ext.interwebs.test"
    assert zone.lookup(labels_of(f"external.{TESTNS}"), CNAME).follow == ""
    assert zone.lookup(labels_of(f"external-to-service.{TESTNS}"), A).follow == ""


def test_zone_names_its_servers(zone: Zone) -> None:
    server = "kube-dns.kube-system.svc.cluster.local"
    assert look_up(zone, "cluster.local", NS) == (0, [f"@ 30 NS {server}"], [f"{server} 30 A 10.0.0.10"])
    alone = Zone(index_of(), "cluster.local", ("10.88.0.1",))
    own = "ns.dns.cluster.local"
    assert look_up(alone, "cluster.local", NS) == (0, [f"@ 30 NS {own}"], [f"{own} 30 A 10.88.0.1"])


def test_transfer_of_the_zone_is_refused(zone: Zone) -> None:
    assert look_up(zone, "cluster.local", AXFR) == (REFUSED, [], [])


REVERSE = Zone(
    index_of(
        cluster_ip("svc1", "192.168.1.100", endpoints=(Address("10.0.0.99", "double-ep"),)),
        cluster_ip("svc2", "192.168.1.101", endpoints=(Address("10.0.0.99", "double-ep"),)),
        headless(
            "svc3",
            Endpoints((HTTP,), (Address("10.0.0.100", "ep1a"), Address("1234:abcd::1", "ep1b"))),
            Endpoints((HTTP,), (Address("10.0.0.100", "ep1a"),)),
        ),
    ),
    "cluster.local",
)
IP6 = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.c.b.a.4.3.2.1.ip6.arpa"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("100.1.168.192.in-addr.arpa", [f"svc1.{TESTNS}"]),
        ("100.0.0.10.in-addr.arpa", [f"ep1a.svc3.{TESTNS}"]),
        ("99.0.0.10.in-addr.arpa", [f"double-ep.svc1.{TESTNS}", f"double-ep.svc2.{TESTNS}"]),
        (IP6, [f"ep1b.svc3.{TESTNS}"]),
        (IP6.upper(), [f"ep1b.svc3.{TESTNS}"]),
    ],
)
def test_address_has_names(name: str, wanted: list[str]) -> None:
    answer = REVERSE.lookup_reverse(labels_of(name), PTR)
    assert answer is not None
    assert shown(answer)[0] == [f"@ 30 PTR {each}" for each in wanted]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("101.0.0.10.in-addr.arpa", PTR),
        ("100.0.0.10.in-addr.arpa", A),
        ("0.0.10.in-addr.arpa", PTR),
        ("300.0.0.10.in-addr.arpa", PTR),
        ("svc1.testns.svc.0.10.in-addr.arpa", PTR),
        ("x" + IP6[1:], PTR),
        ("11" + IP6[3:], PTR),
        (f"100.0.0.10.{TESTNS}", PTR),
    ],
)
def test_other_reverse_names_are_left_to_others(name: str, kind: int) -> None:
    assert REVERSE.lookup_reverse(labels_of(name), kind) is None


def test_answer_depends_on_the_services_it_is_made_from(zone: Zone) -> None:
    for name, wanted in (
        (f"svc1.{TESTNS}", ("testns/svc1",)),
        (f"_http._tcp.svc1.{TESTNS}", ("testns/svc1",)),
        (f"svc0.{TESTNS}", ("testns/svc0",)),
        (f"external-to-service.{TESTNS}", ("testns/external-to-service", "testns/svc1")),
        (f"external-to-nothing.{TESTNS}", ("testns/external-to-nothing", "testns/svc0")),
        ("nowhere.svc.cluster.local", ("namespaces",)),
        ("1-2-3-4.nowhere.pod.cluster.local", ("namespaces",)),
    ):
        assert zone.lookup(labels_of(name), A).depends == wanted


def test_mixed_case_of_stored_names_does_not_hide_them() -> None:
    records = ServiceRecords(
        "testns", "web", endpoints=(Endpoints((HTTP,), (Address("10.0.0.1", "Web-0"),)),)
    )
    zone = Zone(index_of(records), "cluster.local")
    assert look_up(zone, f"web-0.web.{TESTNS}", A)[1] == ["@ 30 A 10.0.0.1"]


def large(slices: int, repeated: int = 1) -> Zone:
    """Return a zone with a headless Service of 100 addresses for each slice."""
    groups = [
        Endpoints((HTTP,), tuple(Address(f"10.1.{number}.{each}") for each in range(100)))
        for number in range(slices)
        for _ in range(repeated)
    ]
    return Zone(index_of(headless("many", *groups)), "cluster.local")


@pytest.mark.parametrize("kind", [A, SRV])
@pytest.mark.parametrize("repeated", [1, 3])
def test_large_answer_has_one_record_more_than_fits(kind: int, repeated: int) -> None:
    labels = labels_of("many.testns.svc.cluster.local")
    found = large(30, repeated).lookup(labels, kind, 1232)
    assert 1232 < len(found.records) * 16 < 2 * 1232
    assert len(set(found.records)) == len(found.records)
    assert all(record.data.weight == 1 for record in found.records if isinstance(record.data, Srv))
    assert len(large(2, repeated).lookup(labels, kind).records) == 200


@pytest.mark.parametrize("kind", [AAAA, TXT, CNAME])
def test_large_service_exists_for_every_type(kind: int) -> None:
    found = large(3).lookup(labels_of("many.testns.svc.cluster.local"), kind)
    assert (found.rcode, found.records, len(found.authority)) == (NOERROR, (), 1)
    missing = large(3).lookup(labels_of("none.many.testns.svc.cluster.local"), kind)
    assert missing.rcode == NXDOMAIN
