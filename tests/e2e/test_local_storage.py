"""Local storage of real pods: evictions of those above a limit, paths of the node, groups of volumes."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

Plain = dict[str, Any]
UNTIL_STOPPED = "trap 'exit 3' TERM; sleep 3600 & wait"
"""Ends with an error: an evicted pod whose containers all end well has succeeded."""
FILL = "dd if=/dev/zero bs=1M count=4 2>/dev/null"


def filler(name: str, script: str, *, limit: str = "", **spec: Any) -> Plain:
    """Return a pod with a second container that does nothing, and with a limit of its storage."""
    limits = {"limits": {"ephemeral-storage": limit}} if limit else {}
    found = shell_pod(
        name, f"{script}; {UNTIL_STOPPED}", container={"resources": limits}, restartPolicy="Never", **spec
    )
    main = found["spec"]["containers"][0]
    other = {**main, "name": "other", "command": ["sh", "-c", UNTIL_STOPPED], "resources": limits}
    found["spec"]["containers"].append({key: other[key] for key in other if key != "volumeMounts"})
    return found


def mounted(pod: Plain, path: str, **volume: Any) -> Plain:
    """Return the pod with a volume in its first container."""
    main = pod["spec"]["containers"][0]
    main["volumeMounts"] = [{"name": "data", "mountPath": path}]
    pod["spec"]["volumes"] = [{"name": "data", **volume}]
    return pod


SCRATCH = mounted(filler("scratch", f"{FILL} of=/scratch/zeros"), "/scratch", emptyDir={"sizeLimit": "1Mi"})
LOG = filler("log", f"{FILL} | tr '\\0' '\\n'", limit="1Mi")
LAYER = filler("layer", f"{FILL} of=/zeros", limit="1Mi")
TOGETHER = filler("together", f"{FILL} of=/zeros", limit="3Mi")


def replaced(marks: Path) -> Plain:
    """Return a ReplicaSet; its first pod exceeds a limit, the next one does not."""
    script = f"if mkdir /marks/first 2>/dev/null; then {FILL} of=/zeros; fi; {UNTIL_STOPPED}"
    pod = shell_pod("x", script, container={"resources": {"limits": {"ephemeral-storage": "1Mi"}}})
    mounted(pod, "/marks", hostPath={"path": str(marks), "type": "Directory"})
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "replaced"},
        "spec": {
            "selector": {"matchLabels": {"app": "replaced"}},
            "template": {"metadata": {"labels": {"app": "replaced"}}, "spec": pod["spec"]},
        },
    }


@pytest.fixture(scope="module")
def full(cluster: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """The shared cluster with pods that exceed a limit each."""
    pods = [SCRATCH, LOG, LAYER, TOGETHER, replaced(tmp_path_factory.mktemp("marks"))]
    everything = {"apiVersion": "v1", "kind": "List", "items": pods}
    cluster.apply(everything)
    try:
        yield cluster
    finally:
        cluster.kubectl("delete", "-f", "-", "--grace-period=1", stdin=json.dumps(everything), timeout=60)


TOTAL = "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. "


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scratch", 'Usage of EmptyDir volume "data" exceeds the limit "1Mi". '),
        ("log", TOTAL),
        ("layer", TOTAL),
        ("together", 'Container main exceeded its local ephemeral storage limit "3Mi". '),
    ],
)
def test_pod_that_exceeds_its_storage_is_evicted_with_all_containers(
    full: RealCluster, name: str, message: str
) -> None:
    full.kubectl("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Failed", "--timeout=60s")
    status = full.get("pod", name)["status"]
    assert (status["reason"], status["message"]) == ("Evicted", message)
    for number in (0, 1):
        ended = f"--for=jsonpath={{.status.containerStatuses[{number}].state.terminated.reason}}"
        full.kubectl("wait", f"pod/{name}", ended, "--timeout=30s")


def test_evicted_pod_is_kept_and_its_controller_makes_another(full: RealCluster) -> None:
    def phases() -> list[str]:
        pods = full.get("pods", "-l", "app=replaced")["items"]
        return sorted(each["status"]["phase"] for each in pods)

    until(lambda: phases() == ["Failed", "Running"])
    ready = "--for=jsonpath={.status.readyReplicas}=1"
    full.kubectl("wait", "replicaset/replaced", ready, "--timeout=60s")
    (old,) = [p for p in full.get("pods", "-l", "app=replaced")["items"] if p["status"]["phase"] == "Failed"]
    assert old["status"]["reason"] == "Evicted"


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until the condition holds."""
    deadline = clock.monotonic() + seconds
    while not holds():
        assert clock.monotonic() < deadline, "it does not hold in time"


