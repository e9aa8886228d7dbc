"""Settings of nodes and controllers: from one file, from options, and from the kubelet's own file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from tests.support.clusters import RealCluster

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CLUSTER = """
apiVersion: podling.dev/v1alpha1
kind: ClusterConfiguration
hostnameOverride: Alpha
nodeLabels: {disk: ssd}
registerWithTaints: ["dedicated=web:PreferNoSchedule"]
nodeMonitorGracePeriod: 40s
kubeletConfiguration:
  maxPods: 17
  podPidsLimit: 100
"""
KUBELET = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
maxPods: 18
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RealCluster]:
    cluster = RealCluster(tmp_path / "cluster", "sim", "--port", "0")
    yield cluster
    cluster.remove()


def test_file_configures_a_cluster_and_options_win(cluster: RealCluster, tmp_path: Path) -> None:
    file, kubelet = tmp_path / "cluster.yaml", tmp_path / "kubelet.yaml"
    file.write_text(CLUSTER)
    kubelet.write_text(KUBELET)
    cluster.up("--config", str(file), "--terminated-pod-gc-threshold", "3", "--node-external-ip", "192.0.2.9")
    node = cluster.get("node", "alpha")
    assert node["metadata"]["labels"]["disk"] == "ssd"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "alpha"
    assert node["spec"]["taints"] == [{"effect": "PreferNoSchedule", "key": "dedicated", "value": "web"}]
    assert node["status"]["capacity"]["pods"] == "17"
    assert {"type": "ExternalIP", "address": "192.0.2.9"} in node["status"]["addresses"]
    kept = DataDirectory(cluster.directory).settings()
    assert kept.controller_options.node_monitor_grace_period == 40
    assert kept.controller_options.terminated_pod_gc_threshold == 3

    cluster.down()
    cluster.up("--kubelet-config", str(kubelet))
    node = cluster.get("node", "alpha")
    assert node["status"]["capacity"]["pods"] == "18"
    assert node["metadata"]["labels"]["disk"] == "ssd"

    cluster.down()
    kubelet.write_text(json.dumps({"kind": "KubeletConfiguration"}))
    refused = cluster.podling("up", "--detach")
    assert refused.code == 1
    assert str(kubelet) in refused.err
    assert "Object 'apiVersion' is missing" in refused.err


def test_kubelet_that_does_not_register_leaves_its_node_alone(
    cluster: RealCluster,
) -> None:
    """The status is written every second; without the option an idle node writes it every five minutes."""
    cluster.up("--node-labels", "rack=one")
    (before,) = cluster.get("nodes")["items"]
    name = before["metadata"]["name"]
    cluster.down()
    given = ("--node-labels", "rack=two", "--register-with-taints", "a=b:NoSchedule")
    cluster.up("--register-node=false", *given, "--node-status-update-frequency", "1s")
    (after,) = cluster.get("nodes")["items"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert "taints" not in after["spec"]
    beats = heartbeats(cluster, name, 4)
    assert timedelta(seconds=2) <= beats[-1] - beats[0] <= timedelta(seconds=30)


def heartbeats(cluster: RealCluster, node: str, number: int) -> list[datetime]:
    """Watch a node; return the times of so many of its heartbeats."""
    time = "jsonpath={.status.conditions[?(@.type=='Ready')].lastHeartbeatTime}{'\\n'}"
    watching = cluster.kubectl_command("get", "node", node, "-w", "-o", time)
    found: list[datetime] = []
    with subprocess.Popen(watching, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if (beat := datetime.fromisoformat(line.strip())) not in found:
                found.append(beat)
            if len(found) == number:
                break
        process.terminate()
    return found
