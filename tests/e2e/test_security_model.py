"""Statements of ``docs/security.md`` that no other test shows: what is protected, and what is not."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from podling.kubelet.node.machine import primary_address
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, namespace, running_cluster, shell_pod

pytestmark = [pytest.mark.e2e]

NAMESPACES = ("mnt", "pid", "net", "ipc", "uts")
FACTS = """
grep -E '^(CapEff|NoNewPrivs|Seccomp|Uid):' /proc/self/status
for each in mnt pid net ipc uts user; do readlink /proc/self/ns/$each; done
cat /proc/self/uid_map
"""
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def run(cluster: RealCluster, name: str, script: str, *where: str, **spec: Any) -> list[str]:
    """Run a script in a pod to its end; return its output, line by line."""
    pod = shell_pod(name, script, restartPolicy="Never", **spec)
    if where:
        pod["metadata"]["namespace"] = where[1]
    cluster.apply(pod)
    cluster.kubectl(
        "wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s", *where
    )
    lines = cluster.kubectl("logs", name, *where).splitlines()
    cluster.kubectl("delete", "pod", name, *where)
    return lines


def status_of(lines: list[str]) -> dict[str, str]:
    return {line.split()[0].rstrip(":"): line.split()[1] for line in lines if line[0].isupper()}


def test_default_container_has_default_privileges(cluster: RealCluster) -> None:
    lines = run(cluster, "default", FACTS)
    assert status_of(lines) == {
        "CapEff": "00000000a80425fb",
        "NoNewPrivs": "0",
        "Seccomp": "0",
        "Uid": "0",
    }
    for name in NAMESPACES:
        assert os.readlink(f"/proc/self/ns/{name}") not in lines
    assert os.readlink("/proc/self/ns/user") in lines
    assert lines[-1].split() == ["0", "0", "4294967295"]


def test_container_of_a_restricted_namespace(cluster: RealCluster) -> None:
    with namespace(cluster, "restricted"):
        label = "pod-security.kubernetes.io/enforce=restricted"
        cluster.kubectl("label", "namespace", "restricted", label)
        where = ("-n", "restricted")
        refused = cluster.try_kubectl("run", "plain", "--image=podling.local/host", *where)
        assert 'violates PodSecurity "restricted:latest"' in refused.err
        lines = run(cluster, "confined", FACTS, *where, container={"securityContext": RESTRICTED})
        assert status_of(lines) == {
            "CapEff": "0000000000000000",
            "NoNewPrivs": "1",
            "Seccomp": "2",
            "Uid": "1000",
        }


def test_default_account_may_do_nothing(cluster: RealCluster) -> None:
    account = "--as=system:serviceaccount:default:default"
    for verb, resource in (("get", "pods"), ("list", "secrets"), ("create", "pods"), ("get", "nodes")):
        assert cluster.try_kubectl("auth", "can-i", verb, resource, account).out == "no\n"


def test_processes_are_not_limited(cluster: RealCluster) -> None:
    script = "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null; true"
    assert run(cluster, "processes", script) == ["max"]


def test_secrets_are_stored_as_they_are(cluster: RealCluster) -> None:
    cluster.kubectl("create", "secret", "generic", "plain", "--from-literal=key=easily-found")
    files = [path.read_bytes() for path in cluster.directory.glob("store.db*")]
    assert any(b"ZWFzaWx5LWZvdW5k" in content for content in files)
    cluster.kubectl("delete", "secret", "plain")


def listening(pid: int) -> set[str]:
    """Return the IPv4 addresses on which a process listens."""
    sockets = {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    found = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]
    return {socket.inet_ntoa(bytes.fromhex(each)[::-1]) for each in found}


def test_only_documented_addresses_listen(cluster: RealCluster, sim_cluster: RealCluster) -> None:
    (node,) = cluster.get("nodes")["items"]
    names = json.loads(node["metadata"]["annotations"]["podling.dev/cluster-dns"])["addresses"]
    assert listening(cluster.pid) == {"0.0.0.0", "127.0.0.1", primary_address(), *names}
    assert listening(sim_cluster.pid) == {"127.0.0.1", primary_address()}


@pytest.mark.skipif(bool(missing_for_containers()), reason="compares with a machine that isolates")
def test_process_container_sees_the_machine(tmp_path: Path) -> None:
    secret = tmp_path / "of-the-user"
    secret.write_text("seen\n")
    with running_cluster(tmp_path / "data", "process") as cluster:
        lines = run(cluster, "open", f"cat {secret}; {FACTS}")
    assert lines[0] == "seen"
    assert status_of(lines[1:])["Uid"] == str(os.geteuid())
    for name in NAMESPACES:
        assert os.readlink(f"/proc/self/ns/{name}") in lines
