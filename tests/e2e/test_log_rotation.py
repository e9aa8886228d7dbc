"""Container logs are rotated by size and count, and followed across rotations."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling import clock
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

SETTINGS = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerLogMaxSize: 64Ki
containerLogMaxFiles: 3
containerLogMonitorInterval: 3s
"""
WRITE = """
trap 'exit 0' TERM
i=0
while :; do
  i=$((i+1)); echo "line $i ..............................................................."
  [ $((i%20)) -ne 0 ] || sleep 0.05
done
"""
MAX_FILES = 3


@pytest.fixture(scope="module")
def chatty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A cluster with small logs, and a pod that fills one within a few seconds, again and again."""
    if reason := missing_for_containers():
        pytest.skip(reason)
    place = tmp_path_factory.mktemp("rotation")
    settings = place / "kubelet.yaml"
    settings.write_text(SETTINGS)
    cluster = RealCluster(place / "data", "oci", "--port", "0", "--kubelet-config", str(settings))
    try:
        cluster.up()
        cluster.apply(shell_pod("chatty", WRITE))
        cluster.wait_ready("chatty")
        yield cluster
    finally:
        cluster.remove()


def logs(cluster: RealCluster) -> list[Path]:
    """Return the log files of the pod's container: the present one, then the rotated ones by age."""
    return sorted(
        path for path in cluster.directory.glob("nodes/*/kubelet/logs/*chatty*/main/*") if path.is_file()
    )


def rotated(cluster: RealCluster) -> set[str]:
    """Return the times of the rotations whose files are there."""
    return {path.name.removesuffix(".gz") for path in logs(cluster)} - {"0.log"}


def test_log_is_followed_across_its_rotation(chatty: RealCluster) -> None:
    """Each line comes once and in order, although the file that is followed is exchanged."""
    follow = subprocess.Popen(
        chatty.kubectl_command("logs", "-f", "--tail=1", "chatty"), stdout=subprocess.PIPE, text=True
    )
    try:
        assert follow.stdout is not None
        seen: list[int] = []
        before, deadline = rotated(chatty), clock.monotonic() + 90
        wanted = 10**9
        while not seen or seen[-1] < wanted:
            assert clock.monotonic() < deadline, (len(seen), logs(chatty))
            seen.append(int(follow.stdout.readline().split()[1]))
            if wanted == 10**9 and len(seen) % 100 == 0 and len(rotated(chatty) - before) >= 2:
                wanted = seen[-1] + 2000  # beyond all that was on its way at the rotation
        assert seen == list(range(seen[0], seen[0] + len(seen)))
    finally:
        follow.kill()
        follow.communicate()


def test_old_logs_are_compressed_and_few(chatty: RealCluster) -> None:
    deadline = clock.monotonic() + 90
    while not any(path.suffix == ".gz" for path in logs(chatty)):
        assert clock.monotonic() < deadline, logs(chatty)
    found = logs(chatty)
    assert len(found) <= MAX_FILES
    (packed, *_) = [path for path in found if path.suffix == ".gz"]
    first = gzip.decompress(packed.read_bytes()).decode().splitlines()[0]
    assert first.split()[1:3] == ["stdout", "F"], "the format of the log stays"
