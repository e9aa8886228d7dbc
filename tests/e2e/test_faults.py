"""A broken image, a full disk, a runtime that hangs: its pod reports the reason, other pods go on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from podling.node.machine import node_names
from podling.runtime.oci.host import birth
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.disks import fill
from tests.support.images import Tree, busybox_archive, busybox_tree, configuration, docker_archive
from tests.support.registry import registry

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

SERVE = "trap 'exit 0' TERM; while true; do sleep 0.1; done"
WAITING = "{.status.containerStatuses[0].state.waiting.reason}"


def bystander(cluster: RealCluster, name: str = "bystander") -> Callable[[], None]:
    """Start a pod unrelated to the fault; call the result to check that it was not affected."""
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    cluster.apply(shell_pod(name, SERVE, container={"readinessProbe": probe}))
    cluster.wait_ready(name)
    before = cluster.get("pod", name)["status"]

    def unmoved() -> None:
        assert cluster.get("pod", name)["status"] == before
        assert cluster.kubectl("exec", name, "--", "echo", "here") == "here\n"
        # Not only running pods: a new pod starts as usual, too.
        cluster.apply(shell_pod(f"{name}-later", SERVE))
        cluster.wait_ready(f"{name}-later")
        cluster.kubectl("delete", "pod", name, f"{name}-later", "--now")

    return unmoved


def truncated(path: Path) -> Path:
    """Return an archive that was not copied to its end."""
    busybox_archive(path, "docker.io/library/broken:1")
    os.truncate(path, path.stat().st_size // 2)
    return path


def altered(path: Path) -> Path:
    """Return an archive whose layer is not the one that its configuration names."""
    layer, other = Tree().add("named", b"nowhere else").tar(), Tree().add("other", b"other").tar()
    return docker_archive(path, "docker.io/library/broken:1", [other], configuration([layer]))


def no_archive(path: Path) -> Path:
    path.write_bytes(b"this is no archive\n" * 1000)
    return path


@pytest.mark.parametrize("broken", [truncated, altered, no_archive])
def test_a_corrupt_archive_is_refused_and_leaves_no_image(
    cluster: RealCluster, tmp_path: Path, broken: Callable[[Path], Path]
) -> None:
    unmoved = bystander(cluster)
    archive = broken(tmp_path / "broken.tar")
    done = cluster.podling("image load", str(archive))
    assert done.code != 0
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "archive" in done.err or "the image is broken" in done.err
    assert "Traceback" not in done.err
    assert "broken:1" not in cluster.podling("image list").out
    wanting = {"imagePullPolicy": "Never"}
    cluster.apply(shell_pod("wanting", "true", image="broken:1", container=wanting))
    try:
        cluster.kubectl("wait", "pod/wanting", f"--for=jsonpath={WAITING}=ErrImageNeverPull", "--timeout=20s")
        unmoved()
    finally:
        cluster.kubectl("delete", "pod", "wanting", "--now")


@pytest.fixture
def small_disk(own_cluster: RealCluster) -> Iterator[RealCluster]:
    """A cluster whose images lie on a disk of 16 MB."""
    images = own_cluster.directory / "images"
    images.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", images], check=True)
    try:
        own_cluster.up()
        yield own_cluster
    finally:
        own_cluster.down()
        subprocess.run(["umount", images], check=True)


def archive_of(path: Path, name: str, megabytes: int) -> Path:
    """Return an image with a file of random bytes, which no compression makes smaller."""
    layer = busybox_tree().add("ballast", os.getrandom(megabytes << 20)).tar()
    return docker_archive(path, name, [layer], configuration([layer]))


@pytest.mark.skipif(not shutil.which("docker-registry"), reason="needs docker-registry")
def test_image_too_large_for_the_disk_fails_and_frees_its_space(
    small_disk: RealCluster, tmp_path: Path
) -> None:
    """An image too large fails with the reason; its partial files are removed; a small image fits."""
    unmoved = bystander(small_disk)
    images = small_disk.directory / "images"
    free = shutil.disk_usage(images).free
    large = archive_of(tmp_path / "large.tar", "docker.io/library/large:1", 20)
    done = small_disk.podling("image load", str(large))
    assert done.code != 0
    assert "No space left on device" in done.err or "no space left on device" in done.err, done.err
    assert abs(shutil.disk_usage(images).free - free) < 1 << 20

    with registry(tmp_path / "registry") as running:
        running.push(f"docker-archive:{large}", "large:1")
        small_disk.apply(shell_pod("wanting", "true", image=f"{running.address}/large:1"))
        small_disk.kubectl("wait", "pod/wanting", f"--for=jsonpath={WAITING}=ErrImagePull", "--timeout=30s")
        failed = small_disk.get("events", "--field-selector=involvedObject.name=wanting,reason=Failed")[
            "items"
        ]
        assert any("no space left on device" in event["message"].lower() for event in failed), failed
    assert abs(shutil.disk_usage(images).free - free) < 1 << 20
    assert small_disk.podling("image load", str(busybox_archive(tmp_path / "small.tar"))).code == 0
    unmoved()


@pytest.fixture
def small_disks(own_cluster: RealCluster) -> Iterator[tuple[RealCluster, Path]]:
    """A cluster whose runtime, volumes and logs each have a disk of 16 MB; and where those are."""
    (name,) = node_names(1)
    node = own_cluster.directory / "nodes" / name
    disks = [node / folder for folder in ("oci", "kubelet/pods", "kubelet/logs")]
    for disk in disks:
        disk.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], check=True)
    try:
        own_cluster.up()
        yield own_cluster, node
    finally:
        own_cluster.down()
        for disk in disks:  # 'down' has already unmounted those below the node's directory
            subprocess.run(["umount", "-l", disk], check=False, stderr=subprocess.DEVNULL)


def event_with(cluster: RealCluster, pod: str, *words: str) -> str:
    """Wait for the first of a pod's events that has all these words."""
    command = cluster.kubectl_command("events", f"--for=pod/{pod}", "--watch", "--types=Warning")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        try:
            return next(line for line in watch.stdout if all(word in line for word in words))
        finally:
            watch.terminate()


