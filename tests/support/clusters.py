"""Real clusters for end-to-end tests: processes started by the ``podling`` command, driven by kubectl."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from podling.files.trees import remove_tree

PODLING = [sys.executable, "-m", "podling"]
DEADLINE = "60s"
SWAP = "--fail-swap-on=false"
"""An option of nodes: the tests run on machines with swap, too."""


@dataclass(frozen=True)
class Done:
    """A command's exit code and output."""

    code: int
    out: str
    err: str


def command(
    arguments: Sequence[str],
    *,
    stdin: str | None = None,
    timeout: float = 120,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command to its end; never raises for a bad exit code."""
    result = subprocess.run(
        list(arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=environment,
    )
    return Done(result.returncode, result.stdout, result.stderr)


class RealCluster:
    """A cluster in a process of its own, with the operations that tests need."""

    def __init__(self, directory: Path, runtime: str, *options: str) -> None:
        self.directory = directory
        self.runtime = runtime
        self.options = options
        self.program = PODLING

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "admin.kubeconfig"

    @property
    def pid(self) -> int:
        return int((self.directory / "podling.pid").read_text())

    @property
    def process(self) -> int:
        """The cluster's first process, by the number that the test knows it by."""
        return self.pid

    def podling(self, *arguments: str, timeout: float = 120) -> Done:
        name, *rest = arguments
        return command(
            [*self.program, *name.split(), "--data-dir", str(self.directory), *rest], timeout=timeout
        )

    def up(self, *options: str) -> Done:
        always = ("--detach", "--runtime", self.runtime, SWAP)
        done = self.podling("up", *always, *self.options, *options)
        assert done.code == 0, f"podling up: {done.out}{done.err}\n{self.log()}"
        return done

    def down(self) -> Done:
        return self.podling("down", "--grace", "1")

    def kill(self) -> None:
        """``kill -9``, and wait until the process is gone."""
        pid = self.process
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            import select

            assert select.select([handle], [], [], 10)[0], f"process {pid} survived SIGKILL"
        finally:
            os.close(handle)

    def log(self) -> str:
        path = self.directory / "podling.log"
        return path.read_text()[-5000:] if path.exists() else "(no log)"

    def kubectl_command(self, *arguments: str) -> list[str]:
        """Return the command line, for tests that start it and do not wait."""
        return ["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments]

    def try_kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 120) -> Done:
        return command(self.kubectl_command(*arguments), stdin=stdin, timeout=timeout)

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 120) -> str:
        """Return kubectl's output; the test fails if kubectl does."""
        done = self.try_kubectl(*arguments, stdin=stdin, timeout=timeout)
        assert done.code == 0, f"kubectl {' '.join(arguments)}: {done.out}{done.err}\n{self.log()}"
        return done.out

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, manifest: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))

    def wait_ready(self, pod: str, *arguments: str) -> None:
        self.kubectl("wait", "--for=condition=Ready", f"pod/{pod}", f"--timeout={DEADLINE}", *arguments)

    @cached_property
    def token(self) -> str:
        """An administrator's token, requested once: it outlives restarts."""
        return self.podling("token create").out.strip()

    def request(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any], list[str]]:
        """Send a raw request as administrator; return status code, decoded JSON body and Warning headers."""
        config = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(config["certificate-authority-data"]).decode()
        request = urllib.request.Request(
            config["server"] + path,
            data=body or None,
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": content_type},
        )
        context = ssl.create_default_context(cadata=authority)
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as response:
                return response.status, json.load(response), response.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error), error.headers.get_all("Warning") or []

    def remove(self) -> None:
        """Take the cluster down and remove its directory, in any state."""
        self.down()
        remove_tree(self.directory)


@contextmanager
def running_cluster(directory: Path, runtime: str) -> Iterator[RealCluster]:
    """A cluster of one node, as long as the block lasts; skips the test where there is no kubectl."""
    if not shutil.which("kubectl"):
        pytest.skip("needs kubectl")
    running = RealCluster(directory, runtime, "--port", "0")
    try:
        running.up()
        yield running
    finally:
        running.remove()


@contextmanager
def namespace(cluster: RealCluster, name: str) -> Iterator[None]:
    """A namespace of the test's own, as long as the block lasts."""
    cluster.kubectl("create", "namespace", name)
    yield
    cluster.kubectl("delete", "namespace", name)


def shell_pod(name: str, script: str, *, image: str = "podling.local/host", **spec: Any) -> dict[str, Any]:
    """Return a pod with one container, ``main``, that runs a shell script."""
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
    }
    container |= spec.pop("container", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 2, "containers": [container], **spec},
    }
