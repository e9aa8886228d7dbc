"""OpenKruise's PodUnavailableBudget with kubectl, on ``podling up --with kruise``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import RealCluster

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "kruise" / "podunavailablebudget.yaml"
REFUSED = 'podunavailablebudget.policy.kruise.io "web" is forbidden: pub unavailable allowed is negative'


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RealCluster]:
    found = RealCluster(tmp_path / "data", "sim", "--port", "0")
    try:
        found.up("--with", "kruise")
        yield found
    finally:
        found.remove()


def until_allowed(cluster: RealCluster, number: int) -> None:
    wanted = f"--for=jsonpath={{.status.unavailableAllowed}}={number}"
    cluster.kubectl("wait", wanted, "pub/web", "--timeout=60s")


def test_deletions_and_evictions_beyond_the_budget_are_refused(cluster: RealCluster) -> None:
    cluster.kubectl("apply", "-f", str(EXAMPLE))
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    until_allowed(cluster, 1)
    pods = cluster.kubectl("get", "pods", "-l", "app=web", "-o", "name").split()
    assert len(pods) == 3
    trial = cluster.kubectl("delete", *pods, "--dry-run=server")
    assert trial.count("deleted (server dry run)") == 3
    done = cluster.try_kubectl("delete", *pods, "--wait=false")
    assert done.code == 1
    assert done.out.count(" deleted") == 1
    assert done.err.count(f"Error from server (Forbidden): {REFUSED}") == 2
    until_allowed(cluster, 1)
    cluster.kubectl("patch", "pub", "web", "--type=merge", "-p", '{"spec":{"maxUnavailable":0}}')
    until_allowed(cluster, 0)
    (node,) = cluster.kubectl("get", "nodes", "-o", "name").split()
    drained = cluster.try_kubectl("drain", node, "--ignore-daemonsets", "--force", "--timeout=20s")
    assert drained.code == 1
    assert REFUSED in drained.err
    assert len(cluster.kubectl("get", "pods", "-l", "app=web", "-o", "name").split()) == 3
    answer = cluster.podling("why", "pub/web")
    assert "PodUnavailableBudget web never allows an operation" in answer.out
