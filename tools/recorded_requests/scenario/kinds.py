"""The kinds that a server serves, from its discovery, each with a valid object."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tools.recorded_requests.recorder import Json, Recorder

ROOT = Path(__file__).resolve().parents[3]
VALID_OBJECTS = ROOT / "tests" / "support" / "valid_objects.yaml"
OWN_OBJECTS = Path(__file__).with_name("objects.yaml")
NAMESPACE = "default"


@dataclass(frozen=True)
class Kind:
    """One resource of one group and version.

    Args:
        subresources: name and discovery entry.
        valid: a valid object, None for kinds that need one and have none.
    """

    group_version: str
    resource: str
    kind: str
    namespaced: bool
    verbs: Sequence[str]
    subresources: Sequence[tuple[str, Json]] = ()
    valid: Json | None = field(default=None, repr=False)

    @property
    def base(self) -> str:
        """The path of the group and version."""
        return f"/{'apis' if '/' in self.group_version else 'api'}/{self.group_version}"

    @property
    def everywhere(self) -> str:
        """The path of the collection in all namespaces."""
        return f"{self.base}/{self.resource}"

    @property
    def collection(self) -> str:
        """The path of the collection, in the scenario's namespace if the kind has namespaces."""
        return f"{self.base}/namespaces/{NAMESPACE}/{self.resource}" if self.namespaced else self.everywhere

    @property
    def name(self) -> str:
        """The name of the valid object."""
        return str(self.body()["metadata"].get("name", "none"))

    @property
    def path(self) -> str:
        """The path of the valid object."""
        return f"{self.collection}/{self.name}"

    @property
    def title(self) -> str:
        """The group, version and resource."""
        return f"{self.group_version}/{self.resource}"

    def body(self) -> Json:
        """Return a copy of the valid object."""
        return copy.deepcopy(self.valid or {"metadata": {"name": "none"}})

    def stored(self) -> bool:
        """Return whether objects of the kind can be created and read again."""
        return {"create", "get", "list"} <= set(self.verbs) and self.valid is not None


def discovered(recorder: Recorder) -> list[Kind]:
    """Read the discovery documents and return all kinds that they name."""
    objects = {(each["apiVersion"], each["kind"]): each for each in _objects()}
    found = []
    for group_version, document in documents(recorder):
        own = [each for each in document.get("resources", ()) if "/" not in each["name"]]
        for each in own:
            prefix = each["name"] + "/"
            below = [other for other in document["resources"] if other["name"].startswith(prefix)]
            found.append(
                Kind(
                    group_version,
                    each["name"],
                    each["kind"],
                    each["namespaced"],
                    each["verbs"],
                    [(other["name"].removeprefix(prefix), other) for other in below],
                    objects.get((group_version, each["kind"])),
                )
            )
    return found


def documents(recorder: Recorder) -> Iterator[tuple[str, Json]]:
    """Yield each group and version with its discovery document."""
    recorder.send("core versions", "GET", "/api")
    groups = recorder.send("groups", "GET", "/apis").json()["groups"]
    paths = ["/api/v1"]
    for group in groups:
        recorder.send(f"group {group['name']}", "GET", f"/apis/{group['name']}")
        paths += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    for path in paths:
        yield path.split("/", 2)[2], recorder.send(f"version {path}", "GET", path).json()


def _objects() -> list[Json]:
    """Return the valid objects; copied, because aliases of YAML share parts."""
    read: list[Any] = []
    for path in (VALID_OBJECTS, OWN_OBJECTS):
        if path.exists():
            read += yaml.safe_load(path.read_text())
    return [copied(each) for each in read]


def copied(value: Any) -> Any:
    """Return a copy that shares nothing, not even within itself."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [copied(each) for each in value]
    return value
