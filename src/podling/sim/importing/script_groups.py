"""Groups of containers that share a script, and where the script stands in a scenario. Pure.

Behaviours find pods by labels. Pods of Jobs have none but those that name their Job, unless the template
gives some: then the script is an annotation in the template of the Job, or of its CronJob.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from podling.runtime.images.image_names import parse
from podling.runtime.sim.script import ANNOTATION_PREFIX
from podling.sim.importing.cleaning import template_of

Plain = dict[str, Any]
Key = tuple[str, str, str]

OF_NODES = "topology.kubernetes.io/"
"""The beginning of labels that a pod gets from its node."""


def key_of(plain: Plain) -> Key:
    """Return kind, namespace and name."""
    metadata = plain["metadata"]
    return plain["kind"], metadata.get("namespace", ""), metadata["name"]


def top_owner(plain: Plain, objects: Mapping[Key, Plain]) -> Key | None:
    """Return the controller of an object, or that one's, as far as they are among ``objects``."""
    owner = _controller(plain)
    if owner is None or owner not in objects:
        return None
    return top_owner(objects[owner], objects) or owner


def _controller(plain: Plain) -> Key | None:
    metadata = plain["metadata"]
    for each in metadata.get("ownerReferences") or ():
        if each.get("controller"):
            return each["kind"], metadata.get("namespace", ""), each["name"]
    return None


class Group(Struct, frozen=True):
    """Containers that share a script: of pods with the same labels, or without labels of one workload."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    owner: Key | None
    container: str


def group_of(pod: Plain, container: str, objects: Mapping[Key, Plain]) -> Group | None:
    """Return the group of a pod's container; None if neither labels nor a workload name it."""
    metadata = pod["metadata"]
    labels = stable_labels(metadata.get("labels") or {})
    owner = None if labels else top_owner(pod, objects)
    if not labels and owner is None:
        return None
    return Group(metadata.get("namespace", ""), labels, owner, container)


def stable_labels(labels: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the labels that the template of a pod gave, without those of one revision or one pod."""
    passing = ("hash", "generation", "pod-name", "pod-index", "uid", "job-name", "completion-index")
    return tuple(
        sorted((k, v) for k, v in labels.items() if not k.endswith(passing) and not k.startswith(OF_NODES))
    )


def behaviours_of(scripts: Mapping[Group, Plain]) -> list[Plain]:
    """Return the behaviours of the groups with labels."""
    found = []
    for each, script in scripts.items():
        if each.owner is None:
            pods = {"pods": dict(each.labels), "namespace": each.namespace, "container": each.container}
            found.append({**pods, "script": script})
    return found


def annotate(kept: Iterable[Plain], scripts: Mapping[Group, Plain]) -> None:
    """Write the scripts of the other groups into the templates of their workloads."""
    by_owner = {(each.owner, each.container): script for each, script in scripts.items() if each.owner}
    for plain in kept:
        for (owner, container), script in by_owner.items():
            if owner == key_of(plain):
                metadata = template_of(plain).setdefault("metadata", {})
                annotations = metadata.setdefault("annotations", {})
                annotations.setdefault(ANNOTATION_PREFIX + container, json.dumps(script))


def missing_images(pods: Iterable[Plain]) -> dict[str, Plain]:
    """Return the scripts of images that no pod could have."""
    wanted: dict[str, None] = {}
    had: set[str] = set()
    for pod in pods:
        status = pod.get("status") or {}
        for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            reason = ((each.get("state") or {}).get("waiting") or {}).get("reason")
            if each.get("imageID"):
                had.add(each["image"])
            elif reason in ("ErrImagePull", "ImagePullBackOff"):
                wanted[each["image"]] = None
    return {parse(name).full: {"missing": True} for name in wanted if name not in had}
