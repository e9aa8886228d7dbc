"""The CustomResourceDefinition of ContainerRecreateRequests, in both versions. Pure.

Upstream: ``apis/apps/v1beta1/containerrecreaterequest_types.go`` and the one of ``v1alpha1``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.names import GROUP
from podling_kruise.schemas import (
    FLAG,
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

NAME = f"containerrecreaterequests.{GROUP}"

_NODE = r".metadata.labels.crr\.apps\.kruise\.io/node-name"
_COLUMNS = [
    column("PHASE", ".status.phase", "Phase of this ContainerRecreateRequest.", kind="string"),
    column("POD", ".spec.podName", "Pod name of this ContainerRecreateRequest.", kind="string"),
    column("NODE", _NODE, "Node name of this ContainerRecreateRequest.", kind="string"),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
]
_PHASE: Schema = {**TEXT, "enum": ["Pending", "Recreating", "Succeeded", "Failed", "Completed"]}
_CONTEXT = record(("containerID", "restartCount"), containerID=TEXT, restartCount=number())
_CONTAINER = record(
    ("name",),
    name=described(TEXT, "The container."),
    preStop=described(OPEN, "Its hook. Written by the system."),
    ports=described(items(OPEN), "Its ports, for the hook. Written by the system."),
    statusContext=described(_CONTEXT, "The container to replace. Written by the system."),
)
_SECONDS = number(64, minimum=0)
_STRATEGY = record(
    failurePolicy=described({**TEXT, "enum": ["Fail", "Ignore"]}, "The consequence of a failed container."),
    orderedRecreate=described(FLAG, "Go on when the container before is ready."),
    forceRecreate=described(FLAG, "Stop the container although it is another one than at the creation."),
    terminationGracePeriodSeconds=described(_SECONDS, "Time to end; the pod's by default."),
    unreadyGracePeriodSeconds=described(_SECONDS, "Time that the pod is not ready before."),
    minStartedSeconds=described(number(minimum=0), "Time that a new container has to run."),
)
SPEC: Schema = record(
    ("containers", "podName"),
    podName=described(TEXT, "The pod."),
    containers=described(items(_CONTAINER), "The containers to recreate."),
    strategy=described(_STRATEGY, "The way it is done."),
    activeDeadlineSeconds=described(_SECONDS, "Time after which the request ends."),
    ttlSecondsAfterFinished=described(number(minimum=0), "Time after which an ended request is deleted."),
)
_STATE = record(("name", "phase"), name=TEXT, phase=_PHASE, message=TEXT, isKilled=FLAG)
_SNAPSHOT = record(
    ("name", "ready", "restartCount"), name=TEXT, ready=FLAG, restartCount=number(), containerID=TEXT
)
_CONDITIONS = items(
    record(
        ("lastTransitionTime", "message", "reason", "status", "type"),
        type=TEXT,
        status=TEXT,
        observedGeneration=number(64),
        lastTransitionTime=TIME,
        reason=TEXT,
        message=TEXT,
    )
)
_STATUS = {
    "phase": _PHASE,
    "completionTime": TIME,
    "message": TEXT,
    "containerRecreateStates": items(_STATE),
}


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    text = "Stops containers of a pod, which the kubelet starts again."
    newer_status = record(containerStatusSnapshot=items(_SNAPSHOT), conditions=_CONDITIONS, **_STATUS)
    older = version_of("v1alpha1", text, SPEC, record(**_STATUS), _COLUMNS, storage=False)
    newer = version_of("v1beta1", text, SPEC, newer_status, _COLUMNS, storage=True)
    return definition_of("ContainerRecreateRequest", (older, newer), short_names=["crr"])
