"""The index of records, against one that is built anew."""

from __future__ import annotations

from collections.abc import Generator
from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.records import Address, Endpoints, Port, encode_records
from podling.network.dns.service_index import ADDRESSES_AT_ONCE, ServiceIndex
from tests.support.dns_records import ServiceRecords, cluster_ip, result_of

ADDRESSES = ("10.0.0.1", "10.0.0.2", "fd00::1")
KEYS = ("testns/a", "testns/b")
HTTP = Port("http", "tcp", 80)


Slices = tuple[frozenset[str], ...]


def records(name: str, slices: Slices) -> ServiceRecords:
    groups = (Endpoints((HTTP,), tuple(Address(ip) for ip in sorted(ips))) for ips in slices)
    return ServiceRecords("testns", name, ports=(HTTP,), endpoints=tuple(groups))


SLICES = st.lists(st.frozensets(st.sampled_from(ADDRESSES)), max_size=3).map(tuple)
CHANGES = st.lists(st.tuples(st.sampled_from("ab"), st.one_of(st.none(), SLICES)))


@given(CHANGES)
def test_owners_of_addresses_follow_every_change(changes: list[tuple[str, Slices | None]]) -> None:
    index, held = ServiceIndex(), dict[str, Slices]()
    for serial, (name, ips) in enumerate(changes):
        key = f"testns/{name}"
        if ips is None:
            assert bool(result_of(index.remove(key, serial))) == (held.pop(name, None) is not None)
        else:
            found = result_of(index.put(encode_records(records(name, ips)), serial))
            assert found == (key if held.get(name) != ips else "")
            held[name] = ips
    for ip in ADDRESSES:
        wanted = {f"testns/{name}" for name, ips in held.items() if ip in frozenset().union(*ips)}
        assert set(index.owners(ip_address(ip).packed)) == wanted
    assert set(index.keys()) == {f"testns/{name}" for name in held}
    assert list(index.encoded()) == [encode_records(records(name, held[name])) for name in sorted(held)]


def test_serial_is_that_of_the_last_change() -> None:
    index = ServiceIndex()
    data = encode_records(cluster_ip("web", "10.0.0.1"))
    result_of(index.put(data, 5))
    result_of(index.put(data, 6))
    assert index.serial == 5, "the same again is no change"
    result_of(index.remove("testns/nothing", 7))
    assert index.serial == 5
    index.set_namespaces(["testns"], 8)
    assert (index.serial, index.has_namespace("testns"), index.has_namespace("other")) == (8, True, False)


def many(count: int, *, without: int = -1) -> ServiceRecords:
    """Return a Service whose slices have 100 addresses each."""
    ips = [f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}" for number in range(count)]
    left = [
        [ip for ip in ips[start : start + 100] if ips.index(ip) != without] for start in range(0, count, 100)
    ]
    return records("many", tuple(map(frozenset, left)))


def steps(change: Generator[None, None, str]) -> int:
    return sum(1 for _ in change)


def test_large_change_is_taken_in_steps_and_is_seen_at_the_end() -> None:
    index = ServiceIndex()
    change = index.put(encode_records(many(1000)), 1)
    taken = 0
    for _ in change:
        assert index.get("testns/many") is None
        taken += 1
    assert taken >= 1000 // ADDRESSES_AT_ONCE
    found = index.get("testns/many")
    assert found is not None
    assert sum(len(group.addresses) for group in found.groups()) == 1000


def test_steps_of_one_endpoint_do_not_grow_with_its_service() -> None:
    """A new endpoint costs its slice; one that is gone is looked for in the other slices, step by step."""
    found = {}
    for count in (200, 2000):
        index = ServiceIndex()
        result_of(index.put(encode_records(many(count, without=7)), 1))
        came = steps(index.put(encode_records(many(count)), 2))
        assert index.owners(ip_address("10.0.0.7").packed) == ("testns/many",)
        gone = steps(index.put(encode_records(many(count, without=7)), 3))
        assert index.owners(ip_address("10.0.0.7").packed) == ()
        found[count] = (came, gone)
    assert found[200][0] == found[2000][0] < 10
    assert found[2000][1] > 2000 // 100


def test_address_that_cannot_be_read_is_left_out() -> None:
    index = ServiceIndex()
    for text in ("1.2.3.400", "x", "", "fd00::g"):
        result_of(index.put(encode_records(records("odd", (frozenset([text, "10.0.0.1"]),))), 1))
        assert index.owners(ip_address("10.0.0.1").packed) == ("testns/odd",)
