"""Real pods that share a directory with the test: files in it say how far each of them is, and may go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.clusters import shell_pod

Plain = dict[str, Any]


def wait_for(mark: str) -> str:
    """Return a script that ends once the test has made a file."""
    return f"until [ -e /marks/{mark} ]; do sleep 0.1; done"


def marked(name: str, script: str, **more: Any) -> Plain:
    """Return a container that shares a directory with the test."""
    mounts = [{"name": "marks", "mountPath": "/marks"}, *more.pop("mounts", ())]
    common = {"name": name, "image": "podling.local/host", "imagePullPolicy": "IfNotPresent"}
    return {**common, "command": ["sh", "-c", script], "volumeMounts": mounts, **more}


def pod(name: str, marks: Path, *containers: Plain, **spec: Any) -> Plain:
    """Return a pod with these containers and the directory ``marks``."""
    found = shell_pod(name, "", **spec)
    found["spec"]["containers"] = list(containers)
    found["spec"].setdefault("volumes", []).append({"name": "marks", "hostPath": {"path": str(marks)}})
    return found
