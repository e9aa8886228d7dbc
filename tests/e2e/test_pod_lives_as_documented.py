"""Lives of real pods: hooks, sidecars, restarts, admission by the node, deletion, preemption, taints."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import descriptions
from tests.support.clusters import RealCluster
from tests.support.images import busybox_archive
from tests.support.marked_pods import Plain, marked, pod, wait_for
from tests.support.registry import registry
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.root]

UNTIL_STOPPED = "trap 'exit 0' TERM; sleep 3600 & wait"
HOOKED = f"touch /marks/hooked-runs; {UNTIL_STOPPED}"
SOON = {"periodSeconds": 1, "failureThreshold": 1}


def shell(script: str) -> Plain:
    return {"exec": {"command": ["sh", "-c", script]}}


def pods(marks: Path) -> list[Plain]:
    work = [{"name": "work", "mountPath": "/work"}]
    hooked = marked("main", HOOKED, lifecycle={"postStart": shell(wait_for("hooked"))})
    ailing = marked(
        "main",
        f"trap 'exit 0' TERM; {wait_for('over')}; rm /marks/over",
        livenessProbe={**shell("[ ! -e /marks/ailing ]"), **SOON},
        lifecycle={"preStop": shell("rm /marks/ailing; echo left >>/marks/left")},
    )
    side = marked(
        "side",
        UNTIL_STOPPED,
        image="example.com/tool:1",
        restartPolicy="Always",
        mounts=work,
        lifecycle={"postStart": shell("echo hello >/work/greeting")},
        readinessProbe={**shell("[ -e /marks/aided ]"), **SOON},
    )
    aided = pod(
        "aided",
        marks,
        marked("main", f"cat /work/greeting; {UNTIL_STOPPED}", mounts=work),
        initContainers=[side],
        volumes=[{"name": "work", "emptyDir": {}}],
    )
    worded = marked("main", "", image="example.com/tool:1", args=["of", "the", "manifest"])
    del worded["command"]
    limits = {"resources": {"limits": {"memory": "32Mi"}}}
    fed = f"[ -e /marks/fed ] || {{ touch /marks/fed; exec tail /dev/zero; }}; {UNTIL_STOPPED}"
    kept = marked("main", f"ls /work; touch /work/mine; {UNTIL_STOPPED}", mounts=work)
    return [
        pod("hooked", marks, hooked),
        pod("ailing", marks, ailing),
        aided,
        pod("worded", marks, worded, restartPolicy="Never"),
        pod("again", marks, kept, volumes=[{"name": "work", "emptyDir": {}}]),
        pod("hungry", marks, marked("main", fed, **limits), marked("modest", UNTIL_STOPPED)),
        pod("brief", marks, marked("main", UNTIL_STOPPED)),
    ]


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def lived(
    cluster: RealCluster, marks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealCluster]:
    folder = tmp_path_factory.mktemp("images")
    for number in ("1", "2"):
        archive = busybox_archive(
            folder / number,
            f"example.com/tool:{number}",
            entrypoint=["echo", number],
            cmd=["of", "the", "image"],
        )
        assert cluster.podling("image load", str(archive)).code == 0
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods(marks)})
    cluster.kubectl("apply", "-f", "-", stdin=everything)
    try:
        yield cluster
    finally:
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--grace-period=1", stdin=everything)


def status(cluster: RealCluster, name: str) -> Plain:
    found: Plain = cluster.get("pod", name)["status"]
    return found


def wait(cluster: RealCluster, name: str, what: str) -> None:
    cluster.kubectl("wait", f"--for={what}", f"pod/{name}", "--timeout=60s")


def restarts(count: int) -> str:
    return f"jsonpath={{.status.containerStatuses[0].restartCount}}={count}"


def node_of(cluster: RealCluster) -> str:
    (node,) = cluster.get("nodes")["items"]
    name: str = node["metadata"]["name"]
    return name


def test_container_is_shown_running_only_after_its_post_start_hook(lived: RealCluster, marks: Path) -> None:
    until((marks / "hooked-runs").exists)
    (container,) = status(lived, "hooked")["containerStatuses"]
    assert container["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert status(lived, "hooked")["phase"] == "Pending"
    (marks / "hooked").touch()
    lived.wait_ready("hooked")
    (container,) = status(lived, "hooked")["containerStatuses"]
    assert container["state"]["running"]["startedAt"]


def test_pre_stop_hook_runs_before_a_failed_probe_ends_its_container(lived: RealCluster, marks: Path) -> None:
    """It does not run for a container that has ended by itself."""
    lived.wait_ready("ailing")
    (marks / "ailing").touch()
    wait(lived, "ailing", restarts(1))
    assert (marks / "left").read_text() == "left\n"
    lived.wait_ready("ailing")
    (marks / "over").touch()
    wait(lived, "ailing", restarts(2))
    assert (marks / "left").read_text() == "left\n"


def test_sidecar_has_hooks_and_probes_and_is_updated_alone(lived: RealCluster, marks: Path) -> None:
    """The pod is ready once its sidecar is; the sidecar's hook is over before the app starts."""
    wait(lived, "aided", "jsonpath={.status.containerStatuses[0].state.running}")
    before = status(lived, "aided")
    assert before["initContainerStatuses"][0]["ready"] is False
    assert {each["type"]: each["status"] for each in before["conditions"]}["Ready"] == "False"
    assert lived.kubectl("logs", "aided", "-c", "main") == "hello\n"
    (marks / "aided").touch()
    lived.wait_ready("aided")
    change = {"spec": {"initContainers": [{"name": "side", "image": "example.com/tool:2"}]}}
    lived.kubectl("patch", "pod", "aided", "-p", json.dumps(change))
    wait(lived, "aided", "jsonpath={.status.initContainerStatuses[0].restartCount}=1")
    after = status(lived, "aided")
    assert after["initContainerStatuses"][0]["image"] == "example.com/tool:2"
    (main,) = after["containerStatuses"]
    assert (main["restartCount"], main["containerID"]) == (0, before["containerStatuses"][0]["containerID"])


