"""The patch of a pod's resize."""

from __future__ import annotations

import pytest

from podling_vpa.limit_ranges import NamespaceLimits
from podling_vpa.updater.resize import NothingToResize, resize_patch
from tests.support.vertical_autoscalers import (
    amounts,
    autoscaler,
    container,
    pod,
    recommendation,
    recommended,
)

FREE = NamespaceLimits()
RESOURCES = "/spec/containers/0/resources"


def test_patch_adds_requests_and_limits_in_proportion() -> None:
    found = recommendation(recommended(target=amounts("2", "1Gi")))
    made = pod(container(requests=amounts("1"), limits=amounts("3")))
    assert resize_patch(autoscaler(found), made, FREE) == [
        {"op": "add", "path": f"{RESOURCES}/requests/cpu", "value": "2"},
        {"op": "add", "path": f"{RESOURCES}/requests/memory", "value": "1Gi"},
        {"op": "add", "path": f"{RESOURCES}/limits/cpu", "value": "6"},
    ]


def test_patch_makes_the_maps_that_are_missing() -> None:
    found = recommendation(recommended(target=amounts("2")))
    assert resize_patch(autoscaler(found), pod(), FREE) == [
        {"op": "add", "path": RESOURCES, "value": {}},
        {"op": "add", "path": f"{RESOURCES}/requests", "value": {}},
        {"op": "add", "path": f"{RESOURCES}/requests/cpu", "value": "2"},
    ]


def test_pod_without_recommended_containers_has_nothing_to_resize() -> None:
    found = recommendation(recommended("other", amounts("2")))
    made = pod(container(requests=amounts("1")))
    with pytest.raises(NothingToResize, match="no resource patches were calculated to apply"):
        resize_patch(autoscaler(found), made, FREE)
