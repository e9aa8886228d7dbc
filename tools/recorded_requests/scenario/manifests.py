"""Manifests that people wrote: applied as they are, read as tables, deleted again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import yaml

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.accepts import TABLE
from tools.recorded_requests.scenario.kinds import ROOT
from tools.recorded_requests.scenario.lifecycle import APPLY

RESOURCES = {"Pod": "api/v1/{}/pods", "Service": "api/v1/{}/services", "Job": "apis/batch/v1/{}/jobs",
             "Deployment": "apis/apps/v1/{}/deployments", "Node": "api/v1/nodes"}  # fmt: skip
SHARED = Path(os.environ.get("PODLING_SHARED", ROOT.parent / "shared"))
FOLDERS = (ROOT / "examples", SHARED / "manifests", SHARED / "seeds")


def apply_all(recorder: Recorder) -> None:
    """Apply each manifest on the server's side, create it again, read it as a table and delete it."""
    recorder.group("manifests")
    for name, manifest in _manifests():
        resource = RESOURCES.get(manifest.get("kind", ""))
        if resource is None:
            continue
        collection = "/" + resource.format("namespaces/recorded")
        path = f"{collection}/{manifest.get('metadata', {}).get('name', 'none')}"
        recorder.send(f"{name} create", "POST", collection, manifest, query={"dryRun": "All"})
        query = {"fieldManager": "kubectl", "fieldValidation": "Strict"}
        recorder.send(
            f"{name} apply",
            "PATCH",
            path,
            yaml.safe_dump(manifest),
            query=query,
            headers={"Content-Type": APPLY},
        )
        recorder.send(f"{name} table", "GET", path, headers={"Accept": TABLE})
        recorder.send(f"{name} delete", "DELETE", path, {"gracePeriodSeconds": 0})


def _manifests() -> Iterator[tuple[str, Json]]:
    """Yield the manifests of all folders that are there; documents' examples are not all complete."""
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".yaml", ".yml", ".json"):
                continue
            for number, found in enumerate(_documents(path.read_text())):
                if isinstance(found, dict):
                    yield f"{path.relative_to(folder.parent)} {number}", found


def _documents(text: str) -> list[object]:
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return []
