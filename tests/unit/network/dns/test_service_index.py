"""The index of records, against one that is built anew."""

from __future__ import annotations

from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.records import Address, Endpoints, Port, ServiceRecords, encode_records
from podling.network.dns.service_index import ServiceIndex
from tests.support.dns_records import cluster_ip

ADDRESSES = ("10.0.0.1", "10.0.0.2", "fd00::1")
KEYS = ("testns/a", "testns/b")
HTTP = Port("http", "tcp", 80)


def records(name: str, ips: frozenset[str]) -> ServiceRecords:
    group = Endpoints((HTTP,), tuple(Address(ip) for ip in sorted(ips)))
    return ServiceRecords("testns", name, ports=(HTTP,), endpoints=(group,))


CHANGES = st.lists(
    st.tuples(st.sampled_from("ab"), st.one_of(st.none(), st.frozensets(st.sampled_from(ADDRESSES))))
)


@given(CHANGES)
def test_owners_of_addresses_follow_every_change(changes: list[tuple[str, frozenset[str] | None]]) -> None:
    index, held = ServiceIndex(), dict[str, frozenset[str]]()
    for serial, (name, ips) in enumerate(changes):
        if ips is None:
            assert index.remove(f"testns/{name}", serial) == (held.pop(name, None) is not None)
        else:
            found = index.put(encode_records(records(name, ips)), serial)
            assert found == (f"testns/{name}", held.get(name) != ips)
            held[name] = ips
    for ip in ADDRESSES:
        wanted = {f"testns/{name}" for name, ips in held.items() if ip in ips}
        assert set(index.owners(ip_address(ip).packed)) == wanted
    assert set(index.keys()) == {f"testns/{name}" for name in held}
    assert list(index.encoded()) == [encode_records(records(name, held[name])) for name in sorted(held)]


def test_serial_is_that_of_the_last_change() -> None:
    index = ServiceIndex()
    data = encode_records(cluster_ip("web", "10.0.0.1"))
    index.put(data, 5)
    index.put(data, 6)
    assert index.serial == 5, "the same again is no change"
    index.remove("testns/nothing", 7)
    assert index.serial == 5
    index.set_namespaces(["testns"], 8)
    assert (index.serial, index.has_namespace("testns"), index.has_namespace("other")) == (8, True, False)
