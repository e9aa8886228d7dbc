"""Tests of the default pull policy."""

from __future__ import annotations

import pytest

from podling.apiserver.kinds.pod.image_defaults import image_pull_policy


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/team/app", "Always"),
        ("registry:5000/team/app:v1", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "0" * 64, "Always"),
        ("NotAnImage", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_only_moving_tags_are_always_pulled(image: str, policy: str) -> None:
    assert image_pull_policy(image) == policy
