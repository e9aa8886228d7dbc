"""Files on the node that other users of the machine can read, write, list or lock."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from podling.network import machine_lock
from podling.node.runtimes import STATE
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e]

ALLOWED = (
    r"/volumes/pvc-[-0-9a-f]{36}$",  # the name is needed: the directory above cannot be listed
    rf"^{STATE}/[-0-9a-f]+(/boot)?$",  # the machine's boot id, and names of directories
    rf"^{STATE}/[-0-9a-f]+/host-files$",
    rf"^{STATE}/[-0-9a-f]+/containers/[0-9a-f]{{64}}/rootfs$",  # of the process that holds a pod's namespaces
)

SHOWN = ("rootfs", "host-files")
"""Return the containers' own files and public files of the machine: their modes are not ours."""

POD = shell_pod(
    "pod",
    "echo logged; echo ended > /dev/termination-log; trap 'exit 0' TERM; sleep 3600 & wait",
    shareProcessNamespace=True,
    container={
        "env": [{"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "key"}}}],
        "volumeMounts": [
            {"name": "secret", "mountPath": "/secret"},
            {"name": "empty", "mountPath": "/empty"},
            {"name": "claim", "mountPath": "/claim"},
        ],
    },
    volumes=[
        {"name": "secret", "secret": {"secretName": "secret"}},
        {"name": "empty", "emptyDir": {}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "claim"}},
    ],
)
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "claim"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
}


def open_to_others(path: Path) -> Iterator[str]:
    """Yield what a user who knows every name can read or write at or below ``path``."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        return
    if mode & 0o006:
        yield str(path)
    if stat.S_ISDIR(mode) and mode & 0o001 and path.name not in SHOWN:
        for entry in os.listdir(path):
            yield from open_to_others(path / entry)


def test_other_users_can_read_nothing(own_cluster: RealCluster) -> None:
    old = os.umask(0o022)
    try:
        own_cluster.up()
    finally:
        os.umask(old)
    own_cluster.kubectl("create", "secret", "generic", "secret", "--from-literal=key=value")
    own_cluster.apply(CLAIM)
    own_cluster.apply(POD)
    own_cluster.wait_ready("pod")
    identity = DataDirectory(own_cluster.directory).id
    places = [own_cluster.directory, STATE / f"{identity}-0", machine_lock.LOCK]
    found = [each for place in places for each in open_to_others(place)]
    assert [each for each in found if not any(re.search(pattern, each) for pattern in ALLOWED)] == []
    catalog = own_cluster.directory / "images" / "catalog.json"
    for file in (own_cluster.directory / "podling.log", *([catalog] if catalog.exists() else [])):
        assert file.stat().st_mode & 0o077 == 0


def test_locks_of_an_earlier_version_are_closed_to_others(own_cluster: RealCluster) -> None:
    own_cluster.directory.mkdir(mode=0o755)
    for name in ("lock", "podling.log"):
        (own_cluster.directory / name).touch(0o644)
    own_cluster.up()
    for name in ("lock", "podling.log", "podling.pid"):
        assert (own_cluster.directory / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # the child makes system calls only
def test_another_user_cannot_hold_the_lock(own_cluster: RealCluster) -> None:
    own_cluster.up()
    own_cluster.directory.parent.chmod(0o755)
    child = os.fork()
    if child == 0:  # another user, who knows where the files are
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        held = 0
        for path in (own_cluster.directory / "lock", machine_lock.LOCK):
            try:
                fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_SH | fcntl.LOCK_NB)
                held += 1
            except PermissionError:
                continue
            except OSError:
                held += 1
        os._exit(held)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
