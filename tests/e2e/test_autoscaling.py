"""The example of an autoscaler on real containers, with looks every second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster

EXAMPLE = Path(__file__).parents[2] / "examples" / "autoscaling.yaml"
FAST = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
)


@pytest.fixture(scope="module")
def fast_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    fast = RealCluster(tmp_path_factory.mktemp("autoscaled") / "data", "oci", "--port", "0", *FAST)
    try:
        fast.up()
        yield fast
    finally:
        fast.remove()


@pytest.mark.e2e
@pytest.mark.root
def test_busy_containers_get_company(fast_cluster: RealCluster) -> None:
    fast_cluster.kubectl("apply", "-f", str(EXAMPLE))
    fast_cluster.kubectl("rollout", "status", "deployment/php-apache", "--timeout=60s")
    fast_cluster.kubectl("exec", "deployment/php-apache", "--", "touch", "/tmp/load")
    four = "--for=jsonpath={.status.desiredReplicas}=4"
    fast_cluster.kubectl("wait", four, "hpa/php-apache", "--timeout=90s", timeout=120)
    found = fast_cluster.get("hpa", "php-apache")["status"]
    (metric,) = found["currentMetrics"]
    assert metric["resource"]["current"]["averageUtilization"] > 55
    assert {each["type"]: each["status"] for each in found["conditions"]}["ScalingActive"] == "True"
    assert fast_cluster.get("deployment", "php-apache")["spec"]["replicas"] == 4
    done = fast_cluster.podling("why", "hpa/php-apache")
    assert "utoscaler php-apache" in done.out
