"""Selections, and the names and elements of their sets."""

from __future__ import annotations

import pytest

from podling.machinery.selectors import parse_label_selector
from podling.network.policy.values import EVERY_POD, Members, NamedPort, PolicyPod, Selection

POD = PolicyPod(
    key="p",
    namespace="x",
    addresses=("10.0.0.1",),
    ports=(NamedPort("web", "TCP", 80), NamedPort("web", "TCP", 8080), NamedPort("web", "UDP", 53)),
)


def select(text: str) -> Members:
    return Members(selection=Selection(pods=parse_label_selector(text)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (select("a=b,c=d"), select("c=d,a=b")),
        (select("a in (b,c)"), select("a in (c,b)")),
        (Members(selection=EVERY_POD), select("")),
    ],
)
def test_equal_selections_have_one_set(one: Members, other: Members) -> None:
    assert one.name == other.name


def test_different_contents_have_different_sets() -> None:
    every = [
        Members(selection=EVERY_POD),
        Members(selection=Selection(namespace="x")),
        Members(selection=Selection(namespaces=parse_label_selector("a=b"))),
        select("a=b"),
        select("a"),
        select("!a"),
        select("a!=b"),
        select("a in (b,c)"),
        Members(selection=EVERY_POD, port="web", protocol="TCP"),
        Members(selection=EVERY_POD, port="web", protocol="UDP"),
        Members(selection=EVERY_POD, port="other", protocol="TCP"),
    ]
    assert len({each.name for each in every}) == len(every)


def test_elements_are_addresses_or_addresses_with_the_ports_of_a_name() -> None:
    def elements(protocol: str, port: str) -> list[str]:
        return Members(selection=EVERY_POD, protocol=protocol, port=port).elements(POD, "10.0.0.1")

    assert elements("", "") == ["10.0.0.1"]
    assert elements("TCP", "web") == ["10.0.0.1 . 80", "10.0.0.1 . 8080"]
    assert elements("UDP", "web") == ["10.0.0.1 . 53"]
    assert elements("SCTP", "web") == []
