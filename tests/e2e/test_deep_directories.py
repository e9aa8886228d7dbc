"""Pods that leave directories too deep for any path: deleted, killed over, taken down with the cluster."""

from __future__ import annotations

import shutil

import pytest

from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

NEST = """
sub nest { my ($top, $depth, $name) = @_; chdir $top; for (1..$depth) { mkdir $name; chdir $name or die } }
nest("/tmp", 1100, "d"); nest("/var/tmp", 40, "0" x 250); nest("/scratch", 2045, "d");
mkdir "/var/tmp/locked"; open(my $file, ">", "/var/tmp/locked/file"); chmod 0, "/var/tmp/locked";
open(my $done, ">", "/scratch/done"); close $done;
sleep 3600;
"""
VOLUMES = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}]


def deep_pod(name: str) -> dict[str, object]:
    mounts = [{"name": "scratch", "mountPath": "/scratch"}]
    probe = {"exec": {"command": ["test", "-e", "/scratch/done"]}, "periodSeconds": 1}
    container: dict[str, object] = {"volumeMounts": mounts, "readinessProbe": probe}
    container["command"] = ["perl", "-e", NEST]
    return shell_pod(name, "", container=container, volumes=VOLUMES)


@pytest.mark.skipif(not shutil.which("perl"), reason="needs perl to nest directories fast")
def test_deep_directories_are_removed_with_their_pod(own_cluster: RealCluster) -> None:
    own_cluster.up()
    for name in ("deleted", "killed-over", "taken-down"):
        own_cluster.apply(deep_pod(name))
    for name in ("deleted", "killed-over", "taken-down"):
        own_cluster.wait_ready(name)
    pid = own_cluster.pid
    own_cluster.kubectl("delete", "pod", "deleted", "--now", "--timeout=60s")
    assert own_cluster.pid == pid
    own_cluster.kubectl("get", "--raw", "/readyz")

    own_cluster.kubectl("delete", "pod", "killed-over", "--now", "--wait=false")
    own_cluster.kill()
    own_cluster.up()
    own_cluster.kubectl("wait", "pod/killed-over", "--for=delete", "--timeout=60s")
    own_cluster.wait_ready("taken-down")
    uppers = list(own_cluster.directory.glob("nodes/*/oci/containers/*/upper"))
    assert uppers

    done = own_cluster.down()
    assert done.code == 0, done.out + done.err
    assert not any(upper.exists() for upper in uppers)
