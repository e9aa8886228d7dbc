"""Volumes as containers see them: content, owners and modes, changes while a pod runs, missing sources."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests.support.clusters import RealCluster, shell_pod
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.root]

UNTIL_STOPPED = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
READ = """
trap 'exit 0' TERM
while :; do
  cd /settings/..data || continue
  a=$(cat a 2>/dev/null) && b=$(cat deep/b 2>/dev/null) || continue
  [ "$a" = "$b" ] || echo "torn: $a and $b"
  [ "$a" = "$last" ] || { echo "saw $a"; last=$a; }
done
"""
"""Reads both files of one update, again and again; one that was replaced meanwhile is not read to the end."""

Plain = dict[str, Any]
ITEMS = [{"key": "a", "path": "a", "mode": 0o400}, {"key": "b", "path": "deep/b"}]
LABELS = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
MEMORY = {"path": "memory", "resourceFieldRef": {"containerName": "main", "resource": "limits.memory"}}
VOLUMES: list[Plain] = [
    {"name": "settings", "configMap": {"name": "settings", "items": ITEMS, "defaultMode": 0o440}},
    {"name": "steady", "configMap": {"name": "steady"}},
    {"name": "login", "secret": {"secretName": "login", "defaultMode": 0o400}},
    {"name": "about", "downwardAPI": {"items": [LABELS, MEMORY]}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    {"name": "scratch", "emptyDir": {}},
]
MOUNTS = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in VOLUMES]
SECURITY = {"runAsUser": 1000, "runAsGroup": 1500, "fsGroup": 2000, "supplementalGroups": [3000]}


def settings(value: str) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"a": value, "b": value},
    }


STEADY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "steady"},
    "data": {"changing": "old", "same": "x"},
}
LOGIN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "login"},
    "stringData": {"word": "sesame"},
}


@pytest.fixture(scope="module")
def pods(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with a pod that has every volume, and one that reads a volume in a tight loop."""
    for obj in (settings("0"), STEADY, LOGIN):
        cluster.apply(obj)
    container = {"volumeMounts": MOUNTS, "resources": {"limits": {"memory": "64Mi"}}}
    holder = shell_pod(
        "holder", UNTIL_STOPPED, container=container, volumes=VOLUMES, securityContext=SECURITY
    )
    holder["metadata"]["labels"] = {"tier": "front"}
    reader = shell_pod("reader", READ, container={"volumeMounts": MOUNTS[:1]}, volumes=VOLUMES[:1])
    for pod in (holder, reader):
        cluster.apply(pod)
    try:
        cluster.wait_ready("holder")
        cluster.wait_ready("reader")
        yield cluster
    finally:
        names = ("pod/holder", "pod/reader", "configmap/settings", "configmap/steady", "secret/login")
        cluster.kubectl("delete", *names, "--ignore-not-found", "--grace-period=1")


def inside(cluster: RealCluster, script: str) -> str:
    """Return the output of a shell script in the pod with all volumes."""
    return cluster.kubectl("exec", "holder", "--", "sh", "-c", script)


def test_files_have_their_content_owner_and_mode(pods: RealCluster) -> None:
    """``fsGroup`` owns the files and may read them, also where their mode says otherwise."""
    look = "stat -L -c '%a %u %g' /settings/a /settings/deep/b /login/word; cat /login/word"
    assert inside(pods, look).splitlines() == ["440 0 2000", "440 0 2000", "440 0 2000", "sesame"]
    assert inside(pods, "cat /about/labels; echo; cat /about/memory") == f'tier="front"\n{64 << 20}'
    refused = pods.try_kubectl("exec", "holder", "--", "sh", "-c", "echo x > /login/word")
    assert "Read-only file system" in refused.err


def test_processes_have_the_groups_and_new_files_the_group_of_the_volume(pods: RealCluster) -> None:
    assert inside(pods, "id -u; id -g; id -G | tr ' ' '\\n' | sort").split() == [
        "1000",
        "1500",
        "1500",
        "2000",
        "3000",
    ]
    for volume in ("scratch", "memory"):
        look = f"touch /{volume}/new; mkdir /{volume}/d; touch /{volume}/d/n"
        stat = f"stat -c '%u %g' /{volume}/new /{volume}/d/n"
        assert inside(pods, f"{look}; {stat}").splitlines() == ["1000 2000"] * 2


