"""The real kubectl against a real cluster, verb by verb: a user's first day."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SERVE = "echo started; trap 'echo bye; exit 0' TERM; while true; do sleep 0.1; done"


@pytest.fixture(scope="module")
def pod(cluster: RealCluster) -> Iterator[str]:
    """A Ready pod that all tests of the file read and none changes."""
    manifest = shell_pod("reader", SERVE)
    manifest["metadata"]["labels"] = {"app": "reader", "tier": "web"}
    cluster.apply(manifest)
    cluster.wait_ready("reader")
    yield "reader"
    cluster.kubectl("delete", "pod", "reader", "--wait=true")


def test_version_and_cluster_info(cluster: RealCluster) -> None:
    version = json.loads(cluster.kubectl("version", "-o", "json"))
    assert version["serverVersion"]["major"] == "1"
    assert version["serverVersion"]["minor"] == "36"
    assert "Kubernetes control plane" in cluster.kubectl("cluster-info")


def test_api_resources_and_versions(cluster: RealCluster) -> None:
    table = cluster.kubectl("api-resources", "-o", "wide")
    pods = next(line for line in table.splitlines() if line.startswith("pods "))
    assert pods.split()[1:5] == ["po", "v1", "true", "Pod"]
    assert "create,delete,deletecollection,get,list,patch,update,watch" in pods
    assert "apps/v1" in cluster.kubectl("api-versions").splitlines()


def test_explain_shows_fields(cluster: RealCluster) -> None:
    text = cluster.kubectl("explain", "pod.spec.containers")
    assert "KIND:       Pod" in text
    assert "FIELD: containers <[]Container>" in text
    assert "imagePullPolicy" in text
    assert "-required-" in text
    policies = cluster.kubectl("explain", "pod.spec.restartPolicy")
    assert "FIELD: restartPolicy <string>" in policies
    assert "Always, OnFailure, Never" in " ".join(policies.split())
    assert 'Possible enum values: - `"Always"` - `"Never"` - `"OnFailure"`' in " ".join(policies.split())
    phases = " ".join(cluster.kubectl("explain", "pod.status.phase").split())
    assert "FIELD: phase <string>" in phases
    names = ("Failed", "Pending", "Running", "Succeeded", "Unknown")
    assert " ".join(f'- `"{name}"`' for name in names) in phases
    assert "phase <string>" in cluster.kubectl("explain", "pod.status").replace("\t", " ")
    assert "FIELD: replicas <integer>" in cluster.kubectl("explain", "deployment.spec.replicas")


def test_get_in_every_output(cluster: RealCluster, pod: str) -> None:
    header, row = cluster.kubectl("get", "pod", pod).splitlines()
    assert header.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:4] == [pod, "1/1", "Running", "0"]
    header, row = cluster.kubectl("get", "pod", pod, "-o", "wide").splitlines()
    assert header.split()[5:7] == ["IP", "NODE"]
    assert "READINESS GATES" in header
    assert row.split()[-2:] == ["<none>", "<none>"]
    assert f"name: {pod}" in cluster.kubectl("get", "pod", pod, "-o", "yaml")
    assert cluster.get("pod", pod)["status"]["phase"] == "Running"
    assert cluster.kubectl("get", "pod", pod, "-o", "jsonpath={.status.phase}") == "Running"
    columns = cluster.kubectl("get", "pod", pod, "-o", "custom-columns=N:.metadata.name,P:.status.phase")
    assert columns.splitlines()[1].split() == [pod, "Running"]
    assert cluster.kubectl("get", "pod", pod, "-o", "name").strip() == f"pod/{pod}"


def test_get_all_namespaces_and_selectors(cluster: RealCluster, pod: str) -> None:
    assert "default" in cluster.kubectl("get", "pods", "-A").splitlines()[1]
    assert pod in cluster.kubectl("get", "pods", "-l", "app=reader,tier in (web,db)", "-o", "name")
    assert cluster.kubectl("get", "pods", "-l", "app!=reader", "-o", "name") == ""
    assert pod in cluster.kubectl("get", "pods", "--field-selector", "status.phase=Running", "-o", "name")
    refused = cluster.try_kubectl("get", "pods", "--field-selector", "spec.nonsense=1")
    assert refused.code == 1
    assert "field label not supported: spec.nonsense" in refused.err


def test_watch_shows_a_pod_come_and_go(cluster: RealCluster) -> None:
    watch = subprocess.Popen(
        [
            "kubectl",
            "--kubeconfig",
            str(cluster.kubeconfig),
            "get",
            "pods",
            "--watch",
            "-l",
            "app=watched",
        ],
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        manifest = shell_pod("watched", SERVE)
        manifest["metadata"]["labels"] = {"app": "watched"}
        cluster.apply(manifest)
        assert read_until(watch, "Running")
        cluster.kubectl("delete", "pod", "watched", "--wait=false")
        assert read_until(watch, "Terminating")
    finally:
        watch.terminate()
        watch.communicate()
    cluster.kubectl("wait", "--for=delete", "pod/watched", "--timeout=30s")


def test_describe_shows_pod_and_node(cluster: RealCluster, pod: str) -> None:
    text = cluster.kubectl("describe", "pod", pod)
    for reason in ("Scheduled", "Pulled", "Created", "Started"):
        assert reason in text, text
    assert "Successfully assigned default/reader to" in text
    assert "Ready                       True" in text
    node = cluster.kubectl("get", "nodes", "-o", "name").strip()
    text = cluster.kubectl("describe", node)
    assert "KubeletReady" in text
    assert "kubelet is posting ready status" in text
    parts = ("Labels", "Lease", "Conditions", "Addresses", "Capacity", "Allocatable", "System Info")
    for part in (*parts, "Non-terminated Pods", "Allocated resources"):
        assert f"\n{part}:" in text, text


def test_create_apply_replace_and_delete(cluster: RealCluster, tmp_path: Path) -> None:
    assert cluster.kubectl("create", "configmap", "made", "--from-literal=a=1") == "configmap/made created\n"
    again = cluster.try_kubectl("create", "configmap", "made", "--from-literal=a=1")
    assert again.code == 1
    assert 'configmaps "made" already exists' in again.err

    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
    path = tmp_path / "map.json"
    for data, said in (({"a": "1"}, "created"), ({"a": "1"}, "unchanged"), ({"b": "2"}, "configured")):
        path.write_text(json.dumps(manifest | {"data": data}))
        assert cluster.kubectl("apply", "-f", str(path)) == f"configmap/applied {said}\n"
    assert cluster.get("configmap", "applied")["data"] == {"b": "2"}, (
        "apply removes what the manifest dropped"
    )
    path.write_text(json.dumps(manifest | {"data": {"c": "3"}}))
    assert cluster.kubectl("replace", "-f", str(path)) == "configmap/applied replaced\n"
    assert cluster.get("configmap", "applied")["data"] == {"c": "3"}
    assert cluster.kubectl("delete", "configmap", "made", "applied").count("deleted") == 2


def test_patch_in_three_ways(cluster: RealCluster) -> None:
    cluster.apply(shell_pod("patched", SERVE))
    strategic = {"spec": {"containers": [{"name": "main", "image": "podling.local/host:latest"}]}}
    patches = {
        "strategic": json.dumps(strategic),
        "merge": json.dumps({"metadata": {"labels": {"by": "merge"}}}),
        "json": json.dumps([{"op": "add", "path": "/metadata/labels/also", "value": "json"}]),
    }
    for kind, patch in patches.items():
        assert "patched" in cluster.kubectl("patch", "pod", "patched", "--type", kind, "-p", patch)
    stored = cluster.get("pod", "patched")
    assert stored["metadata"]["labels"] == {"by": "merge", "also": "json"}
    assert stored["spec"]["containers"][0]["image"] == "podling.local/host:latest"
    assert stored["spec"]["containers"][0]["command"], "a strategic merge keeps what the patch does not name"
    cluster.kubectl("delete", "pod", "patched", "--now")


def test_edit_label_and_annotate(cluster: RealCluster) -> None:
    cluster.kubectl("create", "configmap", "edited", "--from-literal=colour=red")
    done = subprocess.run(
        ["kubectl", "--kubeconfig", str(cluster.kubeconfig), "edit", "configmap", "edited"],
        env=os.environ | {"KUBE_EDITOR": "sed -i s/red/blue/"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "edited" in done.stdout
    assert cluster.get("configmap", "edited")["data"] == {"colour": "blue"}
    cluster.kubectl("label", "configmap", "edited", "shade=dark")
    cluster.kubectl("annotate", "configmap", "edited", "why=test")
    refused = cluster.try_kubectl("label", "configmap", "edited", "shade=light")
    assert refused.code == 1
    cluster.kubectl("label", "configmap", "edited", "shade-")
    metadata = cluster.get("configmap", "edited")["metadata"]
    assert "labels" not in metadata
    assert metadata["annotations"]["why"] == "test"
    cluster.kubectl("delete", "configmap", "edited")


def test_logs_and_follow(cluster: RealCluster, pod: str) -> None:
    assert cluster.kubectl("logs", pod) == "started\n"
    stamped = cluster.kubectl("logs", pod, "--timestamps")
    assert stamped.split()[0].endswith("Z")
    cluster.apply(
        shell_pod("talker", "for i in 1 2 3; do echo line $i; sleep 0.2; done", restartPolicy="Never")
    )
    cluster.kubectl("wait", "--for=jsonpath={.status.startTime}", "pod/talker", "--timeout=30s")
    cluster.kubectl(
        "wait", "--for=jsonpath={.status.containerStatuses[0].containerID}", "pod/talker", "--timeout=30s"
    )
    assert cluster.kubectl("logs", "-f", "talker") == "line 1\nline 2\nline 3\n"
    assert cluster.kubectl("logs", "talker", "--tail=1") == "line 3\n"
    assert cluster.kubectl("logs", "talker", "--limit-bytes=4") == "line"
    cluster.kubectl("delete", "pod", "talker")


def test_exec_without_and_with_a_terminal(cluster: RealCluster, pod: str) -> None:
    assert cluster.kubectl("exec", pod, "--", "echo", "hi") == "hi\n"
    assert cluster.kubectl("exec", "-i", pod, "--", "cat", stdin="through\n") == "through\n"
    failed = cluster.try_kubectl("exec", pod, "--", "sh", "-c", "echo oops >&2; exit 7")
    assert failed.code == 7
    assert failed.err.startswith("oops\n")
    assert "command terminated with exit code 7" in failed.err
    seen = in_terminal(cluster, ["exec", "-it", pod, "--", "sh"], "tty && echo still-$((40+2))\nexit 3\n")
    assert "/dev/pts/0" in seen
    assert "still-42" in seen


def test_exec_where_nothing_runs(cluster: RealCluster) -> None:
    """The kubelet refuses both kinds of streams, and kubectl shows the kubelet's message."""
    cluster.apply(shell_pod("empty", "true", image="nowhere.invalid/none:1"))
    cluster.kubectl("wait", "pod/empty", "--for=condition=PodScheduled", "--timeout=30s")
    refused = cluster.try_kubectl("exec", "empty", "--", "true")
    assert refused.err.endswith('error: unable to upgrade connection: container not found ("main")\n')
    cluster.kubectl("delete", "pod", "empty", "--now")


