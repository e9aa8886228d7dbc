"""The end of in-place updates. Cases: upstream's ``TestCheckInPlaceUpdateCompleted`` and of resizing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling_kruise.common_types import Resources
from podling_kruise.inplace.completion import closes_gate, unfinished
from podling_kruise.inplace.runtime_containers import (
    RuntimeContainer,
    RuntimeHashes,
    environment_hash,
    records_text,
)
from podling_kruise.inplace.update_state import UpdateSpec, annotated
from podling_kruise.names import (
    IN_PLACE_UPDATE_READY,
    RUNTIME_CONTAINERS_META,
    UPDATE_GRACE,
    UPDATE_STATE,
)

STATE = '{"revision":"new","lastContainerStatuses":{"c1":{"imageID":"img01"}}}'


def pod(state: str = "", statuses: list[dict[str, Any]] | None = None, **container: Any) -> Pod:
    plain = {
        "metadata": {"name": "web", "annotations": {UPDATE_STATE: state} if state else {}},
        "spec": {
            "containers": [{"name": "c1", "image": "image02", **container}],
            "readinessGates": [{"conditionType": IN_PLACE_UPDATE_READY}],
        },
        "status": {"containerStatuses": statuses or []},
    }
    return msgspec.convert(plain, Pod)


def status(image_id: str, image: str = "image01", **more: Any) -> list[dict[str, Any]]:
    return [{"name": "c1", "imageID": image_id, "image": image, **more}]


def meta(value: str, container_id: str = "sim://c1") -> str:
    """Return the record of a container that runs with a value of its variable."""
    hashes = RuntimeHashes(extracted_env_from_metadata_hash=environment_hash({"A": value}))
    return records_text([RuntimeContainer(name="c1", container_id=container_id, hashes=hashes)])


def configured(record: str | None) -> Pod:
    """Return a pod whose container is to get the value ``two`` from an annotation."""
    source = {"fieldRef": {"fieldPath": "metadata.annotations['a']"}}
    made = pod(
        '{"revision":"new","updateEnvFromMetadata":true}',
        status("img01", containerID="sim://c1"),
        env=[{"name": "A", "valueFrom": source}],
    )
    return annotated(made, {"a": "two", RUNTIME_CONTAINERS_META: record})


RESIZED = '{"revision":"new","updateResources":true}'
AMOUNTS = {"limits": {"cpu": "1"}, "requests": {"cpu": "1000m"}}


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (pod(), ""),
        (pod(STATE, status("img02")), ""),
        (pod(STATE, status("img01", "image02:latest")), ""),
        (pod(STATE, status("img01", "image02")), ""),
        (pod(STATE, status("img01")), "container c1 imageID not changed"),
        (pod(STATE), "not found statuses of containers c1"),
        (
            pod('{"revision":"new","nextContainerImages":{"c1":"x"}}'),
            "existing containers to in-place update in next batches",
        ),
        (
            annotated(pod(), {UPDATE_GRACE: '{"revision":"new"}'}),
            "still in grace period of in-place update",
        ),
        (
            configured(None),
            "waiting for all containers hash consistent, but runtime-container-meta not found",
        ),
        (configured("x"), "waiting for all containers hash consistent, but runtime-container-meta not found"),
        (configured(meta("one")), "waiting for all containers hash consistent"),
        (configured(meta("two", "sim://before")), "waiting for all containers hash consistent"),
        (configured('{"containers":[]}'), "waiting for all containers hash consistent"),
        (configured(meta("two")), ""),
        (pod(RESIZED, resources=AMOUNTS), "some container status is not reported"),
        (pod(RESIZED, status("x"), resources=AMOUNTS), "container c1 resources not changed"),
        (
            pod(RESIZED, status("x", resources={"limits": {"cpu": "1"}}), resources=AMOUNTS),
            "container c1 resources not changed",
        ),
        (
            pod(
                RESIZED,
                status("x", resources={"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}),
                resources=AMOUNTS,
            ),
            "",
        ),
    ],
)
def test_update_is_complete_when_containers_show_it(found: Pod, reason: str) -> None:
    assert unfinished(found) == reason


CPU = {"c1": Resources(requests={"cpu": "2"})}


@pytest.mark.parametrize(
    ("spec", "policy", "closes"),
    [
        (UpdateSpec(container_images={"c1": "x"}), "NotRequired", True),
        (UpdateSpec(container_resources=CPU), "NotRequired", False),
        (UpdateSpec(container_resources=CPU), "RestartContainer", True),
        (
            UpdateSpec(container_resources={"c1": Resources(limits={"memory": "1Gi"})}),
            "RestartContainer",
            False,
        ),
        (UpdateSpec(container_images={"c1": "x"}, container_resources=CPU), "NotRequired", True),
    ],
)
def test_gate_stays_open_for_a_resize_without_a_restart(spec: UpdateSpec, policy: str, closes: bool) -> None:
    found = pod(resizePolicy=[{"resourceName": "cpu", "restartPolicy": policy}])
    assert closes_gate(found, spec) is closes
