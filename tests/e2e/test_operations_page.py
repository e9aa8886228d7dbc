"""The commands of ``docs/operations.md``, run as written, section by section."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.images import Tree, configuration, docker_archive
from tests.support.pages import commands_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SCRIPTS = commands_of("operations.md")
IMAGE = "example.com/unused:1"

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
}
WRITER = shell_pod(
    "writer",
    "echo run >> data/runs; trap 'exit 0' TERM; sleep 3600 & wait",
    container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
    volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
)


@dataclass
class Site:
    """A cluster with objects, the places that commands name, and the state before them."""

    cluster: RealCluster
    places: dict[str, Path]
    container: str
    identity: str
    output: str = ""

    def at(self, name: str) -> RealCluster:
        """Return the cluster at another place."""
        return RealCluster(self.places[name], self.cluster.runtime, "--port", "0")

    def run(self, script: str) -> None:
        """Run commands as a user who has set the places would, and stop at the first that fails."""
        binaries = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = {name: str(path) for name, path in self.places.items()}
        environment = {**os.environ, **variables, "PATH": binaries, "IMAGE": IMAGE}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{SCRIPTS['']}\n{script}"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.output = done.stdout
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}\n{self.cluster.log()}"


@contextmanager
def new_site(folder: Path) -> Iterator[Site]:
    runtime = "process" if missing_for_containers() else "oci"
    cluster = RealCluster(folder / "data", runtime, "--port", "0")
    names = {"DIR": "data", "NEW": "new", "COPY": "copy", "BACKUP": "backup.tar.gz"}
    places = {name: folder / file for name, file in names.items()}
    try:
        cluster.up()
        cluster.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        cluster.apply(CLAIM)
        cluster.apply(WRITER)
        cluster.wait_ready("writer")
        yield Site(cluster, places, container_of(cluster), DataDirectory(cluster.directory).id)
    finally:
        for name in ("DIR", "NEW", "COPY"):
            RealCluster(places[name], runtime).remove()


@pytest.fixture(scope="module")
def lasting_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site for commands that do not change it."""
    with new_site(tmp_path_factory.mktemp("lasting")) as found:
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site of the test's own."""
    with new_site(tmp_path) as found:
        yield found


def container_of(cluster: RealCluster) -> str:
    (status,) = cluster.get("pod", "writer")["status"]["containerStatuses"]
    return str(status["containerID"])


def runs_of(cluster: RealCluster) -> int:
    """Return the number of the pod's starts, by the data of its claim."""
    (volume,) = (cluster.directory / "volumes").iterdir()
    return len((volume / "runs").read_text().split())


def assert_whole(cluster: RealCluster, runs: int) -> None:
    """Assert that the objects exist and that the pod runs on its earlier data."""
    assert cluster.get("configmap", "kept")["data"] == {"a": "b"}
    cluster.wait_ready("writer")
    assert runs_of(cluster) == runs
    assert cluster.kubectl("exec", "writer", "--", "cat", "data/runs").count("run") == runs


def assert_restarted(site: Site) -> None:
    assert_whole(site.cluster, runs=2)
    assert DataDirectory(site.cluster.directory).id == site.identity


def assert_kept_running(site: Site) -> None:
    assert_whole(site.cluster, runs=1)
    assert container_of(site.cluster) == site.container


def assert_dual_stack(site: Site) -> None:
    assert_restarted(site)
    assert "10.96.0.0/12,fd00:96::/112" in site.output
    assert "services/default/kubernetes" in site.output
    if site.cluster.runtime == "oci":
        assert len(site.cluster.get("pod", "writer")["status"]["podIPs"]) == 2


def assert_moved(site: Site) -> None:
    there = site.at("NEW")
    assert_whole(there, runs=2)
    assert DataDirectory(there.directory).id == site.identity
    assert not site.cluster.directory.exists()


def assert_copied(site: Site) -> None:
    there = site.at("COPY")
    assert_whole(there, runs=2)
    assert_whole(site.cluster, runs=2)
    assert DataDirectory(there.directory).id != DataDirectory(site.cluster.directory).id == site.identity
    assert there.down().code == 0
    assert_whole(site.cluster, runs=2)


def assert_backed_up(site: Site) -> None:
    assert_kept_running(site)
    with tarfile.open(site.places["BACKUP"]) as archive:
        names = {Path(name).parts[0] for name in archive.getnames() if name != "."}
    assert {"store.db", "pki", "volumes", "cluster.json", "identity.json"} <= names
    assert not names & {"images", "nodes", "podling.log", "podling.pid"}


def assert_restored(site: Site) -> None:
    assert_whole(site.cluster, runs=2)
    gone = site.cluster.try_kubectl("get", "configmap", "after-the-backup")
    assert "NotFound" in gone.err


def assert_space_was_freed(site: Site) -> None:
    assert_kept_running(site)
    assert "store.db" in site.output
    assert f"Removed {IMAGE}" in site.output


def assert_logs_were_shown(site: Site) -> None:
    assert_kept_running(site)
    assert "Ready. Next: export KUBECONFIG=" in site.output
    assert "/default_writer_" in site.output


def assert_limits_were_shown(site: Site) -> None:
    assert "Max open files" in site.output
    assert "process_open_fds " in site.output


def assert_monitored(site: Site) -> None:
    assert "readyz check passed" in site.output
    for metric in (
        "scheduler_pending_pods",
        "kubelet_running_pods",
        "container_cpu_usage_seconds_total",
        "resource_scrape_error",
    ):
        assert f"# TYPE {metric} " in site.output


def assert_removed(site: Site) -> None:
    assert not site.cluster.directory.exists()
    assert str(site.cluster.directory) not in Path("/proc/self/mountinfo").read_text()


Outcome = Callable[[Site], None]
"""The check after the commands of each section."""

LASTING: dict[str, Outcome] = {
    "Monitoring": assert_monitored,
    "Logs": assert_logs_were_shown,
    "Limit of open files": assert_limits_were_shown,
    "Full disk": assert_space_was_freed,
    "Restart the control plane alone": assert_kept_running,
    "Back up": assert_backed_up,
}
CHANGING: dict[str, Outcome] = {
    "Stop and start": assert_restarted,
    "Several API processes": assert_restarted,
    "Address ranges": assert_dual_stack,
    "Move": assert_moved,
    "Copy": assert_copied,
    "Restore": assert_restored,
    "Remove a cluster": assert_removed,
}


@pytest.mark.parametrize("section", LASTING)
def test_commands_that_leave_the_pods_running(lasting_site: Site, section: str, tmp_path: Path) -> None:
    if section == "Full disk":
        archive = tmp_path / "image.tar"
        layer = Tree().add("only", b"content").tar()
        docker_archive(archive, IMAGE, [layer], configuration([layer]))
        assert lasting_site.cluster.podling("image load", str(archive)).code == 0
    lasting_site.run(SCRIPTS[section])
    LASTING[section](lasting_site)


@pytest.mark.parametrize("section", CHANGING)
def test_commands_that_change_the_cluster(site: Site, section: str) -> None:
    if section == "Restore":
        site.run(SCRIPTS["Back up"])
        site.cluster.kubectl("create", "configmap", "after-the-backup")
    site.run(SCRIPTS[section])
    CHANGING[section](site)


def test_every_section_with_commands_is_run() -> None:
    assert SCRIPTS.keys() - {""} == LASTING.keys() | CHANGING.keys()
