"""Statements of Kubernetes' documentation about containers, hooks, init containers and forced deletion."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import RealCluster, shell_pod
from tests.support.images import busybox_tree, configuration, docker_archive
from tests.support.pod_processes import kill_process_namespace, wait_until_gone

pytestmark = [pytest.mark.e2e, pytest.mark.root]

Plain = dict[str, Any]
IMAGE = "podling.local/host"
UNTIL_STOPPED = "trap 'exit 0' TERM; while :; do sleep 0.1; done"


def container(name: str, script: str, **more: Any) -> Plain:
    common = {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent"}
    return {**common, "command": ["sh", "-c", script], **more}


HOOK = 'cat /proc/self/cgroup >/tmp/hook; echo "$0 $#" >/tmp/arguments; echo whispered'
IDENTITY = (
    "id -u >/work/second; "
    "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null >>/work/second"
)
MOUNTS = [{"name": "work", "mountPath": "/work"}]
KEY = {"name": "key", "mountPath": "/key"}
PODS: tuple[Plain, ...] = (
    shell_pod(
        "neighbours",
        f"echo mine >/dev/shm/note; echo hello >/work/x; busybox httpd -p 127.0.0.1:8080 -h /work;"
        f" {UNTIL_STOPPED}",
        container={"volumeMounts": MOUNTS},
        volumes=[
            {"name": "work", "persistentVolumeClaim": {"claimName": "work"}},
            {"name": "key", "secret": {"secretName": "key"}},
        ],
        initContainers=[
            container("fetch", "sleep 0.5; cat /key/word >/work/fetched", volumeMounts=[*MOUNTS, KEY]),
            container(
                "side",
                f'echo "$(cat /work/fetched) from the sidecar" >/work/side; {UNTIL_STOPPED}',
                restartPolicy="Always",
                volumeMounts=MOUNTS,
            ),
        ],
    ),
    shell_pod("stranger", UNTIL_STOPPED),
    shell_pod(
        "hooked",
        f"echo spoken; {UNTIL_STOPPED}",
        container={"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", HOOK]}}}},
    ),
    shell_pod(
        "prepared",
        f"cat /work/log; {UNTIL_STOPPED}",
        container={"volumeMounts": MOUNTS},
        shareProcessNamespace=True,
        volumes=[{"name": "work", "emptyDir": {}}, {"name": "key", "secret": {"secretName": "key"}}],
        initContainers=[
            container(
                "first",
                "readlink /proc/self/ns/net >/work/net; echo first says so; cat /key/word >>/work/log;"
                " echo >>/work/log; test ! -e /own; touch /own",
                volumeMounts=[*MOUNTS, KEY],
            ),
            container(
                "second",
                f"echo second says so; test ! -e /own; {IDENTITY}; true",
                volumeMounts=MOUNTS,
                securityContext={"runAsUser": 1000},
                resources={"limits": {"memory": "64Mi"}},
            ),
        ],
    ),
    shell_pod("stubborn", "trap '' TERM; while :; do sleep 0.1; done", terminationGracePeriodSeconds=600),
)
PODS[0]["spec"]["containers"].append(container("other", UNTIL_STOPPED, volumeMounts=MOUNTS))
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "key"},
    "stringData": {"word": "sesame"},
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "work"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
}


@pytest.fixture(scope="module")
def pods(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with every pod Ready."""
    for each in (SECRET, CLAIM, *PODS):
        cluster.apply(each)
    names = [f"pod/{pod['metadata']['name']}" for pod in PODS]
    cluster.kubectl("wait", "--for=condition=Ready", *names, "--timeout=60s")
    try:
        yield cluster
    finally:
        kept = ("secret/key", "pvc/work")
        cluster.kubectl("delete", *names, *kept, "--ignore-not-found", "--grace-period=1")


def test_containers_of_a_pod_reach_each_other_on_localhost(pods: RealCluster) -> None:
    """A pod has one address and one set of ports; another pod has its own."""
    ask = ("wget", "-qO-", "http://localhost:8080/x")
    assert pods.kubectl("exec", "neighbours", "-c", "other", "--", *ask) == "hello\n"
    refused = pods.try_kubectl("exec", "stranger", "--", "wget", "-O-", ask[-1])
    assert "refused" in refused.err
    addresses = {pods.get("pod", name)["status"]["podIP"] for name in ("neighbours", "stranger")}
    assert len(addresses) == 2


def test_containers_and_sidecars_share_volumes_and_network(pods: RealCluster) -> None:
    """The server serves the files that the sidecar writes to the volume, which is a claim; each reads the
    other's files. The sidecar began after the init container before it in the list."""
    ask = ("wget", "-qO-", "http://localhost:8080/side")
    for name in ("side", "other"):
        assert pods.kubectl("exec", "neighbours", "-c", name, "--", *ask) == "sesame from the sidecar\n"
        assert pods.kubectl("exec", "neighbours", "-c", name, "--", "cat", "/work/x") == "hello\n"


