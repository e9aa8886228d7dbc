"""Resources, privileges, names, resolvers: what a pod's spec becomes for the runtime, as tables."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, PodSpec
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.credentials import logins_for, registry_logins
from podling.kubelet.containers.dns import ResolvConf, parse_resolv_conf, pod_resolution
from podling.kubelet.containers.hosts import host_network_content, hosts_content
from podling.kubelet.containers.images import pull_policy, with_default_tag
from podling.kubelet.containers.messages import join_messages, log_tail
from podling.kubelet.containers.sandbox_spec import HostnameTooLong, sandbox_spec
from podling.kubelet.containers.security import container_security
from podling.kubelet.directories import Directories
from podling.kubelet.durations import go_duration
from podling.kubelet.resources import (
    cgroup_parent,
    container_resources,
    cpu_quota,
    cpu_shares,
    oom_score_adj,
    pod_resources,
)
from podling.runtime.base import PortMapping
from podling.runtime.image_service import Credentials

CONFIG = KubeletConfig(cluster_dns=("10.96.0.10",))
GIB = 1 << 30


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "app", "resources": resources}


def pod(*containers: dict[str, Any], name: str = "web", **spec: Any) -> Pod:
    plain = {
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": containers or [{"name": "app"}], **spec},
    }
    return msgspec.convert(plain, Pod)


def spec(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return pod(*containers, **more).spec


SMALL = {"cpu": "500m", "memory": "1Gi"}


@pytest.mark.parametrize(("milli", "shares"), [(0, 2), (1, 2), (100, 102), (1000, 1024), (10**6, 262144)])
def test_cpu_shares(milli: int, shares: int) -> None:
    assert cpu_shares(milli) == shares


@pytest.mark.parametrize(("milli", "quota"), [(0, None), (1, 1000), (500, 50000), (2000, 200000)])
def test_cpu_quota(milli: int, quota: int | None) -> None:
    assert cpu_quota(milli, 100000) == quota


def test_container_limits() -> None:
    subject = spec(container(requests={"cpu": "250m"}, limits={"cpu": "1", "memory": "64Mi"}))
    found = container_resources(subject, subject.containers[0], CONFIG, 8 * GIB)
    assert (found.cpu_shares, found.cpu_quota, found.cpu_period) == (256, 100000, 100000)
    assert (found.memory_limit, found.memory_swap_limit) == (64 << 20, 64 << 20)


@pytest.mark.parametrize(("single", "unified"), [(False, {"memory.oom.group": "1"}), (True, {})])
def test_who_dies_when_a_container_runs_out_of_memory(single: bool, unified: dict[str, str]) -> None:
    subject = spec(container(limits={"memory": "64Mi"}))
    config = KubeletConfig(single_process_oom_kill=single)
    assert container_resources(subject, subject.containers[0], config, 8 * GIB).unified == unified


def test_a_container_without_limits_has_the_pods() -> None:
    subject = spec(container(), resources={"limits": {"memory": "1Gi"}})
    assert container_resources(subject, subject.containers[0], CONFIG, 8 * GIB).memory_limit == GIB


@pytest.mark.parametrize(
    ("containers", "adj"),
    [
        ([container(requests=SMALL, limits=SMALL)], -997),
        ([container()], 1000),
        ([container(requests={"memory": "4Gi"})], 500),
        ([container(requests={"memory": "1"})], 999),
        ([container(requests={"memory": "8Gi"})], 3),
    ],
)
def test_who_dies_first_when_memory_runs_out(containers: list[dict[str, Any]], adj: int) -> None:
    subject = spec(*containers)
    assert oom_score_adj(subject, subject.containers[0], 8 * GIB) == adj


@pytest.mark.parametrize(
    ("resources", "parent"),
    [
        (container(requests=SMALL, limits=SMALL), "/podling/podu-1"),
        (container(requests=SMALL), "/podling/burstable/podu-1"),
        (container(), "/podling/besteffort/podu-1"),
    ],
)
def test_where_the_pods_cgroup_lies(resources: dict[str, Any], parent: str) -> None:
    assert cgroup_parent(pod(resources), CONFIG) == parent


def test_the_pods_cgroup_is_limited_only_if_all_its_containers_are() -> None:
    limited = container(requests=SMALL, limits={"cpu": "1", "memory": "2Gi"})
    whole = pod_resources(spec(limited), CONFIG)
    assert (whole.cpu_shares, whole.cpu_quota, whole.memory_limit) == (512, 100000, 2 * GIB)
    half = pod_resources(spec(limited, {"name": "other"}), CONFIG)
    assert (half.cpu_quota, half.memory_limit) == (None, None)


def test_init_containers_count_in_the_pods_cgroup() -> None:
    """The largest one counts; one without a limit leaves the whole pod without."""
    app = container(requests=SMALL, limits={"cpu": "1", "memory": "1Gi"})
    large = {
        "name": "setup",
        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "3Gi"}},
    }
    whole = pod_resources(spec(app, initContainers=[large]), CONFIG)
    assert (whole.cpu_shares, whole.cpu_quota, whole.memory_limit) == (2048, 400000, 3 * GIB)
    open_ended = pod_resources(spec(app, initContainers=[{"name": "setup"}]), CONFIG)
    assert (open_ended.cpu_quota, open_ended.memory_limit) == (None, None)


def security(inner: dict[str, Any], outer: dict[str, Any] | None = None) -> Any:
    subject = pod({"name": "app", "securityContext": inner}, securityContext=outer or {})
    return container_security(subject, subject.spec.containers[0], CONFIG)


def test_the_containers_word_goes_before_the_pods() -> None:
    outer = {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3, "supplementalGroups": [4]}
    found = security({"runAsUser": 9}, outer)
    assert (found.user, found.group, found.supplemental_groups) == ("9", 2, (4, 3))


@pytest.mark.parametrize(
    ("inner", "seccomp"),
    [
        ({}, "unconfined"),
        ({"seccompProfile": {"type": "RuntimeDefault"}}, "runtime/default"),
        (
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}},
            "localhost//var/lib/kubelet/seccomp/a.json",
        ),
        ({"seccompProfile": {"type": "RuntimeDefault"}, "privileged": True}, "unconfined"),
    ],
)
def test_seccomp(inner: dict[str, Any], seccomp: str) -> None:
    assert security(inner).seccomp == seccomp


def test_proc_is_masked_unless_it_is_asked_not_to_be() -> None:
    assert "/proc/kcore" in security({}).masked_paths
    assert security({"procMount": "Unmasked"}).masked_paths == ()
    assert security({"privileged": True}).readonly_paths == ()
    assert security({"allowPrivilegeEscalation": False}).no_new_privileges


def sandbox(subject: Pod) -> Any:
    return sandbox_spec(subject, 0, CONFIG, Directories(Path("/k")), "node-1")


@pytest.mark.parametrize(
    ("subject", "hostname", "domain"),
    [
        (pod(), "web", ""),
        (pod(name="x" * 62 + ".yyy"), "x" * 62, ""),
        (pod(hostname="box"), "box", ""),
        (pod(hostname="box", subdomain="sub"), "box", "sub.ns.svc.cluster.local"),
        (
            pod(hostname="box", subdomain="sub", setHostnameAsFQDN=True),
            "box.sub.ns.svc.cluster.local",
            "sub.ns.svc.cluster.local",
        ),
        (pod(hostNetwork=True), "node-1", ""),
        (pod(hostname="box", subdomain="sub", hostnameOverride="me"), "me", ""),
    ],
)
def test_hostnames(subject: Pod, hostname: str, domain: str) -> None:
    found = sandbox(subject)
    assert (found.hostname, found.domainname) == (hostname, domain)


def test_a_full_name_that_the_kernel_cannot_hold() -> None:
    subject = pod(hostname="x" * 40, subdomain="sub", setHostnameAsFQDN=True)
    text = (
        f"FQDN {'x' * 40}.sub.ns.svc.cluster.local is too long "
        "(64 characters is the max, 65 characters requested)"
    )
    with pytest.raises(HostnameTooLong) as caught:
        sandbox(subject)
    assert str(caught.value) == f"failed to construct FQDN from pod hostname and cluster domain, {text}"


def test_host_ports_of_sidecars_count_too() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}]
    sidecar = {"name": "s", "restartPolicy": "Always", "ports": [{"containerPort": 1, "hostPort": 2}]}
    subject = pod({"name": "app", "ports": ports}, initContainers=[sidecar])
    assert sandbox(subject).port_mappings == (
        PortMapping(container_port=1, host_port=2),
        PortMapping(container_port=80, host_port=8080),
    )
    assert sandbox(pod({"name": "app", "ports": ports}, hostNetwork=True)).port_mappings == ()


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
def test_resolvers(subject: Pod, expected: ResolvConf) -> None:
    assert pod_resolution(subject, NODE, CONFIG).conf == expected


def test_a_node_without_cluster_dns_says_so() -> None:
    found = pod_resolution(pod(), NODE, KubeletConfig())
    assert found.conf == NODE
    assert [reason for reason, _ in found.warnings] == ["MissingClusterDNS"]


def test_too_many_nameservers_are_left_out() -> None:
    servers = [f"10.0.0.{n}" for n in range(5)]
    found = pod_resolution(pod(dnsPolicy="None", dnsConfig={"nameservers": servers}), NODE, CONFIG)
    assert found.conf.nameservers == tuple(servers[:3])
    assert found.warnings[0][1].endswith("the applied nameserver line is: 10.0.0.0 10.0.0.1 10.0.0.2")


def test_hosts_files() -> None:
    aliases = pod(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a", "b"]}]).spec.host_aliases
    own = hosts_content(("10.0.0.1", "fd00::1"), "box", "", aliases)
    assert own.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert own.endswith("10.0.0.1\tbox\nfd00::1\tbox\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n")
    shared = host_network_content("127.0.0.1 localhost\n", ())
    assert shared == "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.35, "350ms"),
        (1.5, "1.5s"),
        (10, "10s"),
        (80, "1m20s"),
        (300, "5m0s"),
        (3605, "1h0m5s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


@pytest.mark.parametrize(
    ("image", "stated", "policy"),
    [
        ("app", "", "Always"),
        ("app:latest", "", "Always"),
        ("app:1", "", "IfNotPresent"),
        ("host:5000/app", "", "Always"),
        ("app@sha256:abc", "", "IfNotPresent"),
        ("app", "Never", "Never"),
    ],
)
def test_pull_policies(image: str, stated: str, policy: str) -> None:
    assert pull_policy(image, stated or None) == policy


def test_default_tags() -> None:
    assert [with_default_tag(i) for i in ("a", "a:1", "h:5/a", "a@sha256:0")] == [
        "a:latest",
        "a:1",
        "h:5/a:latest",
        "a@sha256:0",
    ]


def auth(user: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:pw".encode()).decode()}


@pytest.mark.parametrize(
    ("image", "users"),
    [
        ("busybox", ["hub"]),
        ("docker.io/me/app:1", ["hub"]),
        ("quay.io/team/app", ["team", "quay"]),
        ("quay.io/teammate/app", ["quay"]),
        ("eu.example.com/app@sha256:0", ["wild"]),
        ("a.b.example.com/app", []),
    ],
)
def test_which_logins_serve_an_image(image: str, users: list[str]) -> None:
    logins = registry_logins(
        {
            "auths": {
                "https://index.docker.io/v1/": auth("hub"),
                "quay.io": auth("quay"),
                "https://quay.io/team": auth("team"),
                "*.example.com": auth("wild"),
                "broken.io": {"auth": "%%%"},
            }
        }
    )
    assert [login.username for login in logins_for(image, logins)] == users
    assert all(isinstance(login, Credentials) for login in logins.values())


def test_the_end_of_a_log() -> None:
    lines = b"".join(b"2026-01-01T00:00:00Z stdout F line %d\n" % n for n in range(100))
    tail = log_tail(lines + b"2026-01-01T00:00:00Z stderr P half \n2026-01-01T00:00:00Z stderr F whole\n")
    assert tail.splitlines()[0] == "line 21"
    assert tail.endswith("line 99\nhalf whole\n")


def test_messages_of_runtime_and_container_are_joined() -> None:
    assert [join_messages(*pair) for pair in (("", ""), ("a", ""), ("", "b"), ("a", "b"))] == [
        "",
        "a",
        "b",
        "a: b",
    ]
