"""A container with default settings is confined, with both OCI runtimes, with and without a user namespace.

RuntimeClasses choose the OCI runtime, so one cluster runs the pods of all four kinds beside each other.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from podling.kubelet.containers.security import DEFAULT_MASKED_PATHS
from podling.runtime.base import IdRange, LinuxResources, NamespaceOptions
from podling.runtime.oci import detect
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.oci_node import node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers() or "can run"),
    pytest.mark.skipif(not (shutil.which("crun") and shutil.which("runc")), reason="needs crun and runc"),
]

MARK = "known-to-its-owner-alone"
KEEP = "trap 'exit 0' TERM; sleep 3600 & wait"


class Kind(NamedTuple):
    """A way to run a pod."""

    engine: str
    own_users: bool

    @property
    def name(self) -> str:
        return f"{self.engine}-{'own-users' if self.own_users else 'host-users'}"

    @property
    def spec(self) -> dict[str, Any]:
        return {"runtimeClassName": self.engine, **({"hostUsers": False} if self.own_users else {})}


KINDS = [Kind(engine, own) for engine in ("crun", "runc") for own in (False, True)]


def box(kind: Kind) -> dict[str, Any]:
    """Return a pod with one container of default settings, and two that may not and may gain privileges."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    script = f"touch /data/{MARK}-{kind.name}; cp /usr/bin/id /data/id; chmod 4755 /data/id; {KEEP}"
    pod = shell_pod(f"box-{kind.name}", script, container={"volumeMounts": mounts}, **kind.spec)
    for name, allowed in (("firm", False), ("lenient", True)):
        context = {"runAsUser": 1000, "allowPrivilegeEscalation": allowed}
        other = {**pod["spec"]["containers"][0], "name": name, "securityContext": context}
        pod["spec"]["containers"].append({**other, "command": ["sh", "-c", KEEP]})
    pod["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    return pod


def hungry(kind: Kind) -> dict[str, Any]:
    """Return a pod that takes more memory than its limit."""
    limits = {"resources": {"limits": {"memory": "32Mi"}}}
    script = 'exec perl -e \'$x = "a" x (1 << 20); while (1) { push @all, $x . "b" }\''
    return shell_pod(f"hungry-{kind.name}", script, container=limits, restartPolicy="Never", **kind.spec)


def greedy(kind: Kind) -> dict[str, Any]:
    """Return a pod that writes more to its disk than its limit."""
    limits = {"resources": {"limits": {"ephemeral-storage": "10Mi"}}}
    # It ends with an error: a pod that is evicted and ends well has succeeded.
    script = "dd if=/dev/zero of=/tmp/much bs=1M count=30; trap 'exit 143' TERM; sleep 3600 & wait"
    return shell_pod(f"greedy-{kind.name}", script, container=limits, restartPolicy="Never", **kind.spec)


@pytest.fixture(scope="module")
def boxes(cluster: RealCluster) -> Iterator[RealCluster]:
    """The shared cluster with three pods of each kind."""
    classes = [
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name}
        for name in ("crun", "runc")
    ]
    pods = [make(kind) for kind in KINDS for make in (box, hungry, greedy)]
    everything = {"apiVersion": "v1", "kind": "List", "items": classes + pods}
    cluster.apply(everything)
    try:
        cluster.kubectl(
            "wait", "--for=condition=Ready", "--timeout=60s", *(f"pod/box-{k.name}" for k in KINDS)
        )
        yield cluster
    finally:
        cluster.kubectl("delete", "-f", "-", stdin=json.dumps(everything), timeout=60)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


def run(cluster: RealCluster, kind: Kind, script: str, container: str = "main") -> str:
    """Run a script in the kind's box; return its output and errors."""
    shell = ("sh", "-c", f"exec 2>&1; {script}")
    return cluster.kubectl("exec", f"box-{kind.name}", "-c", container, "--", *shell)


def ended(cluster: RealCluster, pod: str) -> dict[str, Any]:
    """Wait for a pod's failure and return its status."""
    cluster.kubectl("wait", f"pod/{pod}", "--for=jsonpath={.status.phase}=Failed", "--timeout=60s")
    status: dict[str, Any] = cluster.get("pod", pod)["status"]
    return status


