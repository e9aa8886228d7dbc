"""Volumes of the directory provisioner on real containers: sizes, growth, copies, and block devices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.files.disk_images import missing_for_images
from tests.support.clusters import RealCluster, namespace, shell_pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_images()), reason=missing_for_images() or "can run"),
]

NAME = "provisioned"
UNTIL_STOPPED = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
Plain = dict[str, Any]


@pytest.fixture(scope="module")
def here(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with a namespace of the module's own; nothing of its volumes is left behind."""
    with namespace(cluster, NAME):
        yield cluster
        in_namespace(cluster, "delete", "pod,pvc", "--all", "--grace-period=1")
        until(lambda: not cluster.get("pv")["items"])
    until(lambda: str(cluster.directory) not in Path("/proc/mounts").read_text().replace("/containers/", ""))
    assert attached(cluster) == []


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until the condition holds."""
    deadline = clock.monotonic() + seconds
    while not holds():
        assert clock.monotonic() < deadline, "it does not hold in time"


def in_namespace(cluster: RealCluster, *arguments: str) -> str:
    return cluster.kubectl("-n", NAME, *arguments)


def attached(cluster: RealCluster) -> list[str]:
    """Return the images of the cluster that loop devices show."""
    files = (path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file"))
    return [file for file in files if file.startswith(str(cluster.directory))]


def claim(name: str, size: str = "8Mi", **spec: Any) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAME},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "sized",
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def user_of(name: str, *, device: bool = False, **spec: Any) -> Plain:
    """Return a pod with the volume of the claim ``name`` at /data, as directory or as device."""
    use = (
        {"volumeDevices": [{"name": "data", "devicePath": "/dev/data"}]}
        if device
        else {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    )
    pod = shell_pod(
        name,
        UNTIL_STOPPED,
        container=use,
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        **spec,
    )
    pod["metadata"]["namespace"] = NAME
    return pod


def start(cluster: RealCluster, *objects: Plain) -> None:
    for obj in objects:
        cluster.apply(obj)
    for obj in objects:
        if obj["kind"] == "Pod":
            cluster.wait_ready(obj["metadata"]["name"], "-n", NAME)


def inside(cluster: RealCluster, pod: str, script: str) -> str:
    return in_namespace(cluster, "exec", pod, "--", "sh", "-c", script)


def kibibytes(cluster: RealCluster, pod: str) -> int:
    return int(inside(cluster, pod, "df -k /data | tail -1").split()[1])


def test_volume_of_a_sized_class_holds_no_more_than_its_size(here: RealCluster) -> None:
    start(here, claim("full"), user_of("full", securityContext={"runAsUser": 1000, "fsGroup": 2000}))
    assert inside(here, "full", "ls -A /data; stat -c '%g' /data").split() == ["2000"], "an empty directory"
    assert 6 << 10 < kibibytes(here, "full") <= 8 << 10
    done = here.try_kubectl(
        "-n", NAME, "exec", "full", "--", "dd", "if=/dev/zero", "of=/data/big", "bs=1M", "count=16"
    )
    assert "No space left on device" in done.err
    assert inside(
        here, "full", "rm /data/big; echo kept > /data/file; stat -c '%u %g' /data/file"
    ).split() == [
        "1000",
        "2000",
    ]


def test_claim_grows_with_its_file_system(here: RealCluster) -> None:
    """The image grows at once; its file system at the latest when the next pod mounts it."""
    start(here, claim("grows"), user_of("grows"))
    inside(here, "grows", "echo kept > /data/file")
    before = kibibytes(here, "grows")
    here.apply(claim("grows", "32Mi"))
    until(lambda: conditions(here, "grows") == {"FileSystemResizePending"})
    found = in_namespace(here, "get", "pvc", "grows", "-o", "jsonpath={.status.capacity.storage}")
    assert found == "8Mi", "the old size until the file system has grown"
    in_namespace(here, "delete", "pod", "grows")
    start(here, user_of("grows"))
    assert kibibytes(here, "grows") > 3 * before
    assert inside(here, "grows", "cat /data/file; ls -A /data").split() == ["kept", "file"]
    until(lambda: not conditions(here, "grows"))
    found = in_namespace(here, "get", "pvc", "grows", "-o", "jsonpath={.status.capacity.storage}")
    assert found == "32Mi"
    assert {"Resizing", "FileSystemResizeRequired"} <= reasons(here, "grows")
    assert "FileSystemResizeSuccessful" in reasons(here, "grows")


def conditions(cluster: RealCluster, name: str) -> set[str]:
    text = in_namespace(cluster, "get", "pvc", name, "-o", "jsonpath={.status.conditions[*].type}")
    return set(text.split())


def reasons(cluster: RealCluster, name: str) -> set[str]:
    selector = f"--field-selector=involvedObject.name={name}"
    return set(in_namespace(cluster, "get", "events", selector, "-o", "jsonpath={.items[*].reason}").split())


def test_claim_with_another_as_source_begins_with_its_files(here: RealCluster) -> None:
    """Also while the source is in use, into another class, and with owners and modes."""
    start(here, claim("original"), user_of("original"))
    inside(
        here,
        "original",
        "mkdir /data/d; echo one > /data/d/f; chown 7:8 /data/d/f; chmod 640 /data/d/f; ln -s d/f /data/l",
    )
    source = {"dataSource": {"kind": "PersistentVolumeClaim", "name": "original"}}
    start(
        here,
        claim("copy", "16Mi", **source),
        claim("plain-copy", "16Mi", **source | {"storageClassName": "standard"}),
        user_of("copy"),
        user_of("plain-copy"),
    )
    for name in ("copy", "plain-copy"):
        look = "cat /data/l; stat -c '%u %g %a' /data/d/f; echo other > /data/d/f"
        assert inside(here, name, look).splitlines() == ["one", "7 8 640"]
    assert inside(here, "original", "cat /data/d/f") == "one\n"
    here.apply(claim("small", "4Mi", **source))
    until(partial(lambda: "ProvisioningFailed" in reasons(here, "small")))


def test_block_volume_is_a_device_of_its_size(here: RealCluster) -> None:
    """The container may use this device and no other; what it writes is there for the next pod."""
    start(here, claim("raw", volumeMode="Block"), user_of("raw", device=True))
    assert inside(here, "raw", "stat -c %F /dev/data; wc -c < /dev/data").splitlines() == [
        "block special file",
        str(8 << 20),
    ]
    inside(here, "raw", "echo written | dd of=/dev/data conv=notrunc status=none; sync")
    number = int(inside(here, "raw", "stat -c %T /dev/data"), 16)
    other = f"mknod /tmp/other b 7 {number + 1}; head -c 1 /tmp/other"
    refused = here.try_kubectl("-n", NAME, "exec", "raw", "--", "sh", "-c", other)
    assert "Operation not permitted" in refused.err
    in_namespace(here, "delete", "pod", "raw")
    until(lambda: not any("raw" in file for file in attached(here)))
    start(here, user_of("raw", device=True))
    assert inside(here, "raw", "head -c 7 /dev/data") == "written"


def test_volume_of_the_wrong_mode_keeps_the_pod_waiting(here: RealCluster) -> None:
    here.apply(claim("wrong", volumeMode="Block"))
    here.apply(user_of("wrong"))
    text = "volume data has volumeMode Block, but is specified in volumeMounts"
    until(lambda: text in in_namespace(here, "get", "events"))


def test_volumes_of_vendors_are_refused_in_clear_words(here: RealCluster) -> None:
    kinds: dict[str, tuple[Plain, str]] = {
        "csi": (
            {"csi": {"driver": "ebs.csi.aws.com"}},
            "driver name ebs.csi.aws.com not found in the list of registered CSI drivers",
        ),
        "iscsi": (
            {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:x", "lun": 0}},
            'failed to get Plugin from volumeSpec for volume "data" err=no volume plugin matched',
        ),
        "nfs": (
            {"nfs": {"server": "127.0.0.1", "path": "/exported"}},
            "mount failed: exit status 32",
        ),
    }
    for name, (source, _) in kinds.items():
        pod = user_of(f"of-{name}")
        pod["spec"]["volumes"] = [{"name": "data", **source}]
        here.apply(pod)
    for name, (_, text) in kinds.items():
        until(partial(has_event, here, f"of-{name}", text))


def has_event(cluster: RealCluster, name: str, text: str) -> bool:
    selector = f"--field-selector=involvedObject.name={name}"
    return text in in_namespace(cluster, "get", "events", selector, "-o", "jsonpath={.items[*].message}")


def test_local_volume_on_a_block_device_gets_a_file_system(here: RealCluster, tmp_path: Path) -> None:
    """An administrator's volume: a device of the node, empty at first."""
    from podling.files.disk_images import BLOCK, attach_image, make_image, release_image

    image = tmp_path / "image"
    make_image(image, 16 << 20, BLOCK)
    device = attach_image(image, "test")
    assert os.path.exists(device)
    affinity = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "by-hand"},
        "spec": {
            "capacity": {"storage": "16Mi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "local": {"path": device, "fsType": "ext4"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [affinity]}},
        },
    }
    try:
        start(here, volume, claim("by-hand", "16Mi", storageClassName="by-hand"), user_of("by-hand"))
        assert inside(here, "by-hand", "grep ' /data ' /proc/mounts").split()[:3] == [
            device,
            "/data",
            "ext4",
        ]
    finally:
        in_namespace(here, "delete", "pod/by-hand", "pvc/by-hand", "--ignore-not-found")
        here.kubectl("delete", "pv", "by-hand", "--ignore-not-found")
        release_image(image, "test")
