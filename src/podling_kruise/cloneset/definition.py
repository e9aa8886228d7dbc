"""The CustomResourceDefinition of CloneSets, in both versions. Pure.

Upstream: ``apis/apps/v1alpha1/cloneset_types.go`` and ``apis/apps/v1beta1/cloneset_types.go``.
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
    SCATTER,
    SELECTOR,
    TEXT,
    TEXTS,
    Schema,
    column,
    described,
    items,
    number,
    record,
)

NAME = f"clonesets.{GROUP}"

_COLUMNS = [
    column("DESIRED", ".spec.replicas", "The desired number of pods."),
    column("UPDATED", ".status.updatedReplicas", "The number of pods updated."),
    column("UPDATED_READY", ".status.updatedReadyReplicas", "The number of pods updated and ready."),
    column(
        "UPDATED_AVAILABLE", ".status.updatedAvailableReplicas", "The number of pods updated and available."
    ),
    column("READY", ".status.readyReplicas", "The number of pods ready."),
    column("TOTAL", ".status.replicas", "The number of all current pods."),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
    column("CONTAINERS", ".spec.template.spec.containers[*].name", kind="string", priority=1),
    column("IMAGES", ".spec.template.spec.containers[*].image", kind="string", priority=1),
    column("SELECTOR", ".status.labelSelector", kind="string", priority=1),
]
_STRATEGY = {
    "partition": described(INT_OR_STRING, "Pods, as a number or a share, that keep the old revision."),
    "maxUnavailable": described(INT_OR_STRING, "Pods that may be unavailable during an update."),
    "maxSurge": described(INT_OR_STRING, "Pods above the desired number during an update."),
    "paused": described(FLAG, "Stop the update."),
    "priorityStrategy": described(PRIORITY, "The order in which pods are updated."),
    "scatterStrategy": described(SCATTER, "Labels whose pods are spread over the update."),
}
_GRACE = described(number(minimum=0), "Time between closing the readiness gate and changing the pod.")
_ALPHA_STRATEGY = record(
    type=described(TEXT, "ReCreate, InPlaceIfPossible, InPlaceOnly or OnDelete."),
    inPlaceUpdateStrategy=record(gracePeriodSeconds=_GRACE),
    **_STRATEGY,
)
_BETA_STRATEGY = record(
    type=described(TEXT, "RollingUpdate or OnDelete."),
    rollingUpdate=record(
        podUpdatePolicy=described(TEXT, "ReCreate, InPlaceIfPossible or InPlaceOnly."),
        inPlaceUpdateStrategy=record(
            gracePeriodSeconds=_GRACE,
            imagePreDownloadParallelism=INT_OR_STRING,
            imagePreDownloadTimeoutSeconds=number(),
            imagePreDownloadMinUpdatedReadyPods=number(),
        ),
        **_STRATEGY,
    ),
)
_SCALE = {
    "podsToDelete": described(TEXTS, "Names of pods to delete first."),
    "maxUnavailable": described(INT_OR_STRING, "Pods that may be unavailable while pods are created."),
}
_ALPHA_SCALE = record(**_SCALE, disablePVCReuse=described(FLAG, "Delete the claims of deleted pods."))
_BETA_SCALE = record(
    **_SCALE,
    enablePVCReuse={**described(FLAG, "Give the claims of deleted pods to new ones."), "default": False},
    excludePreparingDelete=described(FLAG, "Do not count pods that a hook keeps from being deleted."),
)
_STATUS = record(
    ("availableReplicas", "readyReplicas", "replicas", "updatedReadyReplicas", "updatedReplicas"),
    observedGeneration=number(64),
    replicas=number(),
    readyReplicas=number(),
    availableReplicas=number(),
    updatedReplicas=number(),
    updatedReadyReplicas=number(),
    updatedAvailableReplicas=number(),
    expectedUpdatedReplicas=number(),
    updateRevision=TEXT,
    currentRevision=TEXT,
    collisionCount=number(),
    conditions=CONDITIONS,
    labelSelector=TEXT,
)


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    versions = (
        _version("v1alpha1", _ALPHA_SCALE, _ALPHA_STRATEGY, storage=False),
        _version("v1beta1", _BETA_SCALE, _BETA_STRATEGY, storage=True),
    )
    return definition_of("CloneSet", versions, short_names=["clone"])


def _version(name: str, scale: Schema, strategy: Schema, *, storage: bool) -> Schema:
    spec = record(
        ("selector", "template"),
        replicas=described(number(), "The desired number of pods."),
        selector=described(SELECTOR, "Selects the pods; must match the labels of the template."),
        template=described(OPEN, "The pods: a PodTemplateSpec."),
        volumeClaimTemplates=described(items(OPEN), "Claims that each pod gets for itself."),
        scaleStrategy=described(scale, "The way pods are created and deleted."),
        updateStrategy=described(strategy, "The way pods are updated."),
        revisionHistoryLimit=described(number(), "Old revisions that are kept."),
        minReadySeconds=described(number(), "Time for which a pod must be ready to be available."),
        lifecycle=described(LIFECYCLE, "Hooks that hold pods back."),
        progressDeadlineSeconds=described(number(), "Time within which an update must make progress."),
    )
    return version_of(
        name,
        "A number of equal pods.",
        spec,
        _STATUS,
        _COLUMNS,
        storage=storage,
        subresources=STATUS_AND_SCALE,
    )