def test_node_has_a_handler_for_each_runtime(boxes: RealCluster) -> None:
    (node,) = boxes.get("nodes")["items"]
    features = {"recursiveReadOnlyMounts": True, "userNamespaces": True}
    expected = [{"name": name, "features": features} for name in ("crun", "runc")]
    assert node["status"]["runtimeHandlers"] == [{"name": "", "features": features}, *expected]


def test_container_runs_as_its_class_and_users_say(boxes: RealCluster, kind: Kind) -> None:
    _, outside, count = run(boxes, kind, "cat /proc/self/uid_map").split()
    if kind.own_users:
        assert int(count) == 65536
        assert int(outside) >= 65536
        assert int(outside) % 65536 == 0
    else:
        assert (outside, count) == ("0", "4294967295")
    uid = boxes.get("pod", f"box-{kind.name}")["metadata"]["uid"]
    records = []
    for path in boxes.directory.glob("nodes/*/oci/containers/*/record.json"):
        with suppress(FileNotFoundError):  # containers of other pods are removed meanwhile
            records.append(json.loads(path.read_bytes()))
    assert {each["engine"] for each in records if each["pod_uid"] == uid} == {kind.engine}


def test_no_two_pods_have_users_in_common(boxes: RealCluster) -> None:
    ranges = [
        [int(number) for number in run(boxes, kind, f"cat /proc/self/{ids}").split()]
        for kind in KINDS
        if kind.own_users
        for ids in ("uid_map", "gid_map")
    ]
    assert {(inside, count) for inside, _, count in ranges} == {(0, 65536)}
    uids, gids = ([first for _, first, _ in ranges[start::2]] for start in (0, 1))
    assert uids == gids
    assert len(set(uids)) == len(uids) == 2
    assert min(uids) >= 65536


