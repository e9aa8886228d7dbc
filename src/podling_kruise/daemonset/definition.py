"""The CustomResourceDefinition of Advanced DaemonSets, in both versions. Pure.

Upstream: ``apis/apps/v1alpha1/daemonset_types.go`` and ``apis/apps/v1beta1/daemonset_types.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.names import GROUP
from podling_kruise.schemas import (
    CONDITIONS,
    FLAG,
    INT_OR_STRING,
    LIFECYCLE,
    OPEN,
    SELECTOR,
    TEXT,
    Schema,
    column,
    described,
    number,
    record,
)

NAME = f"daemonsets.{GROUP}"

_COLUMNS = [
    column("DESIRED", ".status.desiredNumberScheduled", "The desired number of pods."),
    column("CURRENT", ".status.currentNumberScheduled", "The current number of pods."),
    column("READY", ".status.numberReady", "The number of pods ready."),
    column("UP-TO-DATE", ".status.updatedNumberScheduled", "The number of pods updated."),
    column("AVAILABLE", ".status.numberAvailable", "The number of pods available."),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
    column("CONTAINERS", ".spec.template.spec.containers[*].name", kind="string", priority=1),
    column("IMAGES", ".spec.template.spec.containers[*].image", kind="string", priority=1),
]
_STRATEGY = record(
    type=described(TEXT, "RollingUpdate or OnDelete; a policy for pods stands for a rolling update with it."),
    rollingUpdate=record(
        rollingUpdateType=described(TEXT, "Standard, InPlaceIfPossible or InPlaceOnly."),
        maxUnavailable=described(INT_OR_STRING, "Nodes that may lack an available pod."),
        maxSurge=described(INT_OR_STRING, "Nodes that may have a new pod beside an available old one."),
        selector=described(SELECTOR, "Selects the nodes whose pods are updated, by their labels."),
        partition=described(INT_OR_STRING, "Nodes whose pods keep the old revision."),
        paused=described(FLAG, "Stop the update."),
    ),
)
_SPEC = {
    "selector": described(SELECTOR, "Selects the pods; must match the labels of the template."),
    "template": described(OPEN, "The pods: a PodTemplateSpec."),
    "updateStrategy": described(_STRATEGY, "The way pods are updated."),
    "minReadySeconds": described(number(), "Time for which a pod must be ready to be available."),
    "burstReplicas": described(INT_OR_STRING, "Pods that are created, deleted or updated at the same time."),
    "revisionHistoryLimit": described(number(), "Old revisions that are kept."),
    "lifecycle": described(LIFECYCLE, "Hooks that hold pods back before they are deleted."),
}
_SCALE = record(partitionedScaling=described(FLAG, "Create no more pods than are outside of the partition."))
_STATUS = {
    "currentNumberScheduled": number(),
    "numberMisscheduled": number(),
    "desiredNumberScheduled": number(),
    "numberReady": number(),
    "observedGeneration": number(64),
    "updatedNumberScheduled": number(),
    "numberAvailable": number(),
    "numberUnavailable": number(),
    "collisionCount": number(),
    "conditions": CONDITIONS,
}
_COUNTS = (
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberMisscheduled",
    "numberReady",
    "updatedNumberScheduled",
)


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    newer = {**_SPEC, "scaleStrategy": described(_SCALE, "The way pods are created.")}
    versions = (
        _version("v1alpha1", _SPEC, {**_STATUS, "daemonSetHash": TEXT}, storage=False),
        _version("v1beta1", newer, {**_STATUS, "updateRevision": TEXT}, storage=True),
    )
    return definition_of("DaemonSet", versions, short_names=["daemon", "ads"])


def _version(name: str, own: dict[str, Schema], own_status: dict[str, Schema], *, storage: bool) -> Schema:
    spec, status = record(("selector", "template"), **own), record(_COUNTS, **own_status)
    text = "A pod on every node that should have one."
    return version_of(name, text, spec, status, _COLUMNS, storage=storage)