def test_container_beyond_its_memory_limit_is_restarted_alone(lived: RealCluster) -> None:
    wait(lived, "hungry", restarts(1))
    shown = descriptions.sections(lived.kubectl("describe", "pod", "hungry"))["Containers"]
    last = shown["main"]["Last State"]
    assert (last[""], last["Reason"], last["Exit Code"]) == ("Terminated", "OOMKilled", "137")
    assert (shown["modest"]["Restart Count"], "Last State" in shown["modest"]) == ("0", False)


@pytest.mark.skipif(not shutil.which("docker-registry"), reason="needs docker-registry")
def test_events_show_each_pull_of_an_image(cluster: RealCluster, tmp_path: Path) -> None:
    """With the policy Always, a restarted container looks for its image again."""
    archive = busybox_archive(tmp_path / "image", "example.com/pulled:1")
    with registry(tmp_path / "registry") as running:
        running.push(f"docker-archive:{archive}", "pulled:1")
        image = f"{running.address}/pulled:1"
        main = marked("main", "sleep 0.5; exit 1", image=image, imagePullPolicy="Always")
        cluster.apply(pod("pulled", tmp_path, main))
        try:
            wait(cluster, "pulled", restarts(1))
            until(lambda: seen(cluster, "pulled", "Started")[1] == 2)
            assert seen(cluster, "pulled", "Pulling") == (f'Pulling image "{image}"', 2)
            message, _ = seen(cluster, "pulled", "Pulled")
            took = r"(\d+(\.\d+)?(µs|ms|s))"
            assert re.fullmatch(
                f'Successfully pulled image "{image}" in {took} \\({took} including waiting\\).'
                r" Image size: \d+ bytes\.",
                message,
            )
        finally:
            cluster.kubectl("delete", "pod", "pulled", "--grace-period=1")


def seen(cluster: RealCluster, name: str, reason: str) -> tuple[str, int]:
    """Return the newest of the pod's events with this reason, and how often all of them occurred."""
    chosen = f"--field-selector=involvedObject.name={name},reason={reason}"
    found = cluster.get("events", chosen)["items"]
    return (found[-1]["message"] if found else ""), sum(each["count"] for each in found)


def test_arguments_of_the_pod_replace_those_of_the_image(lived: RealCluster) -> None:
    wait(lived, "worded", "jsonpath={.status.phase}=Succeeded")
    assert lived.kubectl("logs", "worded") == "1 of the manifest\n"


