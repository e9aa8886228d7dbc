"""Updates that change resources, alone or with images: whether they are possible, and when they are complete.

Cases: ``TestDefaultCalculateInPlaceUpdateSpec_Resource``, ``TestIsContainerUpdateCompleted``,
``TestDefaultCheckInPlaceUpdateCompleted_Resource`` and ``TestDefaultCheckPodNeedsBeUnready`` of
``pkg/util/inplaceupdate``, with the feature gate of resizing on.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling_kruise.common_types import Resources
from podling_kruise.inplace.completion import closes_gate, unfinished
from podling_kruise.inplace.revision_diff import update_spec
from podling_kruise.inplace.update_state import UpdateSpec
from podling_kruise.names import (
    FEATURE_GATES,
    IN_PLACE_UPDATE_READY,
    IN_PLACE_VERTICAL_SCALING,
    UPDATE_STATE,
)

GATES = {**FEATURE_GATES, IN_PLACE_VERTICAL_SCALING: True}
BURSTABLE = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "4Gi"}}


def revision(changed: str = "", number: int = 0) -> dict[str, Any]:
    """Return the data of a revision whose first containers, so many of two, are changed.

    ``changed``: letters for the image, the CPU request, the memory request, and another field.
    """
    containers = []
    for position, name in enumerate(("nginx", "nginx2")):
        letters = changed if position < number else ""
        requests = dict(BURSTABLE["requests"])
        if "c" in letters:
            requests["cpu"] = "2"
        if "m" in letters:
            requests["memory"] = "4Gi"
        each = {
            "name": name,
            "image": "nginx:23" if "i" in letters else "nginx:22",
            "imagePullPolicy": "Never" if "o" in letters else "Always",
            "resources": {"requests": requests, "limits": BURSTABLE["limits"]},
        }
        containers.append(each)
    return {"spec": {"template": {"$patch": "replace", "spec": {"containers": containers}}}}


@pytest.mark.parametrize(
    ("changed", "number", "images", "requests"),
    [
        ("c", 1, {}, {"nginx": {"cpu": "2"}}),
        ("ic", 1, {"nginx": "nginx:23"}, {"nginx": {"cpu": "2"}}),
        ("co", 1, None, None),
        ("ico", 1, None, None),
        ("c", 2, {}, {"nginx": {"cpu": "2"}, "nginx2": {"cpu": "2"}}),
        (
            "ic",
            2,
            {"nginx": "nginx:23", "nginx2": "nginx:23"},
            {"nginx": {"cpu": "2"}, "nginx2": {"cpu": "2"}},
        ),
        ("co", 2, None, None),
        ("ico", 2, None, None),
        ("cm", 2, None, None),
        ("cm", 1, {}, {"nginx": {"cpu": "2", "memory": "4Gi"}}),
        ("icm", 1, {"nginx": "nginx:23"}, {"nginx": {"cpu": "2", "memory": "4Gi"}}),
        ("icmo", 1, None, None),
    ],
)
def test_resources_are_changed_in_place_within_the_qos_class(
    changed: str, number: int, images: dict[str, str] | None, requests: dict[str, dict[str, str]] | None
) -> None:
    found = update_spec(revision(), revision(changed, number), "new", GATES)
    if images is None or requests is None:
        assert found is None
        return
    resources = {name: Resources(requests=own, limits={}) for name, own in requests.items()}
    assert found == UpdateSpec(revision="new", container_images=images, container_resources=resources)


def resized(wanted: dict[str, Any], shown: dict[str, Any] | None) -> Pod:
    """Return a pod whose container wants some resources, while its status shows others."""
    status = {"name": "c", "imageID": "", "image": "", **({} if shown is None else {"resources": shown})}
    return pod_of([{"name": "c", "resources": wanted}], [status], {"updateResources": True})


def pod_of(
    containers: list[dict[str, Any]], statuses: list[dict[str, Any]], state: dict[str, Any] | None
) -> Pod:
    record = {} if state is None else {UPDATE_STATE: json.dumps({"revision": "new", **state})}
    plain = {
        "metadata": {"name": "web", "annotations": record},
        "spec": {"containers": containers},
        "status": {"containerStatuses": statuses},
    }
    return msgspec.convert(plain, Pod)


def amounts(limits: str = "", requests: str = "") -> dict[str, Any]:
    """Return resources from words like ``cpu=1 memory=1Gi``."""
    parts = {"limits": limits, "requests": requests}
    return {part: dict(word.split("=") for word in words.split()) for part, words in parts.items() if words}


BOTH = amounts("cpu=100m memory=128Mi", "cpu=50m memory=64Mi")


@pytest.mark.parametrize(
    ("wanted", "shown", "is_complete"),
    [
        (BOTH, BOTH, True),
        (BOTH, amounts("cpu=0.1 memory=131072Ki", "cpu=0.05 memory=64Mi"), True),
        (amounts("cpu=100m", "cpu=50m"), amounts("cpu=200m", "cpu=50m"), False),
        (amounts("memory=100Mi", "memory=50Mi"), amounts("memory=200Mi", "memory=50Mi"), False),
        (amounts("memory=100Mi"), amounts("memory=200Mi"), False),
        (amounts("", "memory=100Mi"), amounts("", "memory=50Mi"), False),
        ({}, {}, True),
        ({}, amounts("cpu=200m", "cpu=50m"), False),
        (amounts("cpu=200m", "cpu=50m"), None, False),
        (amounts("cpu=200m", "cpu=50m"), {}, False),
    ],
)
def test_resize_is_complete_when_the_status_shows_it(
    wanted: dict[str, Any], shown: dict[str, Any] | None, is_complete: bool
) -> None:
    assert (unfinished(resized(wanted, shown)) == "") is is_complete


def updated(number: int, new_images: int, new_resources: int | None) -> Pod:
    """Return a pod of so many containers, of which the first have the new images and resources.

    ``new_resources``: None if the update is not one of resources.
    """
    new, old = amounts("", "cpu=200m memory=200Mi"), amounts("", "cpu=100m memory=100Mi")
    containers, statuses = [], []
    for position in range(number):
        name = f"c{position}"
        image_id = "new" if position < new_images else "before"
        status: dict[str, Any] = {"name": name, "imageID": image_id, "image": ""}
        container: dict[str, Any] = {"name": name, "image": f"busybox:test{position}"}
        if new_resources is not None:
            container["resources"] = new
            status["resources"] = new if position < new_resources else old
        containers.append(container)
        statuses.append(status)
    last = {each["name"]: {"imageID": "before"} for each in containers}
    state = {"lastContainerStatuses": last, "updateResources": new_resources is not None}
    return pod_of(containers, statuses, state)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (pod_of([{"name": "c0"}], [{"name": "c0", "image": "", "imageID": ""}], None), ""),
        (updated(1, 1, None), ""),
        (updated(1, 0, None), "container c0 imageID not changed"),
        (updated(2, 2, None), ""),
        (updated(2, 1, None), "container c1 imageID not changed"),
        (updated(2, 2, 2), ""),
        (updated(2, 2, 1), "container c1 resources not changed"),
        (updated(2, 1, 1), "container c1 resources not changed"),
        (updated(2, 1, 2), "container c1 imageID not changed"),
        (updated(3, 3, 1), "container c1 resources not changed"),
    ],
)
def test_update_of_images_and_resources_is_complete_with_both(found: Pod, reason: str) -> None:
    assert unfinished(found) == reason


RESTARTS_FOR_CPU = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
KEEPS_FOR_MEMORY = {
    "resizePolicy": [
        *RESTARTS_FOR_CPU["resizePolicy"],
        {"resourceName": "memory", "restartPolicy": "NotRequired"},
    ]
}
RESTARTS_FOR_MEMORY = {
    "resizePolicy": [
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]
}


@pytest.mark.parametrize(
    ("gated", "policy", "resources", "closes"),
    [
        (True, {}, {}, True),
        (False, {}, {}, False),
        (True, {}, {"c2": {"cpu": "2", "memory": "2Gi"}}, False),
        (True, RESTARTS_FOR_CPU, {"c2": {"cpu": "2", "memory": "2Gi"}}, False),
        (True, RESTARTS_FOR_CPU, {"c1": {"cpu": "100m"}}, True),
        (False, RESTARTS_FOR_CPU, {"c1": {"cpu": "100m"}}, False),
        (True, RESTARTS_FOR_CPU, {"c1": {"memory": "100Mi"}}, False),
        (True, KEEPS_FOR_MEMORY, {"c1": {"memory": "100Mi"}}, False),
        (True, KEEPS_FOR_MEMORY, {"c1": {"cpu": "1", "memory": "100Mi"}}, True),
        (True, RESTARTS_FOR_MEMORY, {"c1": {"memory": "100Mi"}}, True),
        (True, RESTARTS_FOR_MEMORY, {"c1": {"cpu": "1"}}, False),
    ],
)
def test_gate_closes_for_a_resize_that_restarts_its_own_container(
    gated: bool, policy: dict[str, Any], resources: dict[str, dict[str, str]], closes: bool
) -> None:
    gates = [{"conditionType": IN_PLACE_UPDATE_READY}] if gated else []
    containers = [{"name": "c1", **policy}, {"name": "c2"}]
    found = msgspec.convert({"spec": {"containers": containers, "readinessGates": gates}}, Pod)
    own = {name: Resources(requests=each) for name, each in resources.items()}
    assert closes_gate(found, UpdateSpec(container_resources=own)) is closes
