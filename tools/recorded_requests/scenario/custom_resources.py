"""Custom resources with definitions of several shapes, and changes of definitions."""

from __future__ import annotations

from pathlib import Path

import yaml

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.kinds import Kind
from tools.recorded_requests.scenario.lifecycle import CREATOR
from tools.recorded_requests.scenario.settling import wait_until_gone, wait_until_served

DEFINITIONS = Path(__file__).with_name("definitions.yaml")
DEFINITION = Kind(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False, ()
)
MERGE = {"Content-Type": "application/merge-patch+json"}


def define(recorder: Recorder) -> None:
    """Create the definitions and wait until each is served."""
    recorder.group("definitions")
    for definition in _definitions():
        name = definition["metadata"]["name"]
        recorder.send(f"{name} create", "POST", DEFINITION.everywhere, definition, query=CREATOR)
        wait_until_served(recorder, name)
        recorder.send(f"{name} established", "GET", f"{DEFINITION.everywhere}/{name}")


def send_changes(recorder: Recorder) -> None:
    """Stop serving a version, then delete all definitions; their objects go with them."""
    recorder.group("definitions")
    for definition in _definitions():
        name, spec = definition["metadata"]["name"], definition["spec"]
        path = f"{DEFINITION.everywhere}/{name}"
        place = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
        objects = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{place}{spec['names']['plural']}"
        for scope in ("Cluster", "Namespaced", "Other"):
            recorder.send(
                f"{name} {scope}",
                "PATCH",
                path,
                {"spec": {"scope": scope}},
                headers=MERGE,
                query={"dryRun": "All"},
            )
        versions = [{**each, "served": each["storage"]} for each in spec["versions"]]
        recorder.send(
            f"{name} fewer versions", "PATCH", path, {"spec": {"versions": versions}}, headers=MERGE
        )
        recorder.send(f"{name} deleted", "DELETE", path)
        wait_until_gone(recorder, DEFINITION, name)
        recorder.send(f"{name} objects", "GET", objects)
        recorder.send(f"{name} gone", "GET", path)


def _definitions() -> list[Json]:
    found: list[Json] = yaml.safe_load(DEFINITIONS.read_text())
    return found
