"""Static hosts, as CoreDNS' ``hosts`` plugin serves them."""

from __future__ import annotations

import pytest

from podling.network.dns.answers import AAAA, MX, PTR, A, labels_of
from podling.network.dns.hosts import Hosts
from tests.support.dns_records import shown

TEXT = """
# a comment
10.0.0.1  db.example db   # another one
10.0.0.2\tdb.example
fd00::1   db.example
10.0.0.3  WWW.Example.
"""


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        ("db.example", A, ["@ 3600 A 10.0.0.1", "@ 3600 A 10.0.0.2"]),
        ("DB", A, ["@ 3600 A 10.0.0.1"]),
        ("db.example", AAAA, ["@ 3600 AAAA fd00::1"]),
        ("www.example", A, ["@ 3600 A 10.0.0.3"]),
        ("www.example", AAAA, []),
        ("www.example", MX, []),
        ("1.0.0.10.in-addr.arpa", PTR, ["@ 3600 PTR db", "@ 3600 PTR db.example"]),
        ("3.0.0.10.in-addr.arpa", PTR, ["@ 3600 PTR www.example"]),
    ],
)
def test_host_has_records(name: str, kind: int, wanted: list[str]) -> None:
    answer = Hosts(TEXT).lookup(labels_of(name), kind)
    assert answer is not None
    assert shown(answer)[0] == wanted


@pytest.mark.parametrize(
    ("name", "kind"),
    [("example", A), ("x.db.example", A), ("9.0.0.10.in-addr.arpa", PTR), ("1.0.0.10.in-addr.arpa", A)],
)
def test_other_names_are_left_to_others(name: str, kind: int) -> None:
    assert Hosts(TEXT).lookup(labels_of(name), kind) is None


def test_lines_that_cannot_be_read_are_reported_and_left_out() -> None:
    hosts = Hosts(f"300.0.0.1 a\n10.0.0.1 good {'x' * 64} bad..name\nname 10.0.0.1\n10.0.0.2\n")
    assert len(hosts) == 1
    assert hosts.problems == [
        'hosts: "300.0.0.1" is no address',
        f'hosts: "{"x" * 64}" is no name',
        'hosts: "bad..name" is no name',
        'hosts: "name" is no address',
    ]
