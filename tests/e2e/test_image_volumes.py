"""An image as a volume, from ``podling image load`` to the file that a container reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clusters import RealCluster, shell_pod
from tests.support.images import Tree, configuration, docker_archive

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SCRIPT = "exec 2>&1; cat /data/docs/page /part/page; touch /data/x; true"


def test_a_container_reads_an_image_that_is_a_volume(cluster: RealCluster, tmp_path: Path) -> None:
    layer = Tree().directory("docs").add("docs/page", b"hello\n").tar()
    archive = docker_archive(tmp_path / "data.tar", "page:1", [layer], configuration([layer]))
    assert cluster.podling("image load", str(archive)).code == 0
    manifest = shell_pod(
        "image-volume",
        SCRIPT,
        restartPolicy="Never",
        volumes=[{"name": "data", "image": {"reference": "page:1"}}],
    )
    (container,) = manifest["spec"]["containers"]
    container["volumeMounts"] = [
        {"name": "data", "mountPath": "/data"},
        {"name": "data", "mountPath": "/part", "subPath": "docs"},
    ]
    cluster.apply(manifest)
    try:
        cluster.kubectl(
            "wait", "pod/image-volume", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s"
        )
        said = cluster.kubectl("logs", "image-volume").splitlines()
        assert said[:2] == ["hello", "hello"]
        assert "Read-only file system" in said[2]
    finally:
        cluster.kubectl("delete", "pod", "image-volume", "--now")
