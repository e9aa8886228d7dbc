"""Answers of ``podling why`` about pods whose environment or next batch is under way."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.extensions.explanations import Explanation
from podling_kruise.inplace.explain import explain_update
from podling_kruise.names import UPDATE_STATE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WELL = Explanation(area="none", reason="", text="", healthy=True)
SOURCE = {"fieldRef": {"fieldPath": "metadata.annotations['a']"}}


def pod(state: dict[str, Any]) -> Pod:
    """Return a pod whose container reads an annotation."""
    container = {"name": "main", "image": "web:1", "env": [{"name": "A", "valueFrom": SOURCE}]}
    plain = {
        "metadata": {"name": "web-1", "annotations": {"a": "two", UPDATE_STATE: json.dumps(state)}},
        "spec": {"containers": [container]},
        "status": {"containerStatuses": [{"name": "main", "image": "web:1", "imageID": "x", "ready": False}]},
    }
    return msgspec.convert(plain, Pod)


@pytest.mark.parametrize(
    ("state", "reason", "text"),
    [
        (
            {"updateEnvFromMetadata": True},
            "InPlaceUpdate",
            "Not all containers have the environment of its new labels and annotations yet: "
            "waiting for all containers hash consistent, but runtime-container-meta not found.",
        ),
        (
            {
                "nextContainerRefMetadata": {"side": {"annotations": {"a": "two"}}},
                "nextContainerImages": {"app": "app:2"},
                "preCheckBeforeNext": {"containersRequiredReady": ["main"]},
            },
            "NextBatch",
            "Its next containers (app, side) change after those before them: "
            "waiting container main to be ready.",
        ),
    ],
)
def test_update_that_waits_says_for_what(state: dict[str, Any], reason: str, text: str) -> None:
    found = explain_update(pod({"revision": "web-new", **state}), WELL, NOW)
    assert found is not None
    assert (found.reason, found.text) == (reason, f"Pod web-1 is updated in place. {text}")