def test_pods_wait_for_a_full_disk_and_report_it(small_disks: tuple[RealCluster, Path]) -> None:
    """The pods that need it report that, and start once it accepts writes; the others go on."""
    cluster, node = small_disks
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    cluster.apply(shell_pod("steady", f"while :; do echo line; sleep 0.1; done & {SERVE}"))
    cluster.apply(shell_pod("probed", SERVE, container={"readinessProbe": probe}))
    for name in ("steady", "probed"):
        cluster.wait_ready(name)
    before = [cluster.get("pod", name)["status"] for name in ("steady", "probed")]
    full = [("oci", "FailedCreatePodSandBox"), ("kubelet/pods", "FailedToMakePodDataDirectories")]
    for number, (folder, reason) in enumerate(full):
        fill(node / folder)
        cluster.apply(shell_pod(f"wanting-{number}", SERVE))
        event_with(cluster, f"wanting-{number}", reason, "no space left on device")
        (node / folder / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,ro", node / "oci"], check=True)
    cluster.apply(shell_pod("wanting-2", SERVE))
    event_with(cluster, "wanting-2", "FailedCreatePodSandBox", "read-only file system")
    subprocess.run(["mount", "-o", "remount,rw", node / "oci"], check=True)
    fill(node / "kubelet/logs")
    cluster.apply(shell_pod("silent", f"while :; do echo line; sleep 0.1; done & {SERVE}"))
    for name in ("silent", "wanting-0", "wanting-1", "wanting-2"):
        cluster.wait_ready(name)
    assert [cluster.get("pod", name)["status"] for name in ("steady", "probed")] == before
    assert "line\n" in cluster.kubectl("logs", "steady")
    (node / "kubelet/logs" / "ballast").unlink()
    command = cluster.kubectl_command("logs", "silent", "--follow", "--since=1s")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "line\n"
        following.terminate()
    cluster.kubectl("delete", "pods", "--all", "--timeout=30s")


HANGING = """#!/bin/sh
# Everything for the container that is called "stuck" hangs; all else is the real one's.
for argument; do
    config="$argument/config.json"
    if [ "$previous" = --bundle ] && [ -e "$config" ] && grep -q hang-me "$config"; then
        echo $$ >>{pids}
        exec sleep 5555
    fi
    previous=$argument
done
exec {engine} "$@"
"""


@pytest.fixture
def half_hanging(
    own_cluster: RealCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RealCluster]:
    """A cluster whose OCI runtime never answers for containers that say so in their command."""
    if reason := missing_for_containers():
        pytest.skip(reason)
    engine = shutil.which("crun") or shutil.which("runc")
    assert engine is not None
    programs = tmp_path / "programs"
    programs.mkdir()
    pids = tmp_path / "pids"
    wrapper = programs / Path(engine).name
    wrapper.write_text(HANGING.replace("{engine}", engine).replace("{pids}", str(pids)))
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    own_cluster.up()
    try:
        yield own_cluster
    finally:
        wrapper.write_text(f'#!/bin/sh\nexec {engine} "$@"\n')  # the next try does not hang
        for pid in pids.read_text().split() if pids.exists() else ():
            with suppress(ProcessLookupError):  # a call that was given up has already ended
                os.kill(int(pid), signal.SIGKILL)


def test_a_runtime_that_hangs_holds_up_its_pods_only(half_hanging: RealCluster, tmp_path: Path) -> None:
    """Those pods show what they wait for, can be explained and deleted, and leave no hanging process."""
    cluster = half_hanging
    unmoved = bystander(cluster)
    stuck = [f"stuck-{number}" for number in range(12)]
    for name in stuck:
        cluster.apply(shell_pod(name, f": hang-me; {SERVE}"))
    waiting = [f"pod/{name}" for name in stuck]
    cluster.kubectl("wait", *waiting, f"--for=jsonpath={WAITING}=ContainerCreating", "--timeout=20s")
    unmoved()
    message = WAITING.replace("reason", "message")
    cluster.kubectl("wait", "pod/stuck-0", f"--for=jsonpath={message}", "--timeout=30s")
    status: dict[str, Any] = cluster.get("pod", "stuck-0")["status"]
    assert status["phase"] == "Pending"
    shown = status["containerStatuses"][0]["state"]["waiting"]
    assert shown["reason"] == "ContainerCreating"
    assert shown["message"].startswith("the container runtime has not answered StartContainer since 20")
    why = cluster.podling("why", "stuck-0")
    assert why.code == 1
    assert "has not answered StartContainer for" in why.out

    cluster.kubectl("delete", *waiting, "--timeout=30s")
    hanging = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(hanging) >= len(stuck)
    assert [pid for pid in hanging if birth(pid)] == []


@pytest.mark.parametrize("code", [0, 3])
def test_run_prints_output_of_container_that_ended_before_attach(cluster: RealCluster, code: int) -> None:
    """kubectl reads the log instead when the kubelet refuses to attach to an ended container."""
    probe = {"exec": {"command": ["false"]}, "initialDelaySeconds": 60}  # kubectl attaches to Ready pods only
    overrides = {"spec": {"containers": [{"name": f"brief-{code}", "readinessProbe": probe}]}}
    options = ["--image=podling.local/host", "--image-pull-policy=IfNotPresent", "--restart=Never"]
    options += ["--override-type=strategic", f"--overrides={json.dumps(overrides)}"]
    script = f"echo out; echo err >&2; exit {code}"
    done = cluster.try_kubectl("run", f"brief-{code}", *options, "-i", "--rm", "--", "sh", "-c", script)
    assert (done.code == 0) == (code == 0), done.err
    assert "out\n" in done.out
    assert "monitor" not in done.err
