"""The ConfigMap of cluster DNS, and the servers in a ``resolv.conf``."""

from __future__ import annotations

import pytest

from podling.network.dns.answers import labels_of
from podling.network.dns.settings import (
    Server,
    Settings,
    server_from,
    servers_in,
    settings_of,
    stub_for,
    usable,
)


def test_empty_map_means_the_servers_of_the_node() -> None:
    assert settings_of({}) == (Settings(), [])


def test_map_in_the_form_of_kube_dns() -> None:
    data = {
        "stubDomains": '{"Acme.local.": ["1.2.3.4", "1.2.3.5:5353"]}',
        "upstreamNameservers": '["8.8.8.8", "fd00::1"]',
        "hosts": "10.0.0.1 db",
    }
    settings, problems = settings_of(data)
    assert problems == []
    assert settings == Settings(
        {"acme.local": (Server("1.2.3.4"), Server("1.2.3.5", 5353))},
        (Server("8.8.8.8"), Server("fd00::1")),
        "10.0.0.1 db",
    )


@pytest.mark.parametrize(
    ("data", "wanted", "problem"),
    [
        ({"stubDomains": "{"}, Settings(), "stubDomains: Input data was truncated"),
        ({"stubDomains": '{"a": "1.2.3.4"}'}, Settings(), "stubDomains: Expected `array`, got `str`"),
        (
            {"stubDomains": '{"a": ["ns.example"]}'},
            Settings(),
            'stubDomains: "ns.example" is no address of a server',
        ),
        ({"stubDomains": '{"": ["1.2.3.4"]}'}, Settings(), 'stubDomains: "" is no domain'),
        (
            {"upstreamNameservers": '{"a": 1}'},
            Settings(),
            "upstreamNameservers: Expected `array`, got `object`",
        ),
        (
            {"upstreamNameservers": '["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"]'},
            Settings(upstreams=(Server("1.1.1.1"), Server("2.2.2.2"), Server("3.3.3.3"))),
            "upstreamNameservers: only the first 3 are used",
        ),
        ({"hosts": "x y"}, Settings(hosts="x y"), 'hosts: "x" is no address'),
    ],
)
def test_wrong_entries_are_reported(data: dict[str, str], wanted: Settings, problem: str) -> None:
    settings, problems = settings_of(data)
    assert settings == wanted
    assert len(problems) == 1
    assert problems[0].startswith(problem)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1.2.3.4", Server("1.2.3.4", 53)),
        ("1.2.3.4:5353", Server("1.2.3.4", 5353)),
        ("fd00::1", Server("fd00::1", 53)),
        ("[fd00::1]:5353", Server("fd00::1", 5353)),
        ("[fd00::1]", Server("fd00::1", 53)),
        ("1.2.3.4:", None),
        ("1.2.3.4:0", None),
        ("1.2.3.4:99999", None),
        ("ns.example", None),
        ("", None),
    ],
)
def test_address_of_a_server(text: str, wanted: Server | None) -> None:
    assert server_from(text) == wanted


def test_servers_of_a_resolv_conf() -> None:
    text = (
        "# nameserver 9.9.9.9\nsearch a\nnameserver 1.2.3.4\nnameserver\n nameserver fd00::1\nnameserver x\n"
    )
    assert servers_in(text) == (Server("1.2.3.4"), Server("fd00::1"))


def test_longest_stub_domain_wins() -> None:
    stubs = ("local", "acme.local", "b.acme.local")
    assert stub_for(labels_of("x.acme.local"), stubs) == "acme.local"
    assert stub_for(labels_of("acme.local"), stubs) == "acme.local"
    assert stub_for(labels_of("notacme.local"), stubs) == "local"
    assert stub_for(labels_of("acme.example"), stubs) == ""


def test_own_address_is_no_upstream() -> None:
    ours = (Server("10.88.0.1"),)
    assert usable((Server("10.88.0.1"), Server("10.88.0.1", 5353), Server("1.1.1.1")), ours) == (
        Server("10.88.0.1", 5353),
        Server("1.1.1.1"),
    )
