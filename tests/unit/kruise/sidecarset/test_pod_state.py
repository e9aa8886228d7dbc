"""The state of injected pods. The cases are those of OpenKruise's ``sidecarcontrol/util_test.go``."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import ContainerStatus, Pod, PodCondition, PodStatus
from podling.machinery.encoding import codec
from podling_kruise.sidecarset.annotations import UPDATE_STATE, WORKING_CONTAINERS
from podling_kruise.sidecarset.pod_state import can_reset, container_to_upgrade, is_consistent, is_pod_ready
from podling_kruise.sidecarset.types import SidecarSet
from tests.support.sidecar_sets import pod, sidecar_set

HOT = {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:v1"}
OWNER = codec.from_plain(
    sidecar_set(
        containers=[
            {"name": "cold", "image": "cold:v1"},
            {"name": "hot", "image": "hot:v1", "upgradeStrategy": HOT},
        ]
    ),
    SidecarSet,
)
IMAGES = {"main": "main:v1", "cold": "cold:v1", "hot-1": "hot:v1", "hot-2": "empty:v1"}


def made(
    images: Mapping[str, str] = {},
    shown: Mapping[str, str] = {},
    before: Mapping[str, str] | None = None,
    working: str = "hot-1",
    not_ready: tuple[str, ...] = (),
) -> Pod:
    """Return a pod. ``shown``: images in its status; ``before``: image IDs that its record has."""
    spec = {**IMAGES, **images}
    status = {**spec, **shown}
    found = pod(containers=[{"name": name, "image": image} for name, image in spec.items()])
    annotations = {WORKING_CONTAINERS: msgspec.json.encode({"hot": working}).decode()}
    if before is not None:
        last = {name: {"imageID": f"id-{image}"} for name, image in before.items()}
        annotations[UPDATE_STATE] = msgspec.json.encode(
            {"sidecars": {"revision": "r", "updateTimestamp": "t", "lastContainerStatuses": last}}
        ).decode()
    statuses = tuple(
        ContainerStatus(name=name, image=image, image_id=f"id-{image}", ready=name not in not_ready)
        for name, image in status.items()
    )
    ready = PodCondition(type="Ready", status="False" if not_ready else "True")
    return structs.replace(
        found,
        metadata=structs.replace(found.metadata, annotations=annotations),
        status=PodStatus(phase="Running", conditions=(ready,), container_statuses=statuses),
    )


@pytest.mark.parametrize(
    ("found", "consistent"),
    [
        (made(), True),
        (made({"cold": "cold:v2"}, {"cold": "cold:v1"}, {"cold": "cold:v1"}), False),
        (made({"cold": "cold:v2"}, {}, {"cold": "cold:v1"}), True),
        (made({"hot-2": "hot:v2"}, {"hot-2": "empty:v1"}, {"hot-2": "empty:v1"}), False),
        (
            made(
                {"hot-2": "hot:v2", "hot-1": "empty:v1"},
                {"hot-1": "hot:v1"},
                {"hot-2": "empty:v1", "hot-1": "hot:v1"},
            ),
            False,
        ),
        (
            made({"hot-2": "hot:v2", "hot-1": "empty:v1"}, {}, {"hot-2": "empty:v1", "hot-1": "hot:v1"}),
            True,
        ),
    ],
)
def test_update_is_complete_when_image_ids_have_changed(found: Pod, consistent: bool) -> None:
    assert is_consistent(OWNER, found) is consistent


@pytest.mark.parametrize(("image_id", "consistent"), [("r@sha256:a", True), ("r@sha256:b", False)])
def test_images_with_digests_are_compared_with_the_status(image_id: str, consistent: bool) -> None:
    found = made({"cold": "r@sha256:a"})
    statuses = tuple(
        structs.replace(each, image_id=image_id) if each.name == "cold" else each
        for each in found.status.container_statuses
    )
    found = structs.replace(found, status=structs.replace(found.status, container_statuses=statuses))
    assert is_consistent(OWNER, found, ("cold",)) is consistent


def test_pod_without_all_statuses_is_not_consistent() -> None:
    found = made()
    status = structs.replace(found.status, container_statuses=found.status.container_statuses[:2])
    assert not is_consistent(OWNER, structs.replace(found, status=status))


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        (made(), "hot-2"),
        (made({"hot-1": "empty:v1", "hot-2": "hot:v1"}), "hot-1"),
        (made({"hot-2": "hot:v2"}, not_ready=("hot-2",)), "hot-2"),
        (made({"hot-2": "hot:v2"}, not_ready=("hot-1",)), "hot-1"),
        (made({"hot-2": "hot:v2"}, working="hot-2", not_ready=("hot-2",)), "hot-2"),
        (made({"hot-2": "hot:v2"}, working="hot-2"), "hot-1"),
    ],
)
def test_hot_upgrade_takes_the_empty_the_broken_or_the_older_container(found: Pod, chosen: str) -> None:
    assert container_to_upgrade(OWNER, OWNER.spec.containers[1], found)[0] == chosen


@pytest.mark.parametrize(
    ("found", "resettable", "ready"),
    [
        (made(), False, True),
        (made({"hot-2": "hot:v2"}, working="hot-2"), True, False),
        (
            made({"hot-2": "hot:v2"}, {"hot-2": "empty:v1"}, {"hot-2": "empty:v1"}, working="hot-2"),
            False,
            False,
        ),
        (made({"hot-2": "hot:v2"}, working="hot-2", not_ready=("hot-1",)), True, False),
        (made({"hot-2": "hot:v2"}, working="hot-2", not_ready=("hot-2",)), False, False),
        (made(not_ready=("main",)), False, False),
    ],
)
def test_older_container_becomes_empty_when_all_others_are_ready(
    found: Pod, resettable: bool, ready: bool
) -> None:
    assert (can_reset(OWNER, found), is_pod_ready(OWNER, found)) == (resettable, ready)
