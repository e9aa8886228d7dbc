"""The environment of a pod's processes: names, resolvers, hosts, and the namespaces shared with the node."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podling.kubelet.containers.dns import ResolvConf, parse_resolv_conf
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

LOOK = (
    "hostname; echo --; hostname -f; echo --; cat /etc/hosts; echo --; cat /etc/resolv.conf; echo --; "
    "for n in net pid ipc uts; do readlink /proc/self/ns/$n; done; echo --; cat /proc/1/comm"
)
ALIASES = [{"ip": "192.0.2.7", "hostnames": ["db.local", "db"]}]
PODS: dict[str, dict[str, Any]] = {
    "plain": {},
    "named": {"hostname": "box", "subdomain": "sub", "hostAliases": ALIASES},
    "in-full": {"hostname": "box", "subdomain": "sub", "setHostnameAsFQDN": True},
    "on-the-node": {
        "hostNetwork": True,
        "hostPID": True,
        "hostIPC": True,
        "hostAliases": ALIASES,
    },
    "own-resolver": {
        "dnsPolicy": "None",
        "dnsConfig": {
            "nameservers": ["192.0.2.53"],
            "searches": ["a.example", "b.example"],
            "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
        },
    },
    "nodes-resolver": {"dnsPolicy": "Default", "dnsConfig": {"searches": ["c.example"]}},
}


class Seen:
    """One pod's view, part by part."""

    def __init__(self, pod: dict[str, Any], log: str) -> None:
        self.ip: str = pod["status"]["podIP"]
        parts = [part.strip("\n") for part in log.split("--\n")]
        self.hostname, self.full_name, self.hosts, resolver, namespaces, self.first_process = parts
        self.resolver = parse_resolv_conf(resolver)
        self.namespaces = dict(line.split(":") for line in namespaces.splitlines())


@pytest.fixture(scope="module")
def seen(cluster: RealCluster) -> Iterator[dict[str, Seen]]:
    """The views of all pods, started at the same time."""
    for name, spec in PODS.items():
        cluster.apply(shell_pod(name, LOOK, restartPolicy="Never", **spec))
    names = [f"pod/{name}" for name in PODS]
    cluster.kubectl("wait", *names, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    yield {name: Seen(cluster.get("pod", name), cluster.kubectl("logs", name)) for name in PODS}
    cluster.kubectl("delete", *names, "--now")


LOCAL = (
    "# Kubernetes-managed hosts file.\n"
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)
ADDED = "\n\n# Entries added by HostAliases.\n192.0.2.7\tdb.local\tdb"
DOMAIN = "sub.default.svc.cluster.local"


def test_pod_has_its_hostname_and_hosts_file(seen: dict[str, Seen]) -> None:
    plain, named, full = (seen[name] for name in ("plain", "named", "in-full"))
    assert (plain.hostname, plain.full_name) == ("plain", "plain")
    assert plain.hosts == f"{LOCAL}{plain.ip}\tplain"
    assert (named.hostname, named.full_name) == ("box", f"box.{DOMAIN}")
    assert named.hosts == f"{LOCAL}{named.ip}\tbox.{DOMAIN}\tbox{ADDED}"
    assert (full.hostname, full.full_name) == (f"box.{DOMAIN}", f"box.{DOMAIN}")
    assert full.hosts == f"{LOCAL}{full.ip}\tbox.{DOMAIN}\tbox"


def test_a_pod_on_the_nodes_network_has_the_nodes_name_and_hosts(cluster: RealCluster, seen: Any) -> None:
    found = seen["on-the-node"]
    (node,) = cluster.get("nodes")["items"]
    addresses = {address["type"]: address["address"] for address in node["status"]["addresses"]}
    assert (found.hostname, found.ip) == (addresses["Hostname"], addresses["InternalIP"])
    own = Path("/etc/hosts").read_text()
    assert found.hosts == f"# Kubernetes-managed hosts file (host network).\n{own}{ADDED[1:]}"


def test_resolver_follows_dns_policy(seen: dict[str, Seen]) -> None:
    node = parse_resolv_conf(Path("/etc/resolv.conf").read_text())
    own = seen["own-resolver"].resolver
    assert own == ResolvConf(("192.0.2.53",), ("a.example", "b.example"), ("ndots:2", "edns0"))
    default = seen["nodes-resolver"].resolver
    assert default.nameservers == node.nameservers
    assert default.searches == (*node.searches, "c.example")
    assert seen["on-the-node"].resolver.nameservers == node.nameservers


def test_pods_share_namespaces_as_specified(seen: dict[str, Seen]) -> None:
    mine = {kind: os.readlink(f"/proc/self/ns/{kind}").split(":")[1] for kind in ("net", "pid", "ipc", "uts")}
    shared = {name: {k for k, v in found.namespaces.items() if mine[k] == v} for name, found in seen.items()}
    assert shared["plain"] == set()
    assert {"net", "pid", "ipc"} <= shared["on-the-node"]
    assert seen["plain"].first_process == "sh"
    assert seen["on-the-node"].first_process == Path("/proc/1/comm").read_text().strip()
