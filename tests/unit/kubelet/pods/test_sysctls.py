"""The sysctls that a node admits. The cases follow upstream's ``pkg/kubelet/sysctl/allowlist_test.go``."""

from __future__ import annotations

import pytest

from podling.kubelet.pods.sysctls import SAFE_SYSCTLS, forbidden_sysctl
from podling.runtime.sysctl_names import dots_between_parts, namespace_of

ALLOWED = (
    "kernel.msg*",
    "kernel.sem",
    "net.core.somaxconn",
    "net/ipv4/conf/*",
    "kernel.core_pattern",
    "vm.*",
)


@pytest.mark.parametrize(
    "name",
    [
        *sorted(SAFE_SYSCTLS),
        "kernel.msgmax",
        "kernel/msgmax",
        "kernel.sem",
        "net.ipv4.conf.eth0/1.forwarding",
    ],
)
def test_safe_and_allowed_sysctls_are_admitted(name: str) -> None:
    assert forbidden_sysctl(name, ALLOWED) == ""


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("net.core.somaxconn.x", '"net.core.somaxconn.x" not allowlisted'),
        ("kernel/shmmax", '"kernel.shmmax" not allowlisted'),
        ("kernel.semx", '"kernel.semx" not allowlisted'),
        ("kernel.core_pattern", '"kernel.core_pattern" not allowlisted'),
        ("vm.drop_caches", '"vm.drop_caches" not allowlisted'),
    ],
)
def test_other_sysctls_are_forbidden_and_settings_of_the_machine_always(name: str, problem: str) -> None:
    assert forbidden_sysctl(name, ALLOWED) == problem


@pytest.mark.parametrize(
    ("name", "shared", "problem"),
    [
        ("net.core.somaxconn", {"host_network": True}, "Net"),
        ("net.ipv4.tcp_syncookies", {"host_network": True}, "Net"),
        ("kernel.msgmax", {"host_ipc": True}, "IPC"),
        ("kernel.shm_rmid_forced", {"host_ipc": True}, "IPC"),
        ("kernel.shm_rmid_forced", {"host_network": True}, ""),
        ("net.core.somaxconn", {"host_ipc": True}, ""),
    ],
)
def test_sysctl_of_a_shared_namespace_is_forbidden(name: str, shared: dict[str, bool], problem: str) -> None:
    expected = f'"{name}" not allowed with host {problem} enabled' if problem else ""
    assert forbidden_sysctl(name, ALLOWED, **shared) == expected


@pytest.mark.parametrize(
    ("name", "dotted", "namespace"),
    [
        ("kernel.shm_rmid_forced", "kernel.shm_rmid_forced", "IPC"),
        ("kernel/shm_rmid_forced", "kernel.shm_rmid_forced", "IPC"),
        ("net.ipv4.conf.eno2/100.rp_filter", "net.ipv4.conf.eno2/100.rp_filter", "Net"),
        ("net/ipv4/conf/eno2.100/rp_filter", "net.ipv4.conf.eno2/100.rp_filter", "Net"),
        ("net/ipv4/ip_local_port_range", "net.ipv4.ip_local_port_range", "Net"),
        ("fs.mqueue.msg_max", "fs.mqueue.msg_max", "IPC"),
        ("fs.file-max", "fs.file-max", ""),
        ("kernel.panic", "kernel.panic", ""),
        ("network", "network", ""),
    ],
)
def test_names_have_dots_and_belong_to_a_namespace(name: str, dotted: str, namespace: str) -> None:
    assert dots_between_parts(name) == dotted
    assert namespace_of(dotted) == namespace