def test_replacement_of_the_same_name_has_another_uid_and_new_volumes(
    lived: RealCluster, marks: Path
) -> None:
    lived.wait_ready("again")
    before = lived.get("pod", "again")
    (manifest,) = (each for each in pods(marks) if each["metadata"]["name"] == "again")
    uid, node = before["metadata"]["uid"], before["spec"]["nodeName"]
    volumes = lived.directory / "nodes" / node / "kubelet" / "pods" / uid / "volumes"
    work = volumes / "kubernetes.io~empty-dir" / "work"
    assert [path.name for path in work.iterdir()] == ["mine"]
    lived.kubectl("delete", "pod", "again", "--grace-period=1")
    lived.apply(manifest)
    lived.wait_ready("again")
    after = lived.get("pod", "again")
    assert after["metadata"]["uid"] != uid
    until(lambda: not work.exists())
    assert lived.kubectl("logs", "again") == "", "the volume is empty when the container starts"
    assert lived.kubectl("exec", "again", "--", "ls", "/work") == "mine\n"
    for name in ("podIP", "podIPs", "hostIP", "startTime", "qosClass"):
        assert after["status"][name], name
    assert after["status"]["podIPs"][0] == {"ip": after["status"]["podIP"]}


def test_running_pod_gets_a_deadline_and_fails_at_it(lived: RealCluster) -> None:
    """The kubelet itself ends the pod: Failed, with reason and message; and the pod is kept."""
    lived.wait_ready("brief")
    lived.kubectl("patch", "pod", "brief", "-p", '{"spec": {"activeDeadlineSeconds": 1}}')
    wait(lived, "brief", "jsonpath={.status.phase}=Failed")
    found = status(lived, "brief")
    assert found["reason"] == "DeadlineExceeded"
    assert found["message"] == "Pod was active on the node longer than the specified deadline"
    refused = lived.try_kubectl("patch", "pod", "brief", "-p", '{"spec": {"activeDeadlineSeconds": 5}}')
    assert "must be less than or equal to previous value" in refused.err


REFUSED: list[tuple[str, Plain, str, str]] = [
    ("foreign", {"os": {"name": "windows"}}, "PodOSNotSupported", "the OS field doesn't match node OS"),
    ("picky", {"nodeSelector": {"no": "such"}}, "NodeAffinity", "Predicate NodeAffinity failed"),
    (
        "huge",
        {"resources": {"requests": {"cpu": "10000"}}},
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 10000000",
    ),
    (
        "unsafe",
        {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]}},
        "SysctlForbidden",
        'forbidden sysctl: "kernel.msgmax" not allowlisted',
    ),
]


@pytest.mark.parametrize(("name", "spec", "reason", "message"), REFUSED, ids=[each[0] for each in REFUSED])
def test_node_refuses_a_pod_that_does_not_belong_there(
    cluster: RealCluster, tmp_path: Path, name: str, spec: Plain, reason: str, message: str
) -> None:
    """The pod was bound past the scheduler; it fails, runs nothing, and stays until it is deleted."""
    cluster.apply(pod(name, tmp_path, marked("main", "true"), nodeName=node_of(cluster), **spec))
    try:
        wait(cluster, name, "jsonpath={.status.phase}=Failed")
        found = status(cluster, name)
        assert found["reason"] == reason
        assert message in found["message"]
        assert all("containerID" not in each for each in found.get("containerStatuses", ()))
    finally:
        cluster.kubectl("delete", "pod", name)


def test_forced_deletion_leaves_the_container_a_little_time(cluster: RealCluster, tmp_path: Path) -> None:
    script = "trap 'sleep 0.5; touch /marks/left; exit 0' TERM; touch /marks/runs; sleep 3600 & wait"
    cluster.apply(pod("forced", tmp_path, marked("main", script), terminationGracePeriodSeconds=600))
    until((tmp_path / "runs").exists)
    cluster.kubectl("delete", "pod", "forced", "--force", "--grace-period=0", "--wait=false")
    assert cluster.try_kubectl("get", "pod", "forced").code == 1
    until((tmp_path / "left").exists, 20)


def test_terminating_pod_counts_no_longer_for_its_replica_set(cluster: RealCluster, tmp_path: Path) -> None:
    """A replacement runs while the first pod still ends."""
    script = f"trap '{wait_for('end')}; exit 0' TERM; sleep 3600 & wait"
    made = pod("x", tmp_path, marked("main", script), terminationGracePeriodSeconds=60)
    labels = {"app": "team"}
    team = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "team"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": made["spec"]},
        },
    }
    cluster.apply(team)
    try:
        cluster.kubectl("wait", "--for=jsonpath={.status.readyReplicas}=1", "rs/team", "--timeout=60s")
        (first,) = cluster.get("pods", "-l", "app=team")["items"]
        cluster.kubectl("delete", "pod", first["metadata"]["name"], "--wait=false")
        until(lambda: len(cluster.get("pods", "-l", "app=team")["items"]) == 2)
        cluster.kubectl("wait", "--for=condition=Ready", "pod", "-l", "app=team", "--timeout=60s")
        old = cluster.get("pod", first["metadata"]["name"])
        assert old["metadata"]["deletionTimestamp"]
        assert cluster.get("rs", "team")["status"]["replicas"] == 1
    finally:
        (tmp_path / "end").touch()
        cluster.kubectl("delete", "rs", "team", "--cascade=foreground", timeout=60)


