"""The CustomResourceDefinition of SidecarSets, in both versions. Pure.

Upstream: ``apis/apps/v1alpha1/sidecarset_types.go`` and ``apis/apps/v1beta1/sidecarset_types.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.names import GROUP
from podling_kruise.schemas import (
    FLAG,
    INT_OR_STRING,
    MAP,
    OPEN,
    PRIORITY,
    SCATTER,
    SELECTOR,
    TEXT,
    Schema,
    column,
    described,
    items,
    number,
    record,
)

NAME = f"sidecarsets.{GROUP}"

_COLUMNS = [
    column("MATCHED", ".status.matchedPods", "The number of pods matched."),
    column("UPDATED", ".status.updatedPods", "The number of pods matched and updated."),
    column("READY", ".status.readyPods", "The number of pods matched and ready."),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
]
_CONTAINERS = items(OPEN)
_UPDATE = record(
    type=described(TEXT, "RollingUpdate or NotUpdate."),
    paused=described(FLAG, "Stop the update."),
    selector=described(SELECTOR, "Selects the pods to update."),
    partition=described(INT_OR_STRING, "Pods, as a number or a share, that keep the old revision."),
    maxUnavailable=described(INT_OR_STRING, "Pods that may be unavailable during an update."),
    priorityStrategy=described(PRIORITY, "The order in which pods are updated."),
    scatterStrategy=described(SCATTER, "Labels whose pods are spread over the update."),
)
_INJECTION = record(
    paused=described(FLAG, "Do not inject into new pods."),
    revision=record(
        customVersion=described(TEXT, "The custom version of the revision to inject."),
        revisionName=described(TEXT, "The name of the revision to inject."),
        policy={"type": "string", "enum": ["Always", "Partial"], "default": "Always"},
    ),
)
_METADATA = items(
    record(
        annotations=described(MAP, "Annotations of the pods."),
        patchPolicy=described(TEXT, "Retain, Overwrite or MergePatchJson."),
    )
)
_STATUS = record(
    ("matchedPods", "readyPods", "updatedPods"),
    observedGeneration=number(64),
    matchedPods=number(),
    updatedPods=number(),
    readyPods=number(),
    updatedReadyPods=number(),
    latestRevision=TEXT,
    collisionCount=number(),
)


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    older = {"namespace": described(TEXT, "The namespace of the pods; all without one.")}
    newer = {"customVersion": described(TEXT, "A name of this revision.")}
    versions = (_version("v1alpha1", older, storage=False), _version("v1beta1", newer, storage=True))
    return definition_of("SidecarSet", versions, scope="Cluster")


def _version(name: str, own: dict[str, Schema], *, storage: bool) -> Schema:
    spec = record(
        selector=described(SELECTOR, "Selects the pods."),
        namespaceSelector=described(SELECTOR, "Selects the namespaces of the pods; all without one."),
        initContainers=described(_CONTAINERS, "Init containers to inject."),
        containers=described(_CONTAINERS, "Containers to inject, with the way to inject and update each."),
        volumes=described(items(OPEN), "Volumes that the containers mount."),
        updateStrategy=described(_UPDATE, "The way pods are updated."),
        injectionStrategy=described(_INJECTION, "The way pods are injected."),
        imagePullSecrets=described(items(record(name=TEXT)), "Secrets for pulling the images."),
        revisionHistoryLimit=described(number(), "Revisions that are kept."),
        patchPodMetadata=described(_METADATA, "Annotations that the pods get."),
        **own,
    )
    text = "Containers that are injected into pods."
    return version_of(name, text, spec, _STATUS, _COLUMNS, storage=storage)
