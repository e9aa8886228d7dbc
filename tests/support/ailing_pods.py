"""Pods with one failure each, and its explanation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from podling.api.core_v1 import Event, Node, Pod
from podling.cli.evidence import Evidence, Explanation, PartProblems
from podling.cli.explain import explain

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


EARLIER = "2026-01-01T11:58:00Z"


JUST_NOW = "2026-01-01T11:59:30Z"


BOUND = {"nodeName": "one"}


PROBE = {"exec": {"command": ["test", "-e", "/ok"]}, "periodSeconds": 5, "failureThreshold": 2}
STARTABLE = {"type": "PodReadyToStartContainers", "status": "True"}


HEALTHY_PARTS = PartProblems()


def ask(
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    *events: tuple[str, str],
    node: str | None = "True",
    parts: PartProblems = HEALTHY_PARTS,
    **metadata: Any,
) -> Explanation:
    """Explain a pod ``web`` with one container ``main``; ``node`` is the node's Ready condition."""
    container = {"name": "main", "image": "app:1"}
    plain = {
        "metadata": {"name": "web", "namespace": "default", **metadata},
        "spec": {"restartPolicy": "Always", "schedulerName": "default-scheduler", "containers": [container]}
        | (spec or {}),
        "status": {"phase": "Pending"} | (status or {}),
    }
    ready = {"type": "Ready", "status": node, "reason": "KubeletNotReady", "message": "no network."}
    host = msgspec.convert({"status": {"conditions": [ready]}}, Node) if node else None
    told = [event(reason, text) for reason, text in events]
    return explain(Evidence(msgspec.convert(plain, Pod), told, host, NOW, NODES, parts))


NODES = [
    msgspec.convert(plain, Node)
    for plain in (
        {
            "metadata": {"name": "one"},
            "spec": {"taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]},
        },
        {"metadata": {"name": "two"}, "spec": {"unschedulable": True}},
    )
]


def event(reason: str, text: str) -> Event:
    """``Reason`` about the pod, ``Reason/name`` about one container of it; it happened half a minute ago."""
    reason, _, about = reason.partition("/")
    path = f"spec.containers{{{about}}}" if about else ""
    plain = {
        "reason": reason,
        "message": text,
        "lastTimestamp": JUST_NOW,
        "involvedObject": {"fieldPath": path},
    }
    return msgspec.convert(plain, Event)


def container(**state: Any) -> dict[str, Any]:
    """Return a status whose only container is in this state."""
    fixed = {"name": "main", "image": "app:1", "imageID": "", "ready": False, "restartCount": 0}
    return {"phase": "Running", "conditions": [STARTABLE], "containerStatuses": [fixed | state]}


def waiting(reason: str, message: str = "because") -> dict[str, Any]:
    return container(state={"waiting": {"reason": reason, "message": message}})


def ended(code: int, reason: str = "Error", **more: Any) -> dict[str, Any]:
    times = {"startedAt": "2026-01-01T11:58:00Z", "finishedAt": JUST_NOW}
    return {"terminated": {"exitCode": code, "reason": reason, **times, **more}}


def looping(last: dict[str, Any], count: int = 4) -> dict[str, Any]:
    """Return a status whose container waits for its next start, its run before having ended as ``last``."""
    message = "back-off 1m20s restarting failed container=main pod=web"
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return container(state=state, lastState=last, restartCount=count)
