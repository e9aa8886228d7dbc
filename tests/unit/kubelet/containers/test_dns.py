"""DNS policies and the limits of resolv.conf, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.dns import ResolvConf, parse_resolv_conf, pod_resolution, search_line_problem

CONFIG = KubeletConfig(cluster_dns=("10.96.0.10",))


def pod(*containers: dict[str, Any], name: str = "web", **spec: Any) -> Pod:
    plain = {
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": containers or [{"name": "app"}], **spec},
    }
    return msgspec.convert(plain, Pod)


NODE = parse_resolv_conf("# note\nnameserver 1.1.1.1\nsearch old.\nsearch example.com.\noptions timeout:1\n")


CLUSTER = ("ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (pod(), ResolvConf(("10.96.0.10",), CLUSTER, ("ndots:5",))),
        (pod(dnsPolicy="Default"), NODE),
        (pod(hostNetwork=True), NODE),
        (
            pod(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"),
            ResolvConf(("10.96.0.10",), CLUSTER, ("ndots:5",)),
        ),
        (
            pod(
                dnsPolicy="None",
                dnsConfig={
                    "nameservers": ["9.9.9.9"],
                    "searches": ["a.b"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
                },
            ),
            ResolvConf(("9.9.9.9",), ("a.b",), ("ndots:2", "edns0")),
        ),
        (
            pod(dnsConfig={"nameservers": ["9.9.9.9"], "options": [{"name": "ndots", "value": "1"}]}),
            ResolvConf(("10.96.0.10", "9.9.9.9"), CLUSTER, ("ndots:1",)),
        ),
    ],
)
def test_resolver_follows_dns_policy(subject: Pod, expected: ResolvConf) -> None:
    assert pod_resolution(subject, NODE, CONFIG).conf == expected


def test_node_without_cluster_dns_warns() -> None:
    found = pod_resolution(pod(), NODE, KubeletConfig())
    assert found.conf == NODE
    text = (
        'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
        'Falling back to "Default" policy.'
    )
    assert found.warnings == (("MissingClusterDNS", f'pod: "web_ns(u-1)". {text}'),)
    on_host = pod(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    assert pod_resolution(on_host, NODE, KubeletConfig()).warnings == found.warnings
    for policy in ("Default", "None"):
        assert pod_resolution(pod(dnsPolicy=policy), NODE, KubeletConfig()).warnings == ()


@pytest.mark.parametrize(
    ("addresses", "servers"),
    [
        (("192.0.2.1",), ("127.0.0.1",)),
        (("192.0.2.1", "fd00::1"), ("127.0.0.1", "::1")),
        ((), ("127.0.0.1",)),
    ],
)
def test_node_without_a_file_disables_look_ups(addresses: tuple[str, ...], servers: tuple[str, ...]) -> None:
    config = KubeletConfig(cluster_dns=("10.96.0.10",), resolv_conf=None, node_addresses=addresses)
    assert pod_resolution(pod(dnsPolicy="Default"), ResolvConf(), config).conf == ResolvConf(servers, (".",))
    assert pod_resolution(pod(), ResolvConf(), config).conf.nameservers == ("10.96.0.10",)


def test_search_domain_that_is_too_long_is_left_out() -> None:
    searches = ["a.example", "x" * 254, "b.example"]
    found = pod_resolution(pod(dnsPolicy="None", dnsConfig={"searches": searches}), NODE, CONFIG)
    assert found.conf.searches == ("a.example", "b.example")
    assert found.warnings[0][1].endswith("the applied search line is: a.example b.example")


@pytest.mark.parametrize(
    ("searches", "domain", "problem"),
    [
        (("a",) * 29, "cluster.local", ""),
        (("a",) * 30, "cluster.local", "contains search line consisting of more than 29 domains!"),
        (("a",) * 32, "", ""),
        (("a",) * 33, "", "contains search line consisting of more than 32 domains!"),
        (("x" * 254,), "", "contains a search path which length is more than allowed 253 chars!"),
        (("x" * 250,) * 9, "", "contains search line which length is more than allowed 2048 chars!"),
    ],
)
def test_search_line_of_the_node_leaves_space_for_pods(
    searches: tuple[str, ...], domain: str, problem: str
) -> None:
    found = search_line_problem(ResolvConf(searches=searches), "/etc/resolv.conf", domain)
    assert found.endswith(problem)
    assert bool(found) == bool(problem)


def test_surplus_nameservers_are_left_out() -> None:
    servers = [f"10.0.0.{n}" for n in range(5)]
    found = pod_resolution(pod(dnsPolicy="None", dnsConfig={"nameservers": servers}), NODE, CONFIG)
    assert found.conf.nameservers == tuple(servers[:3])
    assert found.warnings[0][1].endswith("the applied nameserver line is: 10.0.0.0 10.0.0.1 10.0.0.2")
