"""The CustomResourceDefinitions of ImagePullJobs and NodeImages; the versions of each are equal. Pure.

Upstream: ``apis/apps/v1beta1/imagepulljob_types.go``, ``apis/apps/v1beta1/nodeimage_types.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.names import GROUP
from podling_kruise.schemas import (
    INT_OR_STRING,
    MAP,
    OPEN,
    SELECTOR,
    TEXT,
    TEXTS,
    TIME,
    Schema,
    column,
    described,
    items,
    number,
    record,
)

JOBS = f"imagepulljobs.{GROUP}"

_AGE = column("AGE", ".metadata.creationTimestamp", kind="date")
_JOB_COLUMNS = [
    column("TOTAL", ".status.desired", "Number of all nodes matched by this job"),
    column("ACTIVE", ".status.active", "Number of image pull task active"),
    column("SUCCEED", ".status.succeeded", "Number of image pull task succeeded"),
    column("FAILED", ".status.failed", "Number of image pull tasks failed"),
    _AGE,
]
_MESSAGE = column("MESSAGE", ".status.message", "Summary of status when job is failed", kind="string")
_NODE_COLUMNS = [
    column("DESIRED", ".status.desired", "Number of all images on this node"),
    column("PULLING", ".status.pulling", "Number of image pull task active"),
    column("SUCCEED", ".status.succeeded", "Number of image pull task succeeded"),
    column("FAILED", ".status.failed", "Number of image pull tasks failed"),
    _AGE,
]
_SANDBOX = described(record(labels=MAP, annotations=MAP), "Metadata for the runtime's call.")
_POLICY = described(TEXT, "Always, or IfNotPresent by default.")
_COMPLETION = record(
    type=described(TEXT, "Always: the job ends when all nodes have. Never: it goes on, for new nodes."),
    activeDeadlineSeconds=described(number(64), "Time after which the job ends."),
    ttlSecondsAfterFinished=described(number(), "Time after which a finished job is deleted."),
)
_PULL = {
    "timeoutSeconds": described(number(), "Time of one try; 600 by default."),
    "backoffLimit": described(number(), "Further tries; 3 by default."),
}
_NODES: Schema = record(names=described(TEXTS, "The nodes."), **SELECTOR["properties"])
TEMPLATE: dict[str, Schema] = {
    "pullSecrets": described(TEXTS, "Secrets of the namespace with logins of registries."),
    "selector": described(_NODES, "The nodes, by names or labels; all without it."),
    "podSelector": described(SELECTOR, "Pods whose nodes get the image."),
    "parallelism": described(INT_OR_STRING, "Nodes that pull at the same time; 1 by default."),
    "pullPolicy": described(record(**_PULL), "The tries."),
    "completionPolicy": described(_COMPLETION, "The end of the job."),
    "sandboxConfig": _SANDBOX,
    "imagePullPolicy": _POLICY,
}
"""The fields that a job for one image and a job for a list of images have in common."""
_JOB_SPEC = record(("completionPolicy", "image"), image=described(TEXT, "The image."), **TEMPLATE)
_COUNTS = dict.fromkeys(("desired", "succeeded", "failed"), number())
_JOB_STATUS = record(
    ("desired",),
    startTime=TIME,
    completionTime=TIME,
    active=number(),
    message=TEXT,
    failedNodes=TEXTS,
    **_COUNTS,
)
_TAG = record(
    ("tag",),
    tag=TEXT,
    createdAt=TIME,
    pullPolicy=record(ttlSecondsAfterFinished=number(), activeDeadlineSeconds=number(64), **_PULL),
    ownerReferences=items(OPEN),
    version=number(64),
    imagePullPolicy=_POLICY,
)
_IMAGE = record(
    ("tags",),
    pullSecrets=items(record(namespace=TEXT, name=TEXT, mode=TEXT)),
    tags=items(_TAG),
    sandboxConfig=_SANDBOX,
)
_TAG_STATUS = record(
    ("phase", "tag"),
    tag=TEXT,
    phase=TEXT,
    progress=number(),
    startTime=TIME,
    completionTime=TIME,
    version=number(64),
    imageID=TEXT,
    message=TEXT,
)
_NODE_SPEC = record(
    images=described({"type": "object", "additionalProperties": _IMAGE}, "The images, by their names.")
)
_NODE_STATUS = record(
    ("desired",),
    pulling=number(),
    waiting=number(),
    imageStatuses={"type": "object", "additionalProperties": record(("tags",), tags=items(_TAG_STATUS))},
    firstSyncStatus=record(syncAt=TIME, status=TEXT, message=TEXT),
    **_COUNTS,
)


@lru_cache(1)
def job_definition() -> CustomResourceDefinition:
    """Return the definition of ImagePullJobs."""
    text = "Pulls an image on nodes."
    columns = [*_JOB_COLUMNS, _MESSAGE]
    older = version_of("v1alpha1", text, _JOB_SPEC, _JOB_STATUS, columns, storage=False)
    newer = version_of("v1beta1", text, _JOB_SPEC, _JOB_STATUS, _JOB_COLUMNS, storage=True)
    return definition_of("ImagePullJob", (older, newer))


@lru_cache(1)
def node_definition() -> CustomResourceDefinition:
    """Return the definition of NodeImages."""
    text = "The images to be pulled on the node of the same name."
    older = version_of("v1alpha1", text, _NODE_SPEC, _NODE_STATUS, _NODE_COLUMNS, storage=False)
    newer = version_of("v1beta1", text, _NODE_SPEC, _NODE_STATUS, _NODE_COLUMNS, storage=True)
    return definition_of("NodeImage", (older, newer), scope="Cluster")
