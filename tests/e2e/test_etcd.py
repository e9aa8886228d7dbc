"""Three etcd in a StatefulSet, whose members find each other by the names of a headless Service."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import DEADLINE, RealCluster, namespace, shell_pod
from tests.support.debian_programs import load_program

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "etcd"
IN = ("-n", SPACE)
IMAGE = "podling.local/etcd:test"
POST = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], sys.argv[2].encode(), 20).read().decode())
"""
MEMBERS = ("etcd-0", "etcd-1", "etcd-2")


@pytest.fixture(scope="module")
def etcd(cluster: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """The cluster with three members of etcd that serve, and the Service ``client`` in front of them."""
    load_program(cluster, tmp_path_factory.mktemp("image"), IMAGE, "etcd-server", "usr/bin/etcd")
    with namespace(cluster, SPACE):
        for manifest in MANIFESTS:
            cluster.apply(manifest)
        caller = shell_pod("caller", "exec sleep 3600")
        caller["metadata"]["namespace"] = SPACE
        cluster.apply(caller)
        cluster.wait_ready("caller", *IN)
        wait_for_members(cluster)
        yield cluster


def wait_for_members(cluster: RealCluster) -> None:
    cluster.kubectl("rollout", "status", "statefulset/etcd", *IN, f"--timeout={DEADLINE}")


def call(cluster: RealCluster, host: str, path: str, **body: str) -> Any:
    """Send a request to etcd's JSON gateway at ``host``, from inside the pod ``caller``."""
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in body.items()}
    url = f"http://{host}:2379/v3/{path}"
    return json.loads(
        cluster.kubectl("exec", "caller", *IN, "--", "python3", "-c", POST, url, json.dumps(encoded))
    )


def read(cluster: RealCluster, host: str, key: str) -> str:
    (found,) = call(cluster, host, "kv/range", key=key)["kvs"]
    return base64.b64decode(found["value"]).decode()


def test_members_find_each_other_by_name(etcd: RealCluster) -> None:
    members = call(etcd, "client", "cluster/member/list")["members"]
    assert {each["name"]: each["peerURLs"] for each in members} == {name: [peer(name)] for name in MEMBERS}


def test_write_through_one_member_is_read_from_another(etcd: RealCluster) -> None:
    call(etcd, "etcd-1.etcd", "kv/put", key="color", value="green")
    assert read(etcd, f"etcd-2.etcd.{SPACE}.svc.cluster.local", "color") == "green"
    assert read(etcd, "client", "color") == "green"


def test_replaced_member_rejoins_under_its_name_with_its_data(etcd: RealCluster) -> None:
    call(etcd, "etcd-1.etcd", "kv/put", key="before", value="kept")
    old = etcd.get("pod", "etcd-0", *IN)
    etcd.kubectl("delete", "pod", "etcd-0", *IN)
    call(etcd, "etcd-2.etcd", "kv/put", key="meanwhile", value="written")
    wait_for_members(etcd)
    new = etcd.get("pod", "etcd-0", *IN)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert [read(etcd, "etcd-0.etcd", key) for key in ("before", "meanwhile")] == [
        "kept",
        "written",
    ]


def peer(name: str) -> str:
    return f"http://{name}.etcd.{SPACE}.svc.cluster.local:2380"


def service(name: str, **spec: Any) -> dict[str, Any]:
    ports = [{"name": "client", "port": 2379}, {"name": "peer", "port": 2380}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"selector": {"app": "etcd"}, "ports": ports, **spec},
    }


COMMAND = [
    "etcd",
    "--name=$(NAME)",
    "--data-dir=/data/etcd",
    "--listen-peer-urls=http://0.0.0.0:2380",
    "--listen-client-urls=http://0.0.0.0:2379",
    f"--initial-advertise-peer-urls={peer('$(NAME)')}",
    f"--advertise-client-urls=http://$(NAME).etcd.{SPACE}.svc.cluster.local:2379",
    f"--initial-cluster={','.join(f'{name}={peer(name)}' for name in MEMBERS)}",
]
STATEFUL_SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "etcd", "namespace": SPACE},
    "spec": {
        "replicas": len(MEMBERS),
        "serviceName": "etcd",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "etcd"}},
        "template": {
            "metadata": {"labels": {"app": "etcd"}},
            "spec": {
                "terminationGracePeriodSeconds": 5,
                "containers": [
                    {
                        "name": "etcd",
                        "image": IMAGE,
                        "command": COMMAND,
                        "env": [
                            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                            {"name": "PATH", "value": "/usr/bin:/bin"},
                        ],
                        "readinessProbe": {"httpGet": {"path": "/health", "port": 2379}, "periodSeconds": 1},
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }
                ],
            },
        },
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "100Mi"}},
                },
            }
        ],
    },
}
MANIFESTS = (
    service("etcd", clusterIP="None", publishNotReadyAddresses=True),
    service("client"),
    STATEFUL_SET,
)