def test_attach_shows_output(cluster: RealCluster) -> None:
    manifest = shell_pod("attached", "read line; echo got $line; sleep 30", container={"stdin": True})
    cluster.apply(manifest)
    cluster.wait_ready("attached")
    seen = in_terminal(cluster, ["attach", "-i", "attached"], "word\n", until="got word")
    assert "got word" in seen
    cluster.kubectl("delete", "pod", "attached", "--now")


def test_delete_with_grace_and_by_force(cluster: RealCluster) -> None:
    """Without ``--force``, a grace period of 0 is one of a second."""
    for grace, recorded in (("1", "1"), ("0", "1")):
        cluster.apply(shell_pod("stubborn", "trap '' TERM; while true; do sleep 0.1; done"))
        cluster.wait_ready("stubborn")
        seconds = "-ojsonpath={.metadata.deletionGracePeriodSeconds}{'\\n'}"
        watch = subprocess.Popen(
            cluster.kubectl_command("get", "pod", "stubborn", "--watch", seconds),
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        try:
            assert read_until(watch, "")
            cluster.kubectl("delete", "pod", "stubborn", f"--grace-period={grace}", "--timeout=20s")
            assert read_until(watch, recorded)
        finally:
            watch.terminate()
            watch.communicate()
    cluster.apply(shell_pod("forced", "trap '' TERM; while true; do sleep 0.1; done"))
    cluster.wait_ready("forced")
    done = cluster.try_kubectl("delete", "pod", "forced", "--force", "--grace-period=0")
    assert done.code == 0
    assert "force deleted" in done.out
    assert cluster.try_kubectl("get", "pod", "forced").code == 1


def test_wait_and_events(cluster: RealCluster, pod: str) -> None:
    assert "condition met" in cluster.kubectl("wait", "--for=condition=Ready", f"pod/{pod}")
    assert "condition met" in cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{pod}")
    late = cluster.try_kubectl("wait", "--for=condition=Ready=false", f"pod/{pod}", "--timeout=1s")
    assert late.code == 1
    events = cluster.kubectl("events", "--for", f"pod/{pod}")
    assert "Scheduled" in events
    assert "Started" in events


def test_auth_shows_user_and_rights(cluster: RealCluster) -> None:
    assert cluster.kubectl("auth", "can-i", "create", "pods").strip() == "yes"
    refused = cluster.try_kubectl(
        "auth", "can-i", "delete", "nodes", "--as=system:serviceaccount:default:default"
    )
    assert refused.out.strip() == "no"
    assert "system:masters" in cluster.kubectl("auth", "whoami")


def read_until(process: subprocess.Popen[bytes], word: str, seconds: float = 60) -> bool:
    """Read the process' lines, which nothing buffers, until one has ``word``; return False when none came
    in time."""
    assert process.stdout
    while select.select([process.stdout], [], [], seconds)[0]:
        line = process.stdout.readline()
        if not line:
            return False
        if word.encode() in line:
            return True
    return False


def in_terminal(cluster: RealCluster, arguments: list[str], keys: str, *, until: str = "") -> str:
    """Run kubectl in a terminal of its own, type ``keys``, and return all that it showed."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        ["kubectl", "--kubeconfig", str(cluster.kubeconfig), *arguments],
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        start_new_session=True,
    )
    os.close(secondary)
    os.write(primary, keys.encode())
    seen = b""
    try:
        while select.select([primary], [], [], 30)[0]:
            try:
                chunk = os.read(primary, 4096)
            except OSError:  # the terminal's other side was closed: kubectl ended
                break
            seen += chunk
            if not chunk or (until and until.encode() in seen):
                break
    finally:
        process.kill()
        process.wait()
        os.close(primary)
    return seen.decode(errors="replace")