def test_shared_memory_ends_at_the_pod(pods: RealCluster) -> None:
    """POSIX memory is visible to the pod's other container only; System V memory has the same namespace."""
    look = ("cat", "/dev/shm/note")
    assert pods.kubectl("exec", "neighbours", "-c", "other", "--", *look) == "mine\n"
    assert pods.try_kubectl("exec", "stranger", "--", *look).code != 0
    places = (("neighbours", "main"), ("neighbours", "other"), ("stranger", "main"))
    one, two, strange = (
        pods.kubectl("exec", name, "-c", container, "--", "readlink", "/proc/self/ns/ipc")
        for name, container in places
    )
    assert one == two
    assert one != strange


def test_hook_runs_in_its_containers_cgroup_and_is_not_logged(pods: RealCluster) -> None:
    """Its resource use counts as the container's; its output is in no log."""
    assert pods.kubectl("exec", "hooked", "--", "cmp", "/tmp/hook", "/proc/1/cgroup") == ""
    assert pods.kubectl("exec", "hooked", "--", "cat", "/tmp/arguments") == "sh 0\n"
    assert pods.kubectl("logs", "hooked") == "spoken\n"


def test_init_containers_have_their_own_user_and_limits(pods: RealCluster) -> None:
    found = pods.kubectl("exec", "prepared", "--", "cat", "/work/second").split()
    assert found == ["1000", str(64 << 20)]
    assert pods.kubectl("exec", "prepared", "--", "id", "-u") == "0\n"


def test_init_containers_prepare_with_what_the_app_cannot_see(pods: RealCluster) -> None:
    """They have their own files and secrets, and the network of the app, which reads their files in a volume;
    their logs stay."""
    network = pods.kubectl("exec", "prepared", "--", "cat", "/work/net")
    assert pods.kubectl("exec", "prepared", "--", "readlink", "/proc/self/ns/net") == network
    assert pods.kubectl("logs", "prepared").splitlines()[0] == "sesame"
    assert "/key/word: No such file" in pods.try_kubectl("exec", "prepared", "--", "cat", "/key/word").err
    for name in ("first", "second"):
        assert pods.kubectl("logs", "prepared", "-c", name) == f"{name} says so\n"


def test_init_containers_run_again_in_a_new_sandbox_and_find_what_they_wrote(pods: RealCluster) -> None:
    """The volume belongs to the pod and outlives its sandbox: a second run finds the first one's line."""
    pod = pods.get("pod", "prepared")
    kill_process_namespace(pod["metadata"]["uid"])
    pods.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/prepared")
    pods.wait_ready("prepared")
    after = pods.get("pod", "prepared")
    assert [status["restartCount"] for status in after["status"]["initContainerStatuses"]] == [1, 1]
    assert after["metadata"]["uid"] == pod["metadata"]["uid"]
    assert pods.kubectl("exec", "prepared", "--", "cat", "/work/log").split() == ["sesame", "sesame"]


def test_the_image_names_the_signal_that_ends_it(pods: RealCluster, tmp_path: Path) -> None:
    layer = busybox_tree().tar()
    script = "trap 'echo asked by USR1; exit 0' USR1; trap '' TERM; while :; do sleep 0.1; done"
    config = configuration([layer], cmd=["sh", "-c", script], StopSignal="SIGUSR1")
    archive = docker_archive(tmp_path / "image.tar", "example.com/own-signal:1", [layer], config)
    assert pods.podling("image load", str(archive)).code == 0
    manifest = shell_pod("own-signal", "", image="example.com/own-signal:1", terminationGracePeriodSeconds=60)
    del manifest["spec"]["containers"][0]["command"]
    pods.apply(manifest)
    pods.wait_ready("own-signal")
    follow = subprocess.Popen(
        pods.kubectl_command("logs", "-f", "own-signal"), stdout=subprocess.PIPE, text=True
    )
    with follow:
        pods.kubectl("delete", "pod", "own-signal", "--timeout=30s")
        assert follow.stdout is not None
        assert follow.stdout.read() == "asked by USR1\n"


def test_forced_deletion_frees_the_name_before_the_grace_period(pods: RealCluster) -> None:
    """The pod ignores SIGTERM for ten minutes of grace; a new pod of the name runs long before that."""
    before = pods.get("pod", "stubborn")["metadata"]["uid"]
    done = pods.try_kubectl("delete", "pod", "stubborn", "--grace-period=0", "--force", "--wait=false")
    assert "Immediate deletion does not wait for confirmation" in done.err
    pods.apply(shell_pod("stubborn", UNTIL_STOPPED))
    pods.wait_ready("stubborn")
    assert pods.get("pod", "stubborn")["metadata"]["uid"] != before
    assert wait_until_gone(before, 10), "something of the old pod still runs"
