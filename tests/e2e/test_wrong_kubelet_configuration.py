"""A wrong configuration of the kubelet: reported at start, and real containers run on unharmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import SWAP, RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SLEEP = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
STARTED = "cat /proc/1/stat | cut -d' ' -f22"
WRONG: tuple[tuple[str, str], ...] = (
    ("maxPod: 7", 'unknown field "maxPod"'),
    ("maxPods: many", "KubeletConfiguration.maxPods of type int32"),
    ("maxPods: 7\nmaxPods: 8", 'key "maxPods" already set in map'),
    ("maxPods: -1", "maxPods (--max-pods) -1 must not be a negative number"),
    ("readOnlyPort: 10255", "field readOnlyPort is not supported"),
    ("featureGates: {NoSuchGate: true}", "unrecognized feature gate: NoSuchGate"),
    (
        "evictionHard: {memory.available: plenty}",
        'evictionHard "memory.available" plenty: quantities must match',
    ),
    ("cpuManagerPolicy: generous", 'cpuManagerPolicy: unknown policy: "generous"'),
    ("systemReserved: {gpu: '1'}", 'systemReserved: cannot reserve "gpu" resource'),
    (
        "topologyManagerPolicyOptions: {near: 'true'}",
        'topologyManagerPolicyOptions: unknown Topology Manager Policy option: "near"',
    ),
    ("maxPods: [", "error converting YAML to JSON"),
)
LATE = ("cpuManagerPolicy: static", "static policy requires systemreserved.cpu + kubereserved.cpu")
"""A configuration that only the kubelet itself finds wrong, when it starts on its machine."""


def container_of(cluster: RealCluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("pod", name)["status"]["containerStatuses"][0]
    return found


def test_wrong_configuration_is_reported_and_ends_no_pod(own_cluster: RealCluster, tmp_path: Path) -> None:
    file, drop_ins = tmp_path / "kubelet.yaml", tmp_path / "kubelet.conf.d"
    drop_ins.mkdir()
    drop_in = drop_ins / "20-wrong.conf"
    file.write_text(HEAD + "maxPods: 50\n")
    (drop_ins / "10-right.conf").write_text(HEAD + "podPidsLimit: 900\n")
    given = ("--kubelet-config", str(file), "--config-dir", str(drop_ins))
    own_cluster.up(*given)
    own_cluster.apply(shell_pod("steady", SLEEP))
    own_cluster.wait_ready("steady")
    before = container_of(own_cluster, "steady")
    born = own_cluster.kubectl("exec", "steady", "--", "sh", "-c", STARTED)
    own_cluster.kill()

    for place in (file, drop_in):
        right = place.read_text() if place.exists() else None
        for text, words in (*WRONG, LATE):
            place.write_text(f"{HEAD}{text}\n")
            refused = own_cluster.podling("up", "--detach", SWAP, *given)
            assert refused.code == 1, text
            assert words in refused.err, text
            assert "Traceback" not in refused.err, text
            if words != LATE[1]:
                assert str(file) in refused.err or str(drop_in) in refused.err, text
        if right is None:
            place.unlink()
        else:
            place.write_text(right)

    own_cluster.up(*given)
    own_cluster.wait_ready("steady")
    after = container_of(own_cluster, "steady")
    assert (after["containerID"], after["restartCount"]) == (before["containerID"], 0)
    assert after["state"] == before["state"]
    assert own_cluster.kubectl("exec", "steady", "--", "sh", "-c", STARTED) == born, "it is the same process"
    (node,) = own_cluster.get("nodes")["items"]
    assert node["status"]["capacity"]["pods"] == "50"
