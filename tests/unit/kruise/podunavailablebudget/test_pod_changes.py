"""Changes of pods as a budget sees them.

Cases: ``TestCanResizeInplace``, ``TestIsPodUnavailableChanged`` and ``TestIsResourceChanged`` of
``pub_control_test.go``.
"""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from podling_kruise.names import UNAVAILABLE_PREFIX
from podling_kruise.podunavailablebudget.pod_changes import operation_of

STATIC = {"kubernetes.io/config.source": "file"}


def pod(
    *,
    requests: dict[str, str] | None = None,
    limits: dict[str, str] | None = None,
    restarts: tuple[str, ...] = (),
    image: str = "web:1",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> Pod:
    policy = [{"resourceName": name, "restartPolicy": "RestartContainer"} for name in restarts]
    container: dict[str, Any] = {
        "name": "main",
        "image": image,
        "resources": {"requests": requests or {}, "limits": limits or {}},
        "resizePolicy": policy,
    }
    metadata = {"name": "web", "labels": labels or {}, "annotations": annotations or {}}
    return codec.from_plain({"metadata": metadata, "spec": {"containers": [container]}}, Pod)


SMALL, LARGE = {"cpu": "100m", "memory": "100Mi"}, {"cpu": "200m", "memory": "100Mi"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "nothing but annotations": ({}, {"annotations": {"a": "b"}}, ""),
    "another image": ({}, {"image": "web:2"}, "UPDATE"),
    "label of unavailability": ({}, {"labels": {f"{UNAVAILABLE_PREFIX}x": "1"}}, "UPDATE"),
    "label that was there": (
        {"labels": {f"{UNAVAILABLE_PREFIX}x": "1"}},
        {"labels": {f"{UNAVAILABLE_PREFIX}y": "1"}},
        "",
    ),
    "more cpu": ({"requests": SMALL}, {"requests": LARGE}, "RESIZE"),
    "the same amount in other words": ({"requests": {"cpu": "100m"}}, {"requests": {"cpu": "0.1"}}, "RESIZE"),
    "another class of service": ({"requests": SMALL}, {"requests": SMALL, "limits": SMALL}, "UPDATE"),
    "other resource changed": (
        {"requests": {**SMALL, "ephemeral-storage": "1Gi"}},
        {"requests": {**SMALL, "ephemeral-storage": "2Gi"}},
        "UPDATE",
    ),
    "other resource removed": (
        {"requests": {**SMALL, "ephemeral-storage": "1Gi"}},
        {"requests": SMALL},
        "UPDATE",
    ),
    "static pod": (
        {"requests": SMALL, "annotations": STATIC},
        {"requests": LARGE, "annotations": STATIC},
        "UPDATE",
    ),
    "container that is restarted": (
        {"requests": SMALL, "restarts": ("cpu",)},
        {"requests": LARGE, "restarts": ("cpu",)},
        "UPDATE",
    ),
    "container that another resource restarts": (
        {"requests": SMALL, "restarts": ("memory",)},
        {"requests": LARGE, "restarts": ("memory",)},
        "RESIZE",
    ),
    "resize and label of unavailability": (
        {"requests": SMALL},
        {"requests": LARGE, "labels": {f"{UNAVAILABLE_PREFIX}x": "1"}},
        "UPDATE",
    ),
    "static from now on": ({"requests": SMALL}, {"requests": LARGE, "annotations": STATIC}, "UPDATE"),
    "requests and limits": (
        {"requests": SMALL, "limits": {"memory": "1Gi"}},
        {"requests": {**SMALL, "memory": "200Mi"}, "limits": {"memory": "2Gi"}},
        "RESIZE",
    ),
    "limit that is new": (
        {"requests": SMALL, "limits": {"memory": "1Gi"}},
        {"requests": SMALL, "limits": {"memory": "1Gi", "cpu": "1"}},
        "RESIZE",
    ),
    "limit of another resource that is new": (
        {"requests": SMALL, "limits": {"memory": "1Gi"}},
        {"requests": SMALL, "limits": {"memory": "1Gi", "ephemeral-storage": "1Gi"}},
        "UPDATE",
    ),
    "request that is gone": ({"requests": SMALL}, {"requests": {"memory": "100Mi"}}, "RESIZE"),
    "resize and image": ({"requests": SMALL}, {"requests": LARGE, "image": "web:2"}, "UPDATE"),
}


@pytest.mark.parametrize(("old", "new", "operation"), CASES.values(), ids=CASES)
def test_change_of_a_pod_is_an_operation(old: dict[str, Any], new: dict[str, Any], operation: str) -> None:
    assert operation_of(pod(**old), pod(**new)) == operation
