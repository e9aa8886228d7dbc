"""Pods after a step of an update: the versions of hot upgrades, and the condition of all SidecarSets."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from podling_kruise.sidecarset.annotations import (
    WORKING_CONTAINERS,
    version_alt_annotation,
    version_annotation,
    working_containers,
)
from podling_kruise.sidecarset.pod_update import upgradable_condition, with_empty_images, with_new_images
from podling_kruise.sidecarset.types import SidecarSet
from tests.support.sidecar_sets import sidecar_set

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOT = {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:1"}


def hot_set() -> SidecarSet:
    plain = sidecar_set(containers=[{"name": "hot", "image": "hot:2", "upgradeStrategy": HOT}])
    plain["metadata"]["resourceVersion"] = "7"
    return codec.from_plain(plain, SidecarSet)


def versions(pod: Pod) -> dict[str, tuple[str | None, str | None]]:
    """Return the version of each container, and that of the other one beside it."""
    found = pod.metadata.annotations
    return {
        name: (found.get(version_annotation(name)), found.get(version_alt_annotation(name)))
        for name in ("hot-1", "hot-2")
    }


def test_containers_of_a_hot_upgrade_know_the_versions_of_both() -> None:
    annotations = {
        WORKING_CONTAINERS: '{"hot":"hot-1"}',
        version_annotation("hot-1"): "1",
        version_alt_annotation("hot-1"): "0",
        version_annotation("hot-2"): "0",
        version_alt_annotation("hot-2"): "1",
    }
    containers = [{"name": "hot-1", "image": "hot:1"}, {"name": "hot-2", "image": "empty:1"}]
    plain = {"metadata": {"name": "web", "annotations": annotations}, "spec": {"containers": containers}}
    begun = with_new_images(hot_set(), msgspec.convert(plain, Pod), NOW)
    assert [each.image for each in begun.spec.containers] == ["hot:1", "hot:2"]
    assert working_containers(begun) == {"hot": "hot-2"}
    assert versions(begun) == {"hot-1": ("1", "7"), "hot-2": ("7", "1")}
    ended = with_empty_images(hot_set(), begun, NOW)
    assert [each.image for each in ended.spec.containers] == ["empty:1", "hot:2"]
    assert versions(ended) == {"hot-1": ("0", "7"), "hot-2": ("7", "0")}


@pytest.mark.parametrize(
    ("message", "upgradable", "status"),
    [
        ("", True, "True"),
        ("", False, "False"),
        ('{"other":false}', True, "False"),
        ('{"other":true}', True, "True"),
        ('{"sidecars":false}', True, "True"),
        ("nonsense", True, "True"),
    ],
)
def test_condition_is_true_when_all_sidecar_sets_can_be_updated(
    message: str, upgradable: bool, status: str
) -> None:
    conditions = [{"type": "SidecarSetUpgradable", "status": "False", "message": message}] if message else []
    found = upgradable_condition(
        "sidecars", msgspec.convert({"status": {"conditions": conditions}}, Pod), upgradable=upgradable
    )
    assert found is not None
    reason = "AllSidecarsetUpgradable" if status == "True" else "UpdateImmutableField"
    assert (found.status, found.reason) == (status, reason)