SLOT = "example.com/slot"


def test_preempted_pod_ends_gently_and_its_node_is_nominated(cluster: RealCluster, tmp_path: Path) -> None:
    """Both pods want the only slot of the node; the preStop hook of the victim runs."""
    node = node_of(cluster)
    patch_node(cluster, {SLOT: "1"})
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    amount = {"resources": {"requests": {SLOT: "1"}, "limits": {SLOT: "1"}}}
    victim = marked("main", UNTIL_STOPPED, lifecycle={"preStop": shell(wait_for("yield"))}, **amount)
    cluster.apply(high)
    try:
        cluster.apply(pod("victim", tmp_path, victim, terminationGracePeriodSeconds=60))
        cluster.wait_ready("victim")
        main = marked("main", UNTIL_STOPPED, **amount)
        cluster.apply(pod("winner", tmp_path, main, priorityClassName="high"))
        wait(cluster, "winner", f"jsonpath={{.status.nominatedNodeName}}={node}")
        ending = cluster.get("pod", "victim")
        assert ending["metadata"]["deletionTimestamp"]
        (target,) = (each for each in ending["status"]["conditions"] if each["type"] == "DisruptionTarget")
        assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
        assert status(cluster, "winner")["phase"] == "Pending"
        (tmp_path / "yield").touch()
        cluster.wait_ready("winner")
        assert cluster.try_kubectl("get", "pod", "victim").code == 1
    finally:
        (tmp_path / "yield").touch()
        names = ("pod/victim", "pod/winner", "priorityclass/high")
        cluster.kubectl("delete", *names, "--ignore-not-found", "--grace-period=1")
        patch_node(cluster, {SLOT: None})


def patch_node(cluster: RealCluster, amounts: dict[str, str | None]) -> None:
    patch = json.dumps({"status": {"capacity": amounts, "allocatable": amounts}})
    cluster.kubectl("patch", "node", node_of(cluster), "--subresource=status", "--type=merge", "-p", patch)


def test_pod_that_does_not_tolerate_a_taint_is_evicted(cluster: RealCluster, tmp_path: Path) -> None:
    node = node_of(cluster)
    taint = "example.com/repair=now:NoExecute"
    tolerant = {"key": "example.com/repair", "operator": "Exists"}
    cluster.apply(pod("stays", tmp_path, marked("main", UNTIL_STOPPED), tolerations=[tolerant]))
    script = f"trap '{wait_for('end')}; exit 0' TERM; sleep 3600 & wait"
    cluster.apply(pod("leaves", tmp_path, marked("main", script), terminationGracePeriodSeconds=60))
    try:
        for name in ("stays", "leaves"):
            cluster.wait_ready(name)
        cluster.kubectl("taint", "node", node, taint)
        wait(cluster, "leaves", "jsonpath={.metadata.deletionTimestamp}")
        found = cluster.get("pod", "leaves")
        assert found["metadata"]["deletionTimestamp"]
        (target,) = (each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget")
        assert target["reason"] == "DeletionByTaintManager"
        (tmp_path / "end").touch()
        wait(cluster, "leaves", "delete")
        assert "deletionTimestamp" not in cluster.get("pod", "stays")["metadata"]
    finally:
        (tmp_path / "end").touch()
        cluster.try_kubectl("taint", "node", node, f"{taint}-")
        cluster.kubectl("delete", "pod", "stays", "leaves", "--ignore-not-found", "--grace-period=1")


def test_services_are_in_the_environment_of_later_containers(cluster: RealCluster, tmp_path: Path) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "management"},
        "spec": {"ports": [{"port": 8080}]},
    }
    cluster.apply(service)
    try:
        cluster.apply(pod("client", tmp_path, marked("main", UNTIL_STOPPED)))
        cluster.wait_ready("client")
        script = "echo $MANAGEMENT_SERVICE_HOST $MANAGEMENT_SERVICE_PORT"
        said = cluster.kubectl("exec", "client", "--", "sh", "-c", script).split()
        assert said == [cluster.get("service", "management")["spec"]["clusterIP"], "8080"]
    finally:
        cluster.kubectl(
            "delete", "service/management", "pod/client", "--ignore-not-found", "--grace-period=1"
        )
