"""Starts the API server of a checkout through its command line, and stops it."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

API_ONLY = ("--api-only",)
START_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """A running API server.

    Args:
        administrator: presents the administrator's certificate.
        anonymous: presents no certificate.
    """

    host: str
    port: int
    administrator: ssl.SSLContext
    anonymous: ssl.SSLContext


@contextmanager
def running(checkout: Path, directory: Path, options: Sequence[str] = API_ONLY) -> Iterator[Server]:
    """Run ``podling up`` of ``checkout`` as long as the block lasts; all its files lie in ``directory``."""
    data = directory / "data"
    up = ["up", "--detach", "--port", "0", "--kubeconfig", str(directory / "kubeconfig"), *options]
    try:
        podling(checkout, data, *up)
        yield _server(directory)
    finally:
        podling(checkout, data, "down", "--grace", "1")


def podling(checkout: Path, data: Path, command: str, *arguments: str) -> None:
    """Run a command of the checkout's own ``podling``.

    Raises:
        RuntimeError: the command failed.
    """
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PODLING", "KUBE"))
    }
    done = subprocess.run(
        [str(checkout / ".venv/bin/python"), "-m", "podling", command, "--data-dir", str(data), *arguments],
        cwd=checkout,
        env=variables,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"podling {command} of {checkout}: {done.stdout}{done.stderr}")


def commit_of(checkout: Path) -> str:
    """Return the commit that is checked out, marked when files differ from it."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _server(directory: Path) -> Server:
    config = yaml.safe_load((directory / "kubeconfig").read_text())
    cluster: dict[str, Any] = config["clusters"][0]["cluster"]
    user: dict[str, Any] = config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    pair = directory / "client.pem"
    pair.touch(mode=0o600)
    pair.write_bytes(
        base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"])
    )
    administrator = ssl.create_default_context(cadata=authority)
    administrator.load_cert_chain(pair)
    host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
    return Server(host, int(port), administrator, ssl.create_default_context(cadata=authority))
