"""Sandbox specifications: hostnames and host ports, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.sandbox_spec import HostnameTooLong, sandbox_spec
from podling.kubelet.directories import Directories
from podling.runtime.base import PortMapping

CONFIG = KubeletConfig(cluster_dns=("10.96.0.10",))


def pod(*containers: dict[str, Any], name: str = "web", **spec: Any) -> Pod:
    plain = {
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": containers or [{"name": "app"}], **spec},
    }
    return msgspec.convert(plain, Pod)


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
def test_hostname_and_domain_follow_the_spec(subject: Pod, hostname: str, domain: str) -> None:
    found = sandbox(subject)
    assert (found.hostname, found.domainname) == (hostname, domain)


def test_fqdn_above_64_characters_is_refused() -> None:
    subject = pod(hostname="x" * 40, subdomain="sub", setHostnameAsFQDN=True)
    text = (
        f"FQDN {'x' * 40}.sub.ns.svc.cluster.local is too long "
        "(64 characters is the max, 65 characters requested)"
    )
    with pytest.raises(HostnameTooLong) as caught:
        sandbox(subject)
    assert str(caught.value) == f"failed to construct FQDN from pod hostname and cluster domain, {text}"


def test_host_ports_of_sidecars_are_mapped() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}]
    sidecar = {"name": "s", "restartPolicy": "Always", "ports": [{"containerPort": 1, "hostPort": 2}]}
    subject = pod({"name": "app", "ports": ports}, initContainers=[sidecar])
    assert sandbox(subject).port_mappings == (
        PortMapping(container_port=1, host_port=2),
        PortMapping(container_port=80, host_port=8080),
    )
    assert sandbox(pod({"name": "app", "ports": ports}, hostNetwork=True)).port_mappings == ()
