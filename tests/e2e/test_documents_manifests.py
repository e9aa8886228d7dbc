"""The manifests of Kubernetes' documentation, as written; images are made under the names they use."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import RealCluster, shell_pod
from tests.support.images import busybox_tree, configuration, docker_archive
from tests.support.pod_lives import Recorder

pytestmark = [pytest.mark.e2e, pytest.mark.root]

MANIFESTS = Path(os.environ.get("PODLING_SHARED", Path(__file__).parents[3] / "shared")) / "manifests"

SERVER = ["sh", "-c", "mkdir -p /www && echo it works >/www/index.html && exec httpd -f -p 80 -h /www"]
"""The command that stands in for a web server's own."""


@pytest.fixture(scope="module")
def images(cluster: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> RealCluster:
    """The cluster with the images that the manifests name."""
    folder = tmp_path_factory.mktemp("images")
    for name, command in (("nginx:1.14.2", SERVER), ("nginx", SERVER), ("busybox:1.28", ["sh"])):
        layer = busybox_tree().directory("usr").directory("usr/share").tar()
        config = configuration([layer], cmd=command)
        archive = docker_archive(folder / "image.tar", f"docker.io/library/{name}", [layer], config)
        assert cluster.podling("image load", str(archive)).code == 0
        archive.unlink()
    return cluster


def manifest(name: str) -> str:
    path = MANIFESTS / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return str(path)


def running(pod: dict[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def test_simple_pod_runs_with_its_own_address(images: RealCluster) -> None:
    """Pending, then Running; one IP per pod; the hostname is the pod's name."""
    recorder = Recorder(images, lambda name, pod: None)
    images.kubectl("apply", "-f", manifest("simple-pod.yaml"))
    try:
        images.wait_ready("nginx")
        recorder.wait(lambda: any(running(pod) for _, pod in recorder.seen.get("nginx", ())), 10)
        phases = [pod["status"].get("phase") for _, pod in recorder.seen["nginx"]]
        assert [phase for phase, _ in groupby(phases)] == ["Pending", "Running"]
        status = images.get("pod", "nginx")["status"]
        assert status["phase"] == "Running"
        assert status["podIPs"] == [{"ip": status["podIP"]}]
        assert images.kubectl("exec", "nginx", "--", "hostname") == "nginx\n"
        assert (
            images.kubectl("exec", "nginx", "--", "wget", "-qO-", f"http://{status['podIP']}") == "it works\n"
        )
    finally:
        recorder.finish()
        images.kubectl("delete", "pod", "nginx", "--now")


def test_a_node_without_a_kubelet_is_kept_and_gets_nothing(images: RealCluster) -> None:
    """The Node object is kept, not Ready, and nothing is scheduled there."""
    images.kubectl("apply", "-f", manifest("my-first-k8s-node.json"))
    try:
        row = images.kubectl("get", "node", "10.240.79.157").splitlines()[1].split()
        assert row[1] in ("Unknown", "NotReady")
        images.apply(shell_pod("waiting", "true", nodeSelector={"name": "my-first-k8s-node"}))
        images.kubectl("wait", "--for=condition=PodScheduled=false", "pod/waiting", "--timeout=30s")
        assert "nodeName" not in images.get("pod", "waiting")["spec"]
    finally:
        images.kubectl("delete", "pod", "waiting", "--now")
        images.kubectl("delete", "node", "10.240.79.157")


def test_post_start_hook_writes_its_message(images: RealCluster) -> None:
    """``cat /usr/share/message`` prints the hook's line."""
    images.kubectl("apply", "-f", manifest("pod-poststart.yaml"))
    try:
        images.wait_ready("hook-demo1")
        said = images.kubectl("exec", "hook-demo1", "--", "cat", "/usr/share/message")
        assert said == "Hello from the postStart handler\n"
    finally:
        images.kubectl("delete", "pod", "hook-demo1", "--now")
