"""The CustomResourceDefinition of Advanced StatefulSets, in both versions. Pure.

Upstream: ``apis/apps/v1alpha1/statefulset_types.go`` and ``apis/apps/v1beta1/statefulset_types.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import STATUS_AND_SCALE, definition_of, version_of
from podling_kruise.names import GROUP
from podling_kruise.schemas import (
    CONDITIONS,
    FLAG,
    INT_OR_STRING,
    LIFECYCLE,
    OPEN,
    PRIORITY,
    SELECTOR,
    TEXT,
    Schema,
    column,
    described,
    items,
    number,
    record,
)

NAME = f"statefulsets.{GROUP}"

_COLUMNS = [
    column("DESIRED", ".spec.replicas", "The desired number of pods."),
    column("CURRENT", ".status.replicas", "The number of all current pods."),
    column("UPDATED", ".status.updatedReplicas", "The number of pods updated."),
    column("READY", ".status.readyReplicas", "The number of pods ready."),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
    column("CONTAINERS", ".spec.template.spec.containers[*].name", kind="string", priority=1),
    column("IMAGES", ".spec.template.spec.containers[*].image", kind="string", priority=1),
]
_STRATEGY = record(
    type=described(TEXT, "RollingUpdate or OnDelete; a podUpdatePolicy stands for a rolling update with it."),
    rollingUpdate=record(
        partition=described(number(), "Pods that keep the old revision."),
        maxUnavailable=described(INT_OR_STRING, "Pods that may be unavailable; above 1 with Parallel only."),
        podUpdatePolicy=described(TEXT, "ReCreate, InPlaceIfPossible or InPlaceOnly."),
        paused=described(FLAG, "Stop the update."),
        unorderedUpdate=described(
            record(priorityStrategy=described(PRIORITY, "The order in which pods are updated.")),
            "Update pods in another order than from the highest ordinal down; with Parallel only.",
        ),
        inPlaceUpdateStrategy=record(
            gracePeriodSeconds=described(
                number(minimum=0), "Time between closing the readiness gate and changing the pod."
            ),
            imagePreDownloadParallelism=INT_OR_STRING,
            imagePreDownloadTimeoutSeconds=number(),
            imagePreDownloadMinUpdatedReadyPods=number(),
        ),
        minReadySeconds=described(number(), "Time for which a pod must be ready to be available."),
    ),
)
_SHARED = {
    "replicas": described(number(), "The desired number of pods."),
    "selector": described(SELECTOR, "Selects the pods; must match the labels of the template."),
    "template": described(OPEN, "The pods: a PodTemplateSpec."),
    "volumeClaimTemplates": described(items(OPEN), "Claims that each pod gets for itself."),
    "serviceName": described(TEXT, "The service that gives the pods their names."),
    "podManagementPolicy": described(TEXT, "OrderedReady or Parallel."),
    "updateStrategy": described(_STRATEGY, "The way pods are updated."),
    "revisionHistoryLimit": described(number(), "Old revisions that are kept."),
}
_NEWER = {
    "volumeClaimUpdateStrategy": described(
        record(type=described(TEXT, "OnPodRollingUpdate or OnDelete.")), "The way claims are updated."
    ),
    "reserveOrdinals": described(items(INT_OR_STRING), "Ordinals, and ranges as 3-5, that no pod gets."),
    "lifecycle": described(LIFECYCLE, "Hooks that hold pods back."),
    "scaleStrategy": described(
        record(
            maxUnavailable=described(
                INT_OR_STRING, "Pods that may be unavailable while pods are created; with Parallel only."
            )
        ),
        "The way pods are created.",
    ),
    "persistentVolumeClaimRetentionPolicy": described(
        record(
            whenDeleted=described(TEXT, "Retain or Delete the claims of a deleted set."),
            whenScaled=described(TEXT, "Retain or Delete the claims of pods above the replica count."),
        ),
        "What becomes of claims.",
    ),
    "ordinals": record(("start",), start=described(number(minimum=0), "The ordinal of the first pod.")),
}
_STATUS = {
    "observedGeneration": number(64),
    "replicas": number(),
    "readyReplicas": number(),
    "availableReplicas": number(),
    "currentReplicas": number(),
    "updatedReplicas": number(),
    "currentRevision": TEXT,
    "updateRevision": TEXT,
    "collisionCount": number(),
    "conditions": CONDITIONS,
    "labelSelector": TEXT,
}
_NEWER_STATUS = {
    "updatedReadyReplicas": number(),
    "updatedAvailableReplicas": number(),
    "volumeClaims": items(
        record(
            ("volumeClaimName", "compatibleReplicas", "compatibleReadyReplicas"),
            volumeClaimName=TEXT,
            compatibleReplicas=described(number(), "Pods whose claim is at least as large as its template."),
            compatibleReadyReplicas=described(number(), "Those of them whose volume is, too."),
        )
    ),
}


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    versions = (
        _version("v1alpha1", _SHARED, _STATUS, storage=False),
        _version("v1beta1", {**_SHARED, **_NEWER}, {**_STATUS, **_NEWER_STATUS}, storage=True),
    )
    return definition_of("StatefulSet", versions, short_names=["sts", "asts"])


def _version(name: str, own: dict[str, Schema], own_status: dict[str, Schema], *, storage: bool) -> Schema:
    counts = ("availableReplicas", "currentReplicas", "readyReplicas", "replicas", "updatedReplicas")
    spec, status = record(("selector", "template"), **own), record(counts, **own_status)
    text = "Pods with an identity, made and updated in order."
    return version_of(name, text, spec, status, _COLUMNS, storage=storage, subresources=STATUS_AND_SCALE)
