"""Data directories that are copied or moved: ownership of containers and volumes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SECONDS = 80_000 + os.getpid() % 9_999
"""Distinguishes this run's processes from others."""

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
}
WRITER = shell_pod(
    "writer",
    f"echo run >> data/runs; trap 'exit 0' TERM; sleep {SECONDS} & wait",
    container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
    volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
)


@pytest.fixture(params=["oci", "process"])
def original(request: pytest.FixtureRequest, own_cluster: RealCluster) -> RealCluster:
    own_cluster.runtime = request.param
    own_cluster.up()
    own_cluster.apply(CLAIM)
    own_cluster.apply(WRITER)
    own_cluster.wait_ready("writer")
    return own_cluster


@pytest.fixture
def there(original: RealCluster, tmp_path: Path) -> Iterator[RealCluster]:
    """A cluster at another, empty place."""
    other = RealCluster(tmp_path / "there", original.runtime, "--port", "0")
    try:
        yield other
    finally:
        other.remove()


def container_of(cluster: RealCluster) -> tuple[str, int]:
    (status,) = cluster.get("pod", "writer")["status"]["containerStatuses"]
    return status["containerID"], status["restartCount"]


def runs_of(cluster: RealCluster) -> list[str]:
    (volume,) = list((cluster.directory / "volumes").iterdir())
    return (volume / "runs").read_text().split()


def answer(cluster: RealCluster) -> str:
    return cluster.kubectl("exec", "writer", "--", "echo", "alive").strip()


def sleepers() -> set[str]:
    """Return the processes of every ``WRITER`` on the machine."""
    found = subprocess.run(["pgrep", "-f", f"^sleep {SECONDS}"], capture_output=True, text=True, check=False)
    return set(found.stdout.split())


@pytest.mark.parametrize("running", [True, False])
def test_copy_never_touches_the_containers_of_the_original(
    original: RealCluster, there: RealCluster, running: bool
) -> None:
    before = container_of(original)
    if not running:
        original.kill()  # the original's containers keep running
    subprocess.run(["cp", "-a", str(original.directory), str(there.directory)], check=True)
    assert there.down().code == 0, "even 'down' of a copy that never ran"
    there.up()
    there.wait_ready("writer")
    if not running:
        original.up()
    assert container_of(original) == before
    assert answer(original) == "alive"
    assert container_of(there)[0] != before[0]
    assert DataDirectory(there.directory).id != DataDirectory(original.directory).id
    assert runs_of(original) == ["run"]
    assert runs_of(there) == ["run", "run"], "the copy has the data of the original, in a place of its own"
    assert there.down().code == 0
    assert container_of(original) == before
    assert answer(original) == "alive"


@pytest.mark.parametrize("ended", ["down", "kill"])
def test_moved_directory_keeps_its_volumes(original: RealCluster, there: RealCluster, ended: str) -> None:
    identity = DataDirectory(original.directory).id
    if ended == "down":
        assert original.down().code == 0
    else:
        original.kill()
    shutil.move(original.directory, there.directory)
    there.up()
    there.wait_ready("writer")
    assert DataDirectory(there.directory).id == identity
    assert runs_of(there) == ["run", "run"]
    assert answer(there) == "alive"


def test_original_that_was_moved_keeps_its_containers_from_its_copy(
    original: RealCluster, there: RealCluster, tmp_path: Path
) -> None:
    """The copy takes the place of the original, which keeps running under another name."""
    before, before_sleepers = container_of(original), sleepers()
    assert before_sleepers
    original.kill()
    aside = RealCluster(tmp_path / "aside", original.runtime, "--port", "0")
    shutil.move(original.directory, aside.directory)
    subprocess.run(["cp", "-a", str(aside.directory), str(original.directory)], check=True)
    try:
        original.up()
        original.wait_ready("writer")
        assert container_of(original)[0] != before[0]
        assert before_sleepers < sleepers(), "the containers of the original run on"
        aside.up()
        aside.wait_ready("writer")
        assert DataDirectory(aside.directory).id != DataDirectory(original.directory).id
    finally:
        aside.remove()
