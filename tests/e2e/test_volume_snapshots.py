"""Snapshots and generic ephemeral volumes on real containers, with ``podling up --with snapshots``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from podling.files.disk_images import missing_for_images
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.loop_devices import lasting_devices

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers() or "can run"),
    pytest.mark.skipif(bool(missing_for_images()), reason=missing_for_images() or "can run"),
]

GROUP = "snapshot.storage.k8s.io"
UNTIL_STOPPED = "trap 'exit 0' TERM; sleep 3600 & wait"
Plain = dict[str, Any]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    cluster = RealCluster(tmp_path_factory.mktemp("snapshots") / "data", "oci", "--port", "0")
    try:
        cluster.up("--with", "snapshots")
        kind = {"apiVersion": f"{GROUP}/v1", "kind": "VolumeSnapshotClass", "metadata": {"name": "local"}}
        cluster.apply({**kind, "driver": "podling.local/directory", "deletionPolicy": "Delete"})
        yield cluster
        cluster.down()
        images = list(cluster.directory.rglob("image"))
        assert images
        assert [str(each) for each in images if lasting_devices(each)] == [], "no device stays attached"
    finally:
        cluster.remove()


def claim(name: str, storage_class: str = "standard", **spec: Any) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "8Mi"}},
            **spec,
        },
    }


def restored(name: str) -> Plain:
    return {"dataSource": {"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": name}}


def user_of(name: str, *, device: bool = False) -> Plain:
    mounts = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    devices = {"volumeDevices": [{"name": "data", "devicePath": "/dev/data"}]}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    return shell_pod(name, UNTIL_STOPPED, container=devices if device else mounts, volumes=volumes)


def start(cluster: RealCluster, *objects: Plain) -> None:
    for obj in objects:
        cluster.apply(obj)
    for obj in objects:
        if obj["kind"] == "Pod":
            cluster.wait_ready(obj["metadata"]["name"])


def inside(cluster: RealCluster, pod: str, script: str) -> str:
    return cluster.kubectl("exec", pod, "--", "sh", "-c", script)


def take(cluster: RealCluster, name: str, of: str) -> None:
    """Take a snapshot of a claim, and wait until it can be used."""
    spec = {"volumeSnapshotClassName": "local", "source": {"persistentVolumeClaimName": of}}
    kind = {"apiVersion": f"{GROUP}/v1", "kind": "VolumeSnapshot", "metadata": {"name": name}}
    cluster.apply({**kind, "spec": spec})
    ready = "--for=jsonpath={.status.readyToUse}=true"
    cluster.kubectl("wait", ready, f"volumesnapshot/{name}", "--timeout=60s")


def test_claims_begin_with_the_files_of_a_snapshot(here: RealCluster) -> None:
    """Of a directory and of a disk image, into both; what was written later is not in it."""
    begin = "mkdir /data/d; echo before > /data/d/f; chown 7:8 /data/d/f; chmod 640 /data/d/f; sync"
    for name, storage_class in (("plain", "standard"), ("sized", "sized")):
        start(here, claim(name, storage_class), user_of(name))
        inside(here, name, begin)
        take(here, f"of-{name}", name)
        inside(here, name, "echo after > /data/d/f")
    start(
        here,
        claim("plain-copy", "sized", **restored("of-plain")),
        claim("sized-copy", "standard", **restored("of-sized")),
        user_of("plain-copy"),
        user_of("sized-copy"),
    )
    for name in ("plain", "sized"):
        look = "cat /data/d/f; stat -c '%u %g %a' /data/d/f"
        assert inside(here, f"{name}-copy", look).splitlines() == ["before", "7 8 640"]
        assert inside(here, name, "cat /data/d/f") == "after\n"
    row = here.kubectl("get", "vs", "of-plain", "--no-headers").split()
    content = here.get("volumesnapshot", "of-plain")["status"]["boundVolumeSnapshotContentName"]
    assert row[:6] == ["of-plain", "true", "plain", "8388608", "local", content]


def test_block_volume_begins_with_the_bytes_of_a_snapshot(here: RealCluster) -> None:
    start(here, claim("disk", volumeMode="Block"), user_of("disk", device=True))
    inside(here, "disk", "printf before | dd of=/dev/data conv=fsync")
    take(here, "of-disk", "disk")
    inside(here, "disk", "printf after! | dd of=/dev/data conv=fsync")
    copy = claim("disk-copy", volumeMode="Block", **restored("of-disk"))
    start(here, copy, user_of("disk-copy", device=True))
    assert inside(here, "disk-copy", "head -c 6 /dev/data") == "before"


def test_files_of_a_deleted_snapshot_are_removed(here: RealCluster) -> None:
    start(here, claim("short"), user_of("short"))
    take(here, "of-short", "short")
    content = here.get("volumesnapshot", "of-short")["status"]["boundVolumeSnapshotContentName"]
    handle = here.get("volumesnapshotcontent", content)["status"]["snapshotHandle"]
    (folder,) = here.directory.glob(f"**/{handle}")
    here.kubectl("delete", "volumesnapshot", "of-short", "--timeout=60s")
    here.kubectl("wait", "--for=delete", f"volumesnapshotcontent/{content}", "--timeout=60s")
    assert not folder.exists()


def test_generic_ephemeral_volume_lives_as_long_as_its_pod(here: RealCluster) -> None:
    template = {"spec": claim("", "sized")["spec"]}
    mounts = {"volumeMounts": [{"name": "scratch", "mountPath": "/data"}]}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    start(here, shell_pod("transient", UNTIL_STOPPED, container=mounts, volumes=volumes))
    full = "dd if=/dev/zero of=/data/much bs=1M count=20 2>&1 | grep -c 'No space left' || true"
    assert inside(here, "transient", full) == "1\n"
    made = here.get("pvc", "transient-scratch")
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "transient", True)
    volume = made["spec"]["volumeName"]
    here.kubectl("delete", "pod", "transient", "--grace-period=1", "--timeout=60s")
    here.kubectl("wait", "--for=delete", "pvc/transient-scratch", f"pv/{volume}", "--timeout=60s")
    assert not list(here.directory.glob(f"**/{volume}"))
