"""Steps of an update. Cases: ``TestDefaultPatchUpdateSpecToPod`` upstream."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import Pod
from podling_kruise.common_types import MetadataPart
from podling_kruise.inplace.pod_plan import next_step, waits_for
from podling_kruise.inplace.update_state import (
    ContainerBatch,
    ContainerState,
    PreCheck,
    UpdateSpec,
    UpdateState,
    update_state,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TIME = "2026-01-01T00:00:00Z"
READS_LABEL_2 = MetadataPart(labels={"label-k2": "bar"})


def container(name: str, priority: int, path: str) -> dict[str, Any]:
    barrier = {"configMapKeyRef": {"name": "barrier", "key": f"p_{priority}"}}
    return {
        "name": name,
        "image": f"{name}-img",
        "env": [
            {"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": barrier},
            {"name": "config", "valueFrom": {"fieldRef": {"fieldPath": path}}},
        ],
    }


POD = msgspec.convert(
    {
        "metadata": {
            "labels": {"label-k1": "foo", "label-k2": "foo"},
            "annotations": {"annotation-k1": "foo"},
            "finalizers": ["f1", "f2"],
        },
        "spec": {
            "containers": [
                container("c1", 20, "metadata.labels['label-k1']"),
                container("c2", 10, "metadata.labels['label-k2']"),
                container("c3", 0, "metadata.labels['label-k2']"),
                container("c4", 0, "metadata.annotations['annotation-k1']"),
            ]
        },
        "status": {
            "containerStatuses": [
                {"name": name, "imageID": f"containerd://{name}-img", "ready": name != "c1"}
                for name in ("c1", "c2", "c3", "c4")
            ]
        },
    },
    Pod,
)


def images(*names: str) -> dict[str, str]:
    return {name: f"{name}-img-new" for name in names}


def was(*names: str) -> dict[str, ContainerState]:
    return {name: ContainerState(image_id=f"containerd://{name}-img") for name in names}


def batches(*names: tuple[str, ...]) -> tuple[ContainerBatch, ...]:
    return tuple(ContainerBatch(timestamp=TIME, containers=each) for each in names)


def state(
    last: tuple[str, ...], *record: tuple[str, ...], left: tuple[str, ...] = (), **more: Any
) -> UpdateState:
    """Return the record after batches; ``left`` are the containers whose images are still to be changed."""
    check = PreCheck(containers_required_ready=record[-1]) if left or more else None
    return UpdateState(
        last_container_statuses=was(*last),
        container_batches_record=batches(*record),
        next_container_images=images(*left),
        pre_check_before_next=check,
        **more,
    )


@pytest.mark.parametrize(
    ("spec", "before", "after", "changed", "labels"),
    [
        (UpdateSpec(container_images=images("c1")), UpdateState(), state(("c1",), ("c1",)), ("c1",), {}),
        (
            UpdateSpec(container_images=images("c3", "c4")),
            UpdateState(),
            state(("c3", "c4"), ("c3", "c4")),
            ("c3", "c4"),
            {},
        ),
        (
            UpdateSpec(
                container_images=images("c3"),
                container_ref_metadata={"c4": MetadataPart(annotations={"annotation-k1": "bar"})},
            ),
            UpdateState(),
            state(("c3",), ("c3", "c4")),
            ("c3",),
            {"annotation-k1": "bar"},
        ),
        (
            UpdateSpec(container_images=images("c1", "c2")),
            UpdateState(),
            state(("c1",), ("c1",), left=("c2",)),
            ("c1",),
            {},
        ),
        (
            UpdateSpec(container_images=images("c2")),
            state(("c1",), ("c1",), left=("c2",)),
            state(("c1", "c2"), ("c1",), ("c2",)),
            ("c2",),
            {},
        ),
        (
            UpdateSpec(container_images=images("c1", "c2", "c4")),
            UpdateState(),
            state(("c1",), ("c1",), left=("c2", "c4")),
            ("c1",),
            {},
        ),
        (
            UpdateSpec(container_images=images("c2", "c4")),
            state(("c1",), ("c1",), left=("c2", "c4")),
            state(("c1", "c2"), ("c1",), ("c2",), left=("c4",)),
            ("c2",),
            {},
        ),
        (
            UpdateSpec(container_images=images("c4")),
            state(("c1", "c2"), ("c1",), ("c2",), left=("c4",)),
            state(("c1", "c2", "c4"), ("c1",), ("c2",), ("c4",)),
            ("c4",),
            {},
        ),
        (
            UpdateSpec(
                container_images=images("c1", "c2", "c4"),
                container_ref_metadata={"c2": READS_LABEL_2, "c3": READS_LABEL_2},
            ),
            UpdateState(),
            state(
                ("c1",),
                ("c1",),
                left=("c2", "c4"),
                next_container_ref_metadata={"c2": READS_LABEL_2, "c3": READS_LABEL_2},
            ),
            ("c1",),
            {},
        ),
        (
            UpdateSpec(
                container_images=images("c2", "c4"),
                container_ref_metadata={"c2": READS_LABEL_2, "c3": READS_LABEL_2},
            ),
            state(("c1",), ("c1",), left=("c2", "c4")),
            state(("c1", "c2"), ("c1",), ("c2", "c3"), left=("c4",)),
            ("c2",),
            {"label-k2": "bar"},
        ),
    ],
)
def test_batches_follow_launch_priorities(
    spec: UpdateSpec,
    before: UpdateState,
    after: UpdateState,
    changed: tuple[str, ...],
    labels: dict[str, str],
) -> None:
    step = next_step(POD, spec, before, NOW)
    assert step.state == after
    assert update_state(step.pod) == after
    expected = {each.name: each.image for each in POD.spec.containers} | images(*changed)
    assert {each.name: each.image for each in step.pod.spec.containers} == expected
    shown = {**step.pod.metadata.labels, **step.pod.metadata.annotations}
    assert {**shown, **labels} == shown


def test_containers_without_a_priority_change_with_the_first_batch() -> None:
    *others, last = POD.spec.containers
    plain = structs.replace(last, env=())
    pod = structs.replace(POD, spec=structs.replace(POD.spec, containers=(*others, plain)))
    step = next_step(pod, UpdateSpec(container_images=images("c1", "c2", "c4")), UpdateState(), NOW)
    assert step.state == state(("c1", "c4"), ("c1", "c4"), left=("c2",))


def test_image_of_before_the_update_stays_in_the_record() -> None:
    earlier = {"c1": ContainerState(image_id="earlier")}
    before = UpdateState(last_container_statuses=earlier)
    assert next_step(
        POD, UpdateSpec(container_images=images("c1")), before, NOW
    ).state.last_container_statuses == (earlier)


def test_metadata_changes_at_once_with_the_first_batch() -> None:
    patch = {
        "metadata": {
            "labels": {"label-k1": None, "new": "x"},
            "annotations": {"annotation-k1": "bar"},
            "$deleteFromPrimitiveList/finalizers": ["f1"],
            "finalizers": ["f3"],
        }
    }
    pod = next_step(POD, UpdateSpec(meta_data_patch=patch), UpdateState(), NOW).pod
    assert pod.metadata.labels == {"label-k2": "foo", "new": "x"}
    assert pod.metadata.annotations["annotation-k1"] == "bar"
    assert pod.metadata.finalizers == ("f2", "f3")


@pytest.mark.parametrize(
    ("required", "reason"),
    [
        ((), ""),
        (("c2",), ""),
        (("c1",), "waiting container c1 to be ready"),
        (("c9",), "not found container c9 in pod status"),
    ],
)
def test_next_batch_waits_for_the_last_one(required: tuple[str, ...], reason: str) -> None:
    check = PreCheck(containers_required_ready=required)
    assert waits_for(POD, UpdateState(pre_check_before_next=check)) == reason
