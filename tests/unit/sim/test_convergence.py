"""Comparison of objects with their specs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import DaemonSet, Deployment
from podling.sim.convergence import problem_of
from tests.support.checked import node, pod


def deployment(**status: Any) -> Deployment:
    plain = {"metadata": {"name": "web", "generation": 2}, "spec": {"replicas": 3}, "status": status}
    return msgspec.convert(plain, Deployment)


@pytest.mark.parametrize(
    ("kind", "obj", "problem"),
    [
        ("Node", node(), ""),
        ("Node", node(ready="Unknown"), "no status"),
        ("Pod", pod(), ""),
        ("Pod", pod(phase="Pending"), "Pending"),
        ("Pod", pod(deletionTimestamp="2026-01-01T00:00:00Z"), "is still being deleted"),
        ("Deployment", deployment(observedGeneration=1), "its controller has not observed its spec"),
        ("Deployment", deployment(observedGeneration=2, updatedReplicas=1), "1 of 3 pods are up to date"),
        (
            "Deployment",
            deployment(observedGeneration=2, updatedReplicas=3, readyReplicas=2),
            "2 of 3 pods are ready",
        ),
        ("Deployment", deployment(observedGeneration=2, updatedReplicas=3, readyReplicas=3), ""),
        (
            "DaemonSet",
            msgspec.convert({"status": {"desiredNumberScheduled": 2, "numberReady": 1}}, DaemonSet),
            "1 of 2 pods are ready",
        ),
    ],
)
def test_object_is_compared_with_its_spec(kind: str, obj: object, problem: str) -> None:
    assert problem_of(kind, obj) == problem