def test_volume_in_memory_holds_its_size_limit(pods: RealCluster) -> None:
    assert inside(pods, "df -k /memory | tail -1").split()[:2] == ["tmpfs", "1024"]
    full = pods.try_kubectl(
        "exec", "holder", "--", "dd", "if=/dev/zero", "of=/memory/big", "bs=1k", "count=2000"
    )
    assert "No space left on device" in full.err
    inside(pods, "rm /memory/big")


def test_each_change_of_a_config_map_is_seen_whole(pods: RealCluster) -> None:
    """A reader in a tight loop never sees files of two updates; each arrives before the next one is made."""
    for number in range(1, 11):
        pods.apply(settings(str(number)))
        until(partial(is_in_log, pods, f"saw {number}"))
    said = pods.kubectl("logs", "reader").splitlines()
    assert said == [f"saw {number}" for number in range(11)]


def test_file_that_did_not_change_stays_the_same_file(pods: RealCluster) -> None:
    before = inside(pods, "stat -L -c %i /steady/same; readlink /steady/..data").split()
    pods.kubectl("patch", "configmap", "steady", "-p", json.dumps({"data": {"changing": "new"}}))
    until(lambda: inside(pods, "cat /steady/changing") == "new")
    after = inside(pods, "stat -L -c %i /steady/same; readlink /steady/..data").split()
    assert after[0] == before[0]
    assert after[1] != before[1], "all names lead through the same link"


def test_changed_label_and_secret_reach_the_volume(pods: RealCluster) -> None:
    pods.kubectl("label", "pod", "holder", "tier=back", "--overwrite")
    pods.apply({**LOGIN, "stringData": {"word": "abracadabra"}})
    until(lambda: inside(pods, "cat /about/labels /login/word") == 'tier="back"abracadabra')


def test_token_is_bound_to_its_pod_and_its_account(pods: RealCluster) -> None:
    """Every pod has one for about an hour; the kubelet renews it when four fifths of that are over."""
    token = inside(pods, "cat /var/run/secrets/kubernetes.io/serviceaccount/token")
    part = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    pod = pods.get("pod", "holder")
    bound = claims["kubernetes.io"]
    assert bound["pod"] == {"name": "holder", "uid": pod["metadata"]["uid"]}
    assert (bound["namespace"], bound["serviceaccount"]["name"]) == ("default", "default")
    assert claims["sub"] == "system:serviceaccount:default:default"
    assert claims["exp"] > claims["iat"]


WAITING: list[tuple[str, Plain, str, str]] = [
    (
        "volume",
        {
            "container": {"volumeMounts": [{"name": "late", "mountPath": "/late"}]},
            "volumes": [{"name": "late", "configMap": {"name": "late"}}],
        },
        "ContainerCreating",
        'MountVolume.SetUp failed for volume "late" : configmap "late" not found',
    ),
    (
        "key",
        {
            "container": {"volumeMounts": [{"name": "late", "mountPath": "/late"}]},
            "volumes": [
                {
                    "name": "late",
                    "secret": {"secretName": "login", "items": [{"key": "late", "path": "late"}]},
                }
            ],
        },
        "ContainerCreating",
        'MountVolume.SetUp failed for volume "late" : references non-existent secret key: late',
    ),
    (
        "variable",
        {
            "container": {
                "env": [
                    {
                        "name": "LATE",
                        "valueFrom": {"configMapKeyRef": {"name": "late", "key": "key"}},
                    }
                ]
            }
        },
        "CreateContainerConfigError",
        'Error: configmap "late" not found',
    ),
    (
        "variables",
        {"container": {"envFrom": [{"secretRef": {"name": "late"}}]}},
        "CreateContainerConfigError",
        'Error: secret "late" not found',
    ),
]


