"""A cluster for a suite, with the stand-in images loaded."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.clusters import RealCluster
from tools.foreign_suites import images

STAND_INS = Path(__file__).parent / "stand_ins"


@contextmanager
def prepared_cluster(directory: Path, *, system_pod: bool) -> Iterator[RealCluster]:
    """Run a new cluster of one node on the ``oci`` runtime, as long as the block lasts.

    ``system_pod`` adds a running pod in kube-system, where the usual clusters have some.
    """
    cluster = RealCluster(directory, "oci", "--port", "0")
    directory.mkdir(parents=True)
    try:
        cluster.up()
        images.load(cluster, directory.parent)
        if system_pod:
            cluster.kubectl("apply", "-f", str(STAND_INS / "system_pod.yaml"))
            cluster.kubectl(
                "wait",
                "--for=condition=Available",
                "-n",
                "kube-system",
                "deployment",
                "--all",
                "--timeout=60s",
            )
        yield cluster
    finally:
        cluster.remove()


def describe_pods(cluster: RealCluster) -> str:
    """Return the pods and late events of a cluster whose suite failed, for its log."""
    texts = (
        cluster.try_kubectl("get", "pods", "-A", "-o", "wide"),
        cluster.try_kubectl("get", "events", "-A", "--sort-by=.lastTimestamp"),
    )
    return "\n".join(done.out[-20_000:] for done in texts)


def kubectl_version() -> str:
    """Return one line on the kubectl in use.

    Raises:
        OSError: there is none.
    """
    return subprocess.run(
        ["kubectl", "version", "--client"], capture_output=True, text=True, check=True
    ).stdout
