"""DNS policies and the limits of resolv.conf, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.dns import ResolvConf, parse_resolv_conf, pod_resolution

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
    assert [reason for reason, _ in found.warnings] == ["MissingClusterDNS"]


def test_surplus_nameservers_are_left_out() -> None:
    servers = [f"10.0.0.{n}" for n in range(5)]
    found = pod_resolution(pod(dnsPolicy="None", dnsConfig={"nameservers": servers}), NODE, CONFIG)
    assert found.conf.nameservers == tuple(servers[:3])
    assert found.warnings[0][1].endswith("the applied nameserver line is: 10.0.0.0 10.0.0.1 10.0.0.2")
