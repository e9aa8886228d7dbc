"""The process runtime as an ordinary user: no root, no containers, the same cluster."""

from __future__ import annotations

import os
import shutil
import site
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

import podling
from tests.support.clusters import Done, RealCluster, command, shell_pod

pytestmark = [pytest.mark.e2e]

NOBODY = "65534"
DROP = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


STARTS_ITSELF = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"


class UserCluster(RealCluster):
    """A cluster whose commands a user without privileges runs."""

    environment: Mapping[str, str] = MappingProxyType({})

    def podling(self, *arguments: str, timeout: float = 120) -> Done:
        name, *rest = arguments
        drop = DROP if os.geteuid() == 0 else []
        environment = os.environ | {"HOME": str(self.directory.parent), **self.environment}
        return command(
            [*drop, *self.program, *name.split(), "--data-dir", str(self.directory), *rest],
            timeout=timeout,
            environment=environment,
        )


def program_for_anyone() -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment with which an unprivileged user can run this checkout.

    Only its owner may be able to reach the interpreter of a virtual environment: then another of the
    same version uses its packages.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        drop = DROP if os.geteuid() == 0 else []
        if Path(python).exists() and command([*drop, python, "-c", STARTS_ITSELF]).code == 0:
            packages = [str(Path(podling.__file__).parents[1]), *site.getsitepackages()]
            return [python, "-m", "podling"], {"PYTHONPATH": os.pathsep.join(packages)}
    pytest.skip(f"no {version} that an ordinary user can run")


@pytest.fixture
def user_cluster() -> Iterator[UserCluster]:
    """A cluster in a directory that any user may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="podling-user-"))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folder, int(NOBODY), int(NOBODY))
    cluster = UserCluster(folder / "data", "process", "--port", "0")
    cluster.program, cluster.environment = program_for_anyone()
    try:
        yield cluster
    finally:
        cluster.remove()
        shutil.rmtree(folder, ignore_errors=True)


def test_without_root_the_process_runtime_is_chosen_and_said(user_cluster: UserCluster) -> None:
    done = user_cluster.podling("up", "--detach", "--port", "0")
    assert done.code == 0, done.err + user_cluster.log()
    said = [line for line in done.out.splitlines() if "process" in line and "root" in line]
    assert len(said) == 1, done.out
    assert "real containers need root" in said[0]


def test_runtime_that_cannot_work_is_refused_and_not_remembered(user_cluster: UserCluster) -> None:
    done = user_cluster.podling("up", "--detach", "--port", "0", "--runtime", "oci")
    assert done.code == 1
    assert "real containers need root" in done.err
    assert "--runtime process" in done.err
    assert not user_cluster.directory.exists()
    assert "there is none" in user_cluster.podling("status").out
    assert user_cluster.podling("kubeconfig --path").code == 1
    assert user_cluster.podling("down").code == 0
    assert user_cluster.podling("up", "--detach", "--port", "0").code == 0, user_cluster.log()


def test_pod_runs_answers_exec_and_ends(user_cluster: UserCluster) -> None:
    user_cluster.up()
    script = "trap 'echo bye; exit 0' TERM; echo started as $(id -u); while true; do sleep 0.1; done"
    user_cluster.apply(shell_pod("plain", script))
    user_cluster.wait_ready("plain")
    expected = NOBODY if os.geteuid() == 0 else str(os.geteuid())
    assert user_cluster.kubectl("logs", "plain") == f"started as {expected}\n"
    assert user_cluster.kubectl("exec", "plain", "--", "echo", "hi") == "hi\n"
    before = user_cluster.get("pod", "plain")["status"]["containerStatuses"][0]
    user_cluster.kill()
    user_cluster.up()
    after = user_cluster.get("pod", "plain")["status"]["containerStatuses"][0]
    assert after["containerID"] == before["containerID"]
    assert after["restartCount"] == 0
    user_cluster.kubectl("delete", "pod", "plain", "--timeout=30s")
