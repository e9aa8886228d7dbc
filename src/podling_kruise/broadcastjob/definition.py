"""The CustomResourceDefinition of BroadcastJobs; its versions are equal. Pure.

Upstream: ``apis/apps/v1beta1/broadcastjob_types.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.names import GROUP
from podling_kruise.schemas import (
    FLAG,
    INT_OR_STRING,
    OPEN,
    TEXT,
    TIME,
    Schema,
    column,
    described,
    items,
    number,
    record,
)

NAME = f"broadcastjobs.{GROUP}"

_COLUMNS = [
    column("Desired", ".status.desired", "The desired number of pods."),
    column("Active", ".status.active", "The number of actively running pods."),
    column("Succeeded", ".status.succeeded", "The number of pods which reached phase Succeeded."),
    column("Failed", ".status.failed", "The number of pods which reached phase Failed."),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
]
_COMPLETION = record(
    type=described(TEXT, "Always: the job ends when all pods have. Never: it goes on, for new nodes."),
    activeDeadlineSeconds=described(number(64), "Time after which the job fails."),
    ttlSecondsAfterFinished=described(number(), "Time after which a finished job is deleted."),
)
_FAILURE = record(
    type=described(TEXT, "FailFast, Continue or Pause: what follows from a failed pod."),
    restartLimit=described(number(), "Restarts after which a pod counts as failed."),
)
SPEC: Schema = record(
    ("template",),
    parallelism=described(INT_OR_STRING, "Pods that run at the same time."),
    template=described(OPEN, "The pods: a PodTemplateSpec."),
    completionPolicy=described(_COMPLETION, "The end of the job."),
    paused=described(FLAG, "Create no pods."),
    failurePolicy=described(_FAILURE, "The consequence of failed pods."),
)
_CONDITIONS = items(
    record(
        ("status", "type"),
        type=TEXT,
        status=TEXT,
        lastProbeTime=TIME,
        lastTransitionTime=TIME,
        reason=TEXT,
        message=TEXT,
    )
)
_STATUS = record(
    ("active", "desired", "failed", "phase", "succeeded"),
    conditions=_CONDITIONS,
    startTime=TIME,
    completionTime=TIME,
    active=number(),
    succeeded=number(),
    failed=number(),
    desired=number(),
    phase=TEXT,
)


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    text = "A pod on every node that fits."
    older = version_of("v1alpha1", text, SPEC, _STATUS, _COLUMNS, storage=False)
    newer = version_of("v1beta1", text, SPEC, _STATUS, _COLUMNS, storage=True)
    return definition_of("BroadcastJob", (older, newer), short_names=["bcj"])