def test_pods_wait_for_what_is_missing_and_start_once_it_is_there(pods: RealCluster) -> None:
    names = [f"waits-for-{name}" for name, *_ in WAITING]
    try:
        for name, (_, spec, _, _) in zip(names, WAITING, strict=True):
            pods.apply(shell_pod(name, UNTIL_STOPPED, **spec))
        for name, (_, _, reason, event) in zip(names, WAITING, strict=True):
            until(partial(has_event, pods, name, event))
            (status,) = pods.get("pod", name)["status"]["containerStatuses"]
            assert status["state"]["waiting"]["reason"] == reason
        late = {"apiVersion": "v1", "metadata": {"name": "late"}}
        pods.apply({**late, "kind": "ConfigMap", "data": {"key": "value"}})
        pods.apply({**late, "kind": "Secret", "stringData": {"KEY": "value"}})
        pods.apply({**LOGIN, "stringData": {"word": "sesame", "late": "value"}})
        for name in names:
            pods.wait_ready(name)
        assert pods.kubectl("exec", "waits-for-volume", "--", "cat", "/late/key") == "value"
        assert pods.kubectl("exec", "waits-for-variables", "--", "sh", "-c", "echo $KEY") == "value\n"
    finally:
        objects = [*(f"pod/{name}" for name in names), "configmap/late", "secret/late"]
        pods.kubectl("delete", *objects, "--ignore-not-found", "--grace-period=1")


def test_missing_source_is_an_event_once_for_each_wait_and_ends_the_wait_when_it_appears(
    cluster: RealCluster,
) -> None:
    """Waits begin with 500 ms and double: the fifth failure is 7.5 s after the first, the sixth 8 s later."""
    volume = {"name": "late", "configMap": {"name": "counted"}}
    mounts = [{"name": "late", "mountPath": "/late"}]
    selector = "--field-selector=involvedObject.name=counted,reason=FailedMount"
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counted"}}

    def failures() -> Plain:
        return next(iter(cluster.get("events", selector)["items"]), {"count": 0})

    try:
        cluster.apply(
            shell_pod("counted", UNTIL_STOPPED, container={"volumeMounts": mounts}, volumes=[volume])
        )
        until(lambda: failures()["count"] >= 5)
        event = failures()
        assert event["count"] == 5
        fifth = datetime.fromisoformat(event["lastTimestamp"])
        waited = fifth - datetime.fromisoformat(event["firstTimestamp"])
        assert timedelta(seconds=7) <= waited, "times of events are whole seconds"
        cluster.apply({**config_map, "data": {"key": "value"}})
        cluster.wait_ready("counted")
        (status,) = cluster.get("pod", "counted")["status"]["containerStatuses"]
        started = datetime.fromisoformat(status["state"]["running"]["startedAt"])
        assert started < fifth + timedelta(seconds=8)
        assert failures()["count"] == 5
    finally:
        cluster.kubectl(
            "delete", "pod/counted", "configmap/counted", "--ignore-not-found", "--grace-period=1"
        )


def test_pod_waits_for_a_missing_claim_and_starts_once_it_is_there(pods: RealCluster) -> None:
    volume = {"name": "late", "persistentVolumeClaim": {"claimName": "late"}}
    mounts = [{"name": "late", "mountPath": "/late"}]
    try:
        pods.apply(shell_pod("waits", UNTIL_STOPPED, container={"volumeMounts": mounts}, volumes=[volume]))
        until(partial(is_unschedulable, pods, "waits"))
        (condition,) = (each for each in conditions(pods, "waits") if each["type"] == "PodScheduled")
        assert condition["reason"] == "Unschedulable"
        assert 'persistentvolumeclaim "late" not found' in condition["message"]
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
        kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        pods.apply({**kind, "metadata": {"name": "late"}, "spec": claim})
        pods.wait_ready("waits")
        assert (
            pods.kubectl("exec", "waits", "--", "sh", "-c", "echo kept > /late/file; cat /late/file")
            == "kept\n"
        )
    finally:
        pods.kubectl("delete", "pod/waits", "pvc/late", "--ignore-not-found", "--grace-period=1")


def is_unschedulable(cluster: RealCluster, pod: str) -> bool:
    return any(each["type"] == "PodScheduled" for each in conditions(cluster, pod))


def conditions(cluster: RealCluster, pod: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = cluster.get("pod", pod)["status"].get("conditions", [])
    return found


def has_event(cluster: RealCluster, pod: str, message: str) -> bool:
    found = cluster.get("events", f"--field-selector=involvedObject.name={pod}")["items"]
    return any(event["message"] == message for event in found)


def is_in_log(cluster: RealCluster, line: str) -> bool:
    return line in cluster.kubectl("logs", "reader").splitlines()
