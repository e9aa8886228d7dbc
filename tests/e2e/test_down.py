"""``podling down`` ends everything within a bounded time, even when programs it needs hang or are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling import clock
from podling.cli import down
from podling.cluster.directory import DataDirectory
from podling.network.names import Names
from podling.node.machine import node_names
from podling.node.runtimes import STATE
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.disks import fill
from tests.support.remains import remains

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

SERVE = "trap 'exit 0' TERM; while true; do sleep 0.1; done"
SECONDS = 50_000 + os.getpid() % 9_999
"""Distinguishes the programs that hang here from those of other runs."""
WRAPPER = f"""#!/bin/sh
# The real one's work, until it is told to hang.
if [ -e {{flag}} ]; then exec sleep {SECONDS}; fi
exec {{engine}} "$@"
"""


def engines() -> list[str]:
    return [found for name in ("crun", "runc") if (found := shutil.which(name))]


@pytest.fixture
def wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with wrappers of all OCI runtimes, first in the path; they hang once ``flag`` exists."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for engine in engines():
        wrapper = programs / Path(engine).name
        wrapper.write_text(WRAPPER.replace("{flag}", str(programs / "flag")).replace("{engine}", engine))
        wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return programs


@pytest.fixture
def serving(wrapped: Path, own_cluster: RealCluster) -> RealCluster:
    """A running cluster with a pod that has a process namespace of its own and a volume in memory."""
    own_cluster.up()
    volume = {"name": "memory", "emptyDir": {"medium": "Memory"}}
    mounted = {"volumeMounts": [{"name": "memory", "mountPath": "/memory"}]}
    pod = shell_pod("serving", SERVE, container=mounted, volumes=[volume], shareProcessNamespace=True)
    own_cluster.apply(pod)
    own_cluster.wait_ready("serving")
    return own_cluster


def on_machine(cluster: RealCluster) -> list[str]:
    """Return the remains of a stopped cluster on the machine. Its pods' files stay, as its objects do."""
    identity = f"{DataDirectory(cluster.directory).id}-0"
    names = Names.of(identity)
    places = [STATE / identity, Path("/sys/class/net") / names.bridge]
    tables = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout
    found = [line for line in tables.splitlines() if names.table in line]
    return [*left(cluster), *(str(place) for place in places if place.exists()), *found]


def left(cluster: RealCluster) -> list[str]:
    return [found for found in remains(cluster.directory) if not found.startswith(f"{cluster.directory}/")]


def hanging_processes() -> list[str]:
    found = subprocess.run(["pgrep", "-f", f"^sleep {SECONDS}"], capture_output=True, text=True, check=False)
    return found.stdout.split()


DEAF = "trap '' TERM; while true; do sleep 1; done"


def test_down_waits_no_longer_than_pods_and_ends_nodes_together(own_cluster: RealCluster) -> None:
    """Three nodes with a pod each that does not heed SIGTERM: two seconds once, not ten seconds thrice."""
    own_cluster.up("--nodes", "3")
    names = node_names(3)
    for number, node in enumerate(names):
        own_cluster.apply(shell_pod(f"deaf-{number}", DEAF, nodeName=node))
    for number in range(len(names)):
        own_cluster.wait_ready(f"deaf-{number}")
    began = clock.monotonic()
    done = own_cluster.podling("down")
    took = clock.monotonic() - began
    assert done.code == 0, done.err
    assert "3 pods" in done.out
    assert 2.0 <= took < 9.0
    assert left(own_cluster) == []


def test_down_ends_pods_while_the_runtime_hangs(serving: RealCluster, wrapped: Path) -> None:
    (wrapped / "flag").touch()
    serving.apply(shell_pod("stuck", SERVE))
    path = "{.status.containerStatuses[0].state.waiting.reason}"
    serving.kubectl("wait", "pod/stuck", f"--for=jsonpath={path}=ContainerCreating", "--timeout=20s")
    began = clock.monotonic()
    done = serving.down()
    assert done.code == 0, done.err
    assert clock.monotonic() - began < 30
    assert on_machine(serving) == []
    assert hanging_processes() == []


def test_down_ends_pods_without_a_runtime(
    serving: RealCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As if its package had been removed."""
    bare = tmp_path / "bare"
    bare.mkdir()
    for tool in ("nft", "iptables", "conmon", "sh"):
        if found := shutil.which(tool):
            (bare / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(bare))
    done = serving.down()
    monkeypatch.undo()
    assert done.code == 0, done.err
    assert "neither crun nor runc is installed" in done.err
    assert "1 pod" in done.out
    assert on_machine(serving) == []


def test_containers_get_sigterm_without_a_runtime(
    own_cluster: RealCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container can use its grace period without a runtime, too."""
    shared, bare = tmp_path / "shared", tmp_path / "bare"
    shared.mkdir()
    bare.mkdir()
    own_cluster.up()
    script = "trap 'echo told; echo bye > /shared/told; exit 0' TERM; while true; do sleep 0.1; done"
    volume = {"name": "shared", "hostPath": {"path": str(shared)}}
    mounted = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    own_cluster.apply(shell_pod("polite", script, container=mounted, volumes=[volume]))
    own_cluster.apply(shell_pod("deaf", DEAF))
    own_cluster.wait_ready("polite")
    own_cluster.wait_ready("deaf")
    for tool in ("nft", "iptables", "conmon", "sh"):
        if found := shutil.which(tool):
            (bare / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(bare))
    began = clock.monotonic()
    done = own_cluster.podling("down")
    took = clock.monotonic() - began
    monkeypatch.undo()
    assert done.code == 0, done.err
    assert (shared / "told").read_text() == "bye\n"
    assert 2.0 <= took < 10.0
    assert left(own_cluster) == []


def test_second_down_ends_the_rest_of_the_first(
    serving: RealCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first lacks the program that removes the packet filter's rules."""
    bare = tmp_path / "nothing"
    bare.mkdir()
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(bare))
        done = serving.down()
    assert done.code != 0
    assert len(done.err.strip().splitlines()) <= 2, done.err
    assert "Traceback" not in done.err
    assert left(serving) == []
    done = serving.down()
    assert done.code == 0, done.err
    assert on_machine(serving) == []


@pytest.fixture
def small_disk(own_cluster: RealCluster) -> Iterator[RealCluster]:
    """A cluster all of whose files lie on a disk of 64 MB."""
    if reason := missing_for_containers():
        pytest.skip(reason)
    own_cluster.directory.mkdir(parents=True)
    size = ["-o", "size=64m"]
    subprocess.run(["mount", "-t", "tmpfs", *size, "tmpfs", own_cluster.directory], check=True)
    try:
        yield own_cluster
    finally:
        own_cluster.down()
        subprocess.run(["umount", "-l", own_cluster.directory], check=True)


def test_down_works_on_a_full_disk(small_disk: RealCluster) -> None:
    small_disk.up()
    small_disk.apply(shell_pod("serving", SERVE))
    small_disk.wait_ready("serving")
    fill(small_disk.directory)
    done = small_disk.down()
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert on_machine(small_disk) == []
    (small_disk.directory / "ballast").unlink()
    small_disk.up()
    small_disk.wait_ready("serving")


def test_a_process_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(down, "STOP_SECONDS", 0.2)
    script = "import signal, sys, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    script += "print(flush=True); threading.Event().wait()"
    deaf = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert deaf.stdout is not None
    deaf.stdout.readline()
    reaper = threading.Thread(target=deaf.wait)
    reaper.start()
    down.stop_process(deaf.pid)
    reaper.join(10)
    deaf.stdout.close()
    assert deaf.returncode == -9