def test_container_sees_neither_processes_nor_files_of_the_node(
    boxes: RealCluster, kind: Kind, tmp_path: Path
) -> None:
    secret = tmp_path / "of-the-node"
    secret.write_text("secret")
    processes = run(boxes, kind, "ls /proc | grep -c '^[0-9]'; cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    count, _, commands = processes.partition("\n")
    assert 2 < int(count) < 12
    assert "sleep 3600" in commands, "its own process"
    assert "pytest" not in commands
    assert "conmon" not in commands
    assert "No such file" in run(boxes, kind, f"ls {secret} /proc/1/root{secret} || true")
    assert run(boxes, kind, "cat /etc/shadow /root/.bashrc || true").count("No such file") == 2
    for device in (name for name in ("vda", "sda", "mem", "kmsg") if os.path.exists(f"/dev/{name}")):
        assert "No such file" in run(boxes, kind, f"head -c1 /dev/{device} || true")


def test_devices_made_by_the_container_cannot_be_opened(boxes: RealCluster, kind: Kind) -> None:
    number = os.stat("/").st_dev
    made = f"mknod /tmp/disk b {os.major(number)} {os.minor(number)} && head -c1 /tmp/disk || true"
    said = run(boxes, kind, made)
    assert "Operation not permitted" in said or "Permission denied" in said


def test_container_loads_no_module(boxes: RealCluster, kind: Kind) -> None:
    """A permitted caller of init_module(2) gets as far as the bad address (14), others do not (1).

    A kernel without modules knows no such call (38).
    """
    assert run(boxes, kind, "perl -e 'syscall(175, 0, 0, 0); print $!+0'") in ("1", "38")


def test_settings_of_the_kernel_cannot_be_written(boxes: RealCluster, kind: Kind) -> None:
    places = ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname")
    rarer = ("/proc/sysrq-trigger", "/sys/kernel/profiling", "/proc/irq/default_smp_affinity")
    for place in (*places, *filter(os.path.exists, rarer)):
        said = run(boxes, kind, f"echo 1 > {place} && echo written || true")
        assert "written" not in said, place
        assert "Read-only file system" in said or "Permission denied" in said, said
    said = run(
        boxes,
        kind,
        "mount -o remount,rw /proc/sys && echo done || true; umount /proc/sys && echo done || true",
    )
    assert "done" not in said


def test_masked_files_of_the_kernel_are_empty(boxes: RealCluster, kind: Kind) -> None:
    """The node has content there; the container reads none of it."""
    shown = [path for path in DEFAULT_MASKED_PATHS if os.path.exists(path)]
    files = [path for path in shown if os.path.isfile(path) and path != "/proc/kcore"]
    assert any(Path(path).read_bytes() for path in files)
    look = "; ".join(f"if [ -d {path} ]; then ls -A {path}; else head -c9 {path}; fi" for path in shown)
    assert run(boxes, kind, f"{look}; echo nothing") == "nothing\n"


def test_volumes_of_other_pods_are_out_of_reach(boxes: RealCluster, kind: Kind) -> None:
    """Each volume holds a file of its pod's name: only the own one is found, also through all processes."""
    found = run(
        boxes,
        kind,
        f"find / -path /proc -prune -o -path /sys -prune -o -name '{MARK}-*' -print 2>/dev/null;"
        f"ls -d /proc/[0-9]*/root/data/{MARK}-* /proc/[0-9]*/cwd/data/{MARK}-*",
    )
    assert {line.rpartition("/")[2] for line in found.splitlines() if "No such" not in line} == {
        f"{MARK}-{kind.name}"
    }
    assert f"/data/{MARK}-{kind.name}" in found.splitlines()
    mounts = run(boxes, kind, "cat /proc/self/mountinfo")
    uids = [boxes.get("pod", f"box-{other.name}")["metadata"]["uid"] for other in KINDS if other != kind]
    assert not any(uid in mounts for uid in uids)
    path = next(boxes.directory.glob(f"nodes/*/kubelet/pods/{uids[0]}/volumes/*/data"))
    assert "No such file" in run(boxes, kind, f"ls {path} /proc/1/root{path} || true")


def test_setuid_programs_give_no_privileges_where_that_is_off(boxes: RealCluster, kind: Kind) -> None:
    assert run(boxes, kind, "/data/id -u", "firm") == "1000\n"
    assert run(boxes, kind, "/data/id -u", "lenient") == "0\n", "the same program, where it is allowed"


def test_container_does_not_outlive_its_memory_limit(boxes: RealCluster, kind: Kind) -> None:
    (container,) = ended(boxes, f"hungry-{kind.name}")["containerStatuses"]
    assert container["state"]["terminated"]["reason"] == "OOMKilled"
    assert container["state"]["terminated"]["exitCode"] == 137


def test_executed_commands_have_the_oom_score_of_their_container(boxes: RealCluster, kind: Kind) -> None:
    """A BestEffort pod has 1000: the kernel kills a command of ``kubectl exec`` before the node's own."""
    assert run(boxes, kind, "cat /proc/self/oom_score_adj /proc/1/oom_score_adj").split() == ["1000", "1000"]


def test_container_does_not_fill_the_disk_unnoticed(boxes: RealCluster, kind: Kind) -> None:
    status = ended(boxes, f"greedy-{kind.name}")
    assert status["reason"] == "Evicted"
    assert "ephemeral local storage usage exceeds the total limit of containers 10Mi" in status["message"]


async def test_pod_does_not_exceed_its_process_limit(kind: Kind, tmp_path: Path) -> None:
    """``podPidsLimit`` of the kubelet is this limit of the pod's cgroup."""
    namespaces = NamespaceOptions(users=IdRange(first=65536)) if kind.own_users else NamespaceOptions()
    facts = detect.gather()
    choice = detect.choose(facts if kind.engine == "crun" else replace(facts, crun=""))
    assert choice.engine is not None
    assert choice.engine.name == kind.engine
    async with node(tmp_path / "node", choice) as here:
        sandbox = await here.pod(namespaces=namespaces, resources=LinuxResources(pids_limit=20))
        forks = "for n in $(seq 40); do sleep 3600 & done; echo all"
        container, said = await here.finish(sandbox, "sh", "-c", forks)
        assert container.exit_code != 0
        assert "can't fork" in said
        assert "all" not in said
