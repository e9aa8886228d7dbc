"""Clusters for tests: what a fresh one costs, in process and over HTTPS, and 200 tests with one each."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import Figure, show

TIMES = 50
TESTS = 200
PLUGIN = "podling.testing.pytest_plugin"

TEST = """
import pytest

WEB = '''
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: main, image: nginx}}]}}
'''


@pytest.mark.parametrize("number", range({tests}))
def test_deployment_becomes_available(cluster, number):
    cluster.apply(WEB)
    cluster.expect("deployment/web", "condition=Available")
"""


def main() -> None:
    in_process, over_https = median_start(lambda _: None), median_start(answer_over_https)
    show(
        [
            Figure("a fresh cluster, in process", in_process * 1000, "ms", goal=30),
            Figure("a fresh cluster, over HTTPS", over_https * 1000, "ms", goal=60),
            Figure(f"{TESTS} tests with a cluster each", seconds_of_tests(), "s", goal=15),
        ]
    )


def median_start(use: Callable[[object], None]) -> float:
    """Return the median time from nothing to a Ready node, and to a first answer by ``use``."""
    from podling.testing.cluster_thread import ClusterThread
    from podling.testing.settings import TestSettings

    seconds = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        thread = ClusterThread(TestSettings())
        thread.start()
        use(thread)
        seconds.append(time.perf_counter() - began)
        thread.stop()
    return statistics.median(seconds[1:])  # the first one imports everything


def answer_over_https(thread: object) -> None:
    """List the nodes by a client of another library."""
    import ssl
    import urllib.request

    from podling.testing.cluster_thread import ClusterThread

    assert isinstance(thread, ClusterThread)
    context = ssl.create_default_context(cadata=thread.keys.ca_pem.decode())
    context.load_cert_chain(thread.keys.admin.certificate, thread.keys.admin.key)
    with urllib.request.urlopen(f"{thread.url}/api/v1/nodes", context=context, timeout=30) as response:
        response.read()


def seconds_of_tests() -> float:
    """Return the time of pytest's whole run."""
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        Path(folder, "test_clusters.py").write_text(TEST.format(tests=TESTS))
        command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider"]
        began = time.perf_counter()
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider"], capture_output=True, text=True, cwd=folder
        )
        if done.returncode:
            raise SystemExit(f"the tests failed:\n{done.stdout}{done.stderr}")
        return time.perf_counter() - began
