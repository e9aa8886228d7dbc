"""``podling record`` follows a cluster of real containers; its scenario replays the same lives of pods."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.clusters import RealCluster, command, namespace, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

NAMESPACE = "recorded"
DEADLINE_SECONDS = 60


@contextmanager
def recording(cluster: RealCluster, scenario: Path, log: Path) -> Iterator[None]:
    """Record as long as the block lasts. It begins when the recorder has seen the cluster."""
    arguments = ("record", str(scenario), "--data-dir", str(cluster.directory), "--log", str(log))
    program = [sys.executable, "-m", "podling", *arguments]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as recorder:
        assert recorder.stderr is not None
        try:
            assert recorder.stderr.readline() == "recording; Ctrl-C ends it\n"
            yield
        finally:
            recorder.send_signal(signal.SIGINT)
            _, said = recorder.communicate(timeout=DEADLINE_SECONDS)
    assert recorder.returncode == 0, said


def test_recorded_scenario_replays_the_order_of_pod_lives(cluster: RealCluster, tmp_path: Path) -> None:
    scenario, history, replayed = (tmp_path / name for name in ("s.yaml", "history.jsonl", "replayed.jsonl"))
    job = shell_pod("ends", "sleep 2", restartPolicy="Never")
    serves = shell_pod("serves", "trap 'exit 0' TERM; while :; do sleep 1; done")
    failing = shell_pod("fails", "sleep 1; exit 3", restartPolicy="OnFailure")
    with namespace(cluster, NAMESPACE), recording(cluster, scenario, history):
        for pod in (serves, job, failing):
            pod["metadata"]["namespace"] = NAMESPACE
            cluster.apply(pod)
        in_namespace = ("-n", NAMESPACE)
        cluster.wait_ready("serves", *in_namespace)
        phase = "--for=jsonpath={.status.phase}=Succeeded"
        cluster.kubectl("wait", phase, "pod/ends", "--timeout=60s", *in_namespace)
        restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
        cluster.kubectl("wait", restarted, "pod/fails", "--timeout=60s", *in_namespace)
        cluster.kubectl("delete", "pod", "serves", "fails", "--wait", *in_namespace)
    podling = [sys.executable, "-m", "podling"]
    played = command([*podling, "sim", str(scenario), "--log", str(replayed)])
    assert played.code == 0, f"{played.out}{played.err}\n{scenario.read_text()}"
    compared = command([*podling, "compare", str(history), str(replayed)])
    assert compared.code == 0, f"{compared.out}{compared.err}\n{scenario.read_text()}"
    assert "3 pods" in compared.out, compared.out
