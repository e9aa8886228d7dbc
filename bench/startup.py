"""From process start to a Ready node, beside the import time of the same libraries."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import yaml

from bench.harness import PODLING, Figure, import_floor, median, show

TIMES = 5


def main() -> None:
    floor = import_floor()
    seconds = median(start_to_ready, TIMES)
    show([Figure("process start to node Ready", seconds, "s", floor, "imports", goal=6)])


def start_to_ready(*options: str) -> float:
    """Return the seconds until a client over TLS sees the node Ready, on a new data directory."""
    directory = Path(tempfile.mkdtemp(prefix="podling-bench-"))
    arguments = ["--data-dir", str(directory)]
    start = time.perf_counter()
    process = subprocess.Popen(
        [*PODLING, "up", *arguments, "--port", "0", *options], stdout=subprocess.DEVNULL
    )
    try:
        while not node_ready(directory):
            if process.poll() is not None:
                raise SystemExit("podling up ended before its node was Ready")
            time.sleep(0.005)
        return time.perf_counter() - start
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        subprocess.run([*PODLING, "down", *arguments], stdout=subprocess.DEVNULL, check=False)
        shutil.rmtree(directory, ignore_errors=True)


def node_ready(directory: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        config = yaml.safe_load((directory / "admin.kubeconfig").read_text())
        with urllib.request.urlopen(
            config["clusters"][0]["cluster"]["server"] + "/api/v1/nodes",
            context=tls(directory, config),
            timeout=2,
        ) as response:
            conditions = [
                (condition["type"], condition["status"])
                for node in json.load(response)["items"]
                for condition in node["status"].get("conditions", ())
            ]
            return ("Ready", "True") in conditions
    return False


def tls(directory: Path, config: dict) -> ssl.SSLContext:  # type: ignore[type-arg]
    """Return the administrator's TLS context, from the inline data of the kubeconfig."""
    import base64

    user, cluster = config["users"][0]["user"], config["clusters"][0]["cluster"]
    context = ssl.create_default_context(
        cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
    )
    pair = directory / "bench-client.pem"
    if not pair.exists():
        pair.write_bytes(
            base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"])
        )
    context.load_cert_chain(pair)
    return context


if __name__ == "__main__":
    main()
