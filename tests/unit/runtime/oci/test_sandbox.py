"""Namespaces and sysctls of a pod sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.runtime.base import NamespaceOptions
from podling.runtime.oci.sandbox import Place, joined_namespaces, own_namespaces, sysctl_path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("net.ipv4.ip_forward", "/proc/sys/net/ipv4/ip_forward"),
        ("net/ipv4/conf/eth0.1/forwarding", "/proc/sys/net/ipv4/conf/eth0.1/forwarding"),
        ("net.ipv4.conf.eth0/1.forwarding", "/proc/sys/net/ipv4/conf/eth0.1/forwarding"),
        ("kernel.shm_rmid_forced", "/proc/sys/kernel/shm_rmid_forced"),
    ],
)
def test_sysctls_are_paths(name: str, path: str) -> None:
    assert sysctl_path(name) == path


@pytest.mark.parametrize(
    ("options", "own", "joined"),
    [
        (
            NamespaceOptions(),
            ["net", "uts", "ipc"],
            {"network": "/s/net", "uts": "/s/uts", "ipc": "/s/ipc"},
        ),
        (
            NamespaceOptions(host_network=True),
            ["ipc"],
            {"network": "host", "uts": "host", "ipc": "/s/ipc"},
        ),
        (
            NamespaceOptions(host_ipc=True, host_pid=True),
            ["net", "uts"],
            {"network": "/s/net", "uts": "/s/uts", "ipc": "host", "pid": "host"},
        ),
    ],
)
def test_namespace_options_decide_pod_namespaces(
    options: NamespaceOptions, own: list[str], joined: dict[str, str]
) -> None:
    assert own_namespaces(options) == own
    assert joined_namespaces(Place(Path("/s")), options, 0) == joined


def test_a_shared_process_namespace_is_joined_where_it_is_pinned() -> None:
    assert joined_namespaces(Place(Path("/s")), NamespaceOptions(share_processes=True), 7)["pid"] == "/s/pid"