def test_paths_of_the_node_have_the_type_that_the_pod_names(cluster: RealCluster, tmp_path: Path) -> None:
    """One pod mounts a path of each type; those of another type keep their pods waiting, with the reason."""
    (tmp_path / "file").write_text("content")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        right = {
            "Directory": tmp_path,
            "DirectoryOrCreate": tmp_path / "made/below",
            "File": tmp_path / "file",
            "FileOrCreate": tmp_path / "made-file",
            "Socket": tmp_path / "socket",
            "CharDevice": Path("/dev/null"),
            "": tmp_path / "untyped",
        }
        wrong = {
            "Directory": (tmp_path / "file", "directory"),
            "File": (tmp_path, "file"),
            "Socket": (tmp_path / "file", "socket file"),
            "CharDevice": (tmp_path / "file", "character device"),
            "BlockDevice": (Path("/dev/null"), "block device"),
        }
        kinds = list(right.items())
        good = shell_pod("right", UNTIL_STOPPED)
        good["spec"]["volumes"] = [
            {"name": f"v{n}", "hostPath": {"path": str(path), "type": kind}}
            for n, (kind, path) in enumerate(kinds)
        ]
        good["spec"]["containers"][0]["volumeMounts"] = [
            {"name": f"v{n}", "mountPath": f"/v/{n}"} for n in range(len(kinds))
        ]
        bad = [
            mounted(
                shell_pod(f"wrong-{kind.lower()}", "true"),
                "/v",
                hostPath={"path": str(path), "type": kind},
            )
            for kind, (path, _) in wrong.items()
        ]
        everything = {"apiVersion": "v1", "kind": "List", "items": [good, *bad]}
        cluster.apply(everything)
        try:
            cluster.wait_ready("right")
            script = "cd /v; for f in *; do stat -c %F $f; done; cat 2; test -S 4 && test -c 5"
            said = cluster.kubectl("exec", "right", "--", "sh", "-c", script).splitlines()
            assert said == [
                "directory",
                "directory",
                "regular file",
                "regular empty file",
                "socket",
                "character special file",
                "directory",
                "content",
            ]
            for kind, (path, noun) in wrong.items():
                text = f"hostPath type check failed: {path} is not a {noun}"
                until(partial(has_event, cluster, f"wrong-{kind.lower()}", text))
        finally:
            cluster.kubectl("delete", "-f", "-", "--grace-period=1", stdin=json.dumps(everything), timeout=60)


def has_event(cluster: RealCluster, pod: str, text: str) -> bool:
    """Return whether an event of the pod has the text in its message."""
    selector = f"--field-selector=involvedObject.name={pod},reason=FailedMount"
    return any(text in each["message"] for each in cluster.get("events", selector)["items"])


def user_of(claim: str, name: str, policy: str) -> Plain:
    security = {"fsGroup": 2000, "fsGroupChangePolicy": policy}
    pod = shell_pod(name, UNTIL_STOPPED, securityContext=security)
    return mounted(pod, "/data", persistentVolumeClaim={"claimName": claim})


def test_group_of_a_volume_is_changed_as_the_policy_says(cluster: RealCluster) -> None:
    """With OnRootMismatch a volume whose top has the group is left as it is; with Always all files get it."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "grouped"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "sized",
            "resources": {"requests": {"storage": "8Mi"}},
        },
    }
    cluster.apply(claim)
    groups = []
    try:
        for number, policy in enumerate(("Always", "OnRootMismatch", "Always")):
            name = f"grouped-{number}"
            cluster.apply(user_of("grouped", name, policy))
            cluster.wait_ready(name)
            script = "stat -c %g /data; touch /data/f; stat -c %g /data/f; chgrp 3000 /data/f"
            groups.append(cluster.kubectl("exec", name, "--", "sh", "-c", script).split())
            cluster.kubectl("delete", "pod", name, "--grace-period=1", "--wait", timeout=60)
    finally:
        names = [f"pod/grouped-{number}" for number in range(3)]
        cluster.kubectl("delete", *names, "pvc/grouped", "--ignore-not-found", "--grace-period=1", timeout=60)
    assert groups == [["2000", "2000"], ["2000", "3000"], ["2000", "2000"]]
