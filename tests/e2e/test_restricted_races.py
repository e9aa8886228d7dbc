"""A pod of a ``restricted`` namespace that exchanges a directory for a link while its containers are made.

The link leads to a directory of the node. The kubelet and the runtime use paths of the volume at that time:
subPath, subPathExpr, files with variables, mounts and termination logs inside of the volume, volumes that are
images. No container sees a file of the node, and none appears there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.platform import architecture
from tests.support.clusters import RealCluster
from tests.support.images import Tree, configuration, docker_archive

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("perl"), reason="needs perl to exchange names"),
]

NAMESPACE = "restricted-races"
ROUNDS, EACH, ROUND_SECONDS = 2, 4, 12.0
ROUNDS_MAX = 10
"""A race shows something only if each kind of path was also mounted once."""
MOUNTED = ("sub-path", "sub-path-expr", "env-file", "mounted-inside")
RENAMEAT2 = {"amd64": 316, "arm64": 276}[architecture()]
SWAP = """
my ($directory, $link) = ("/v/d", "/v/l");
mkdir $directory; symlink "%s", $link;
open(my $env, ">", "$directory/env"); print $env "SECRET='own'\\n"; close $env;
while (1) { syscall(%d, -100, $directory, -100, $link, 2) == 0 or die "cannot exchange: $!" }
"""
LOOK = (
    'if [ -e /m/node-secret ] || [ -e /m/in/node-secret ] || [ "$SECRET" = node ]; then echo ESCAPED; '
    "else echo inside; fi; touch /m/written /m/in/written 2>/dev/null; true"
)
CONFINED = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
V = {"name": "v", "mountPath": "/m"}
KINDS: dict[str, dict[str, Any]] = {
    "sub-path": {"volumeMounts": [V | {"subPath": "d"}]},
    "sub-path-new": {"volumeMounts": [V | {"subPath": "d/made/here"}]},
    "sub-path-expr": {
        "volumeMounts": [V | {"subPathExpr": "$(PART)"}],
        "env": [{"name": "PART", "value": "d"}],
    },
    "env-file": {
        "env": [
            {
                "name": "SECRET",
                "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "d/env", "key": "SECRET"}},
            }
        ]
    },
    "mounted-inside": {"volumeMounts": [V, {"name": "other", "mountPath": "/m/d/in"}]},
    "termination-log": {"volumeMounts": [V], "terminationMessagePath": "/m/d/log"},
    "image-inside": {"volumeMounts": [V, {"name": "image", "mountPath": "/m/d/image"}]},
    "image-part": {"volumeMounts": [{"name": "image", "mountPath": "/m", "subPath": "way"}]},
}


def racing_pod(name: str, outside: Path) -> dict[str, Any]:
    common = {
        "image": "podling.local/host",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": CONFINED,
    }
    swapper = common | {
        "name": "swapper",
        "restartPolicy": "Always",
        "command": ["perl", "-e", SWAP % (outside, RENAMEAT2)],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    looking = [
        common | {"name": f"{kind}-{number}", "command": ["sh", "-c", LOOK]} | fields
        for number in range(EACH)
        for kind, fields in KINDS.items()
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "initContainers": [swapper],
            "containers": looking,
            "volumes": [
                {"name": "v", "emptyDir": {}},
                {"name": "other", "emptyDir": {}},
                {"name": "image", "image": {"reference": "links:1"}},
            ],
        },
    }


@pytest.fixture
def restricted(cluster: RealCluster, tmp_path: Path) -> Iterator[RealCluster]:
    """The cluster with a namespace that enforces the standard, and an image with a link to the node."""
    layer = Tree().link("way", str(tmp_path / "outside")).tar()
    archive = docker_archive(tmp_path / "links.tar", "links:1", [layer], configuration([layer]))
    assert cluster.podling("image load", str(archive)).code == 0
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    )
    try:
        yield cluster
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=true", "--timeout=60s")


def said(cluster: RealCluster, pod: str) -> Counter[tuple[str, str]]:
    """Return the containers' output, by kind; those that could not be made count as ``refused``."""
    found: Counter[tuple[str, str]] = Counter()
    status = json.loads(cluster.kubectl("get", "pod", pod, "-n", NAMESPACE, "-o", "json"))["status"]
    texts = logs(cluster, pod)
    for container in status["containerStatuses"]:
        name = container["name"]
        ended = container["state"].get("terminated")
        refused = ended is None or ended["reason"] == "StartError"
        found[name.rpartition("-")[0], "refused" if refused else "\n".join(texts[name])] += 1
    return found


def logs(cluster: RealCluster, pod: str) -> dict[str, list[str]]:
    """Return the lines of each container's log, read by one command: there are many containers."""
    found = defaultdict[str, list[str]](list)
    options = ("--all-containers", "--prefix", "--ignore-errors")
    for line in cluster.kubectl("logs", pod, "-n", NAMESPACE, *options).splitlines():
        prefix, separator, text = line.partition("] ")
        if separator:  # without a prefix it is an error about a container that was not made
            found[prefix.rpartition("/")[2]].append(text)
    return found


def settle(cluster: RealCluster, pod: str) -> None:
    """Wait until every container has ended, no longer than a round may take."""
    options = ("-n", NAMESPACE, "--watch", "--output-watch-events", "-o", "json")
    command = cluster.kubectl_command("get", "pod", pod, *options, f"--request-timeout={ROUND_SECONDS}s")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        assert watching.stdout is not None
        for line in watching.stdout:
            containers = json.loads(line)["object"]["status"].get("containerStatuses")
            if containers and all("terminated" in one["state"] for one in containers):
                watching.terminate()


def test_no_path_of_a_volume_reaches_the_node(restricted: RealCluster, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "node-secret").write_text("x")
    (outside / "env").write_text("SECRET='node'\n")
    outside.chmod(0o777)
    for directory in (outside, *outside.parents[:-1]):
        directory.chmod(directory.stat().st_mode | 0o055)
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(ROUNDS_MAX):
        pod = f"race-{number}"
        restricted.apply(racing_pod(pod, outside))
        settle(restricted, pod)
        seen += said(restricted, pod)
        restricted.kubectl("delete", "pod", pod, "-n", NAMESPACE, "--now")
        assert sorted(os.listdir(outside)) == ["env", "node-secret"]
        if number + 1 >= ROUNDS and all(seen[kind, "inside"] for kind in MOUNTED):
            break
    texts = {text for _, text in seen}
    assert "ESCAPED" not in texts, seen
    assert texts <= {"inside", "refused"}, seen
    for kind in MOUNTED:
        assert seen[kind, "inside"], f"{kind} was never mounted, so nothing was shown: {seen}"
