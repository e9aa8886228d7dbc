"""``kubectl port-forward`` and ``kubectl proxy``, and HTTP to the local port that they open."""

from __future__ import annotations

import re
import select
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.clusters import RealCluster

SECONDS = 30


@contextmanager
def listening(cluster: RealCluster, *arguments: str) -> Iterator[int]:
    """Run a command of kubectl that listens on a free local port; yield the port."""
    process = subprocess.Popen(
        cluster.kubectl_command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    with process.stdout as output:
        try:
            readable, _, _ = select.select([output], [], [], SECONDS)
            line = output.readline() if readable else ""
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            assert found, f"kubectl {' '.join(arguments)}: {line}"
            yield int(found[1])
        finally:
            process.kill()
            process.wait()


def fetch(port: int, path: str = "/") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS) as response:
        return str(response.read(), errors="replace")
