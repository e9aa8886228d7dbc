"""Marks and finalizers of volumes whose plugin left Kubernetes: cases of ``pv_controller_test.go``."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.controllers.volumes.volume_migration import (
    BETA_PROVISIONER,
    EXTERNAL_FINALIZER,
    IN_TREE_FINALIZER,
    MIGRATED_TO,
    PROVISIONED_BY,
    PROVISIONER,
    driver_of,
    missing_plugin,
    with_claim_marks,
    with_volume_marks,
)
from tests.support.workloads import claim, volume

PLUGIN, DRIVER = "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"
OTHER_PLUGIN, OTHER_DRIVER = "kubernetes.io/rbd", "rbd.csi.ceph.com"
CUSTOM = "test.volume.kubernetes.io/finalizer"


@pytest.mark.parametrize(
    ("provisioner", "before", "after"),
    [
        pytest.param(PLUGIN, None, DRIVER, id="a driver serves it"),
        pytest.param(OTHER_PLUGIN, None, None, id="no driver"),
        pytest.param(OTHER_PLUGIN, OTHER_DRIVER, None, id="no driver any more"),
        pytest.param(PLUGIN, OTHER_DRIVER, DRIVER, id="another driver before"),
        pytest.param("vendor.example.com", None, None, id="a program outside"),
        pytest.param(None, OTHER_DRIVER, OTHER_DRIVER, id="not provisioned"),
        pytest.param(None, None, None, id="no annotations"),
    ],
)
@pytest.mark.parametrize("key", [PROVISIONER, BETA_PROVISIONER, PROVISIONED_BY])
def test_marks_of_migration(key: str, provisioner: str | None, before: str | None, after: str | None) -> None:
    given = {key: provisioner, MIGRATED_TO: before}
    annotations = {name: text for name, text in given.items() if text is not None}
    wanted = {name: text for name, text in {**given, MIGRATED_TO: after}.items() if text is not None}
    if key == PROVISIONED_BY:
        held = volume("v")
        shown = with_volume_marks(
            structs.replace(held, metadata=structs.replace(held.metadata, annotations=annotations))
        ).metadata.annotations
    else:
        asked = claim()
        shown = with_claim_marks(
            structs.replace(asked, metadata=structs.replace(asked.metadata, annotations=annotations))
        ).metadata.annotations
    assert shown == wanted


@pytest.mark.parametrize(
    ("provisioner", "policy", "before", "after"),
    [
        pytest.param("vendor.example.com", "Delete", [EXTERNAL_FINALIZER], [EXTERNAL_FINALIZER], id="13-1"),
        pytest.param("vendor.example.com", "Delete", [], [], id="13-2"),
        pytest.param(OTHER_PLUGIN, "Delete", [CUSTOM], [CUSTOM, IN_TREE_FINALIZER], id="13-3"),
        pytest.param(OTHER_PLUGIN, "Delete", [], [IN_TREE_FINALIZER], id="13-4"),
        pytest.param(OTHER_PLUGIN, "Delete", [EXTERNAL_FINALIZER], [IN_TREE_FINALIZER], id="13-5"),
        pytest.param(
            OTHER_PLUGIN, "Delete", [EXTERNAL_FINALIZER, CUSTOM], [CUSTOM, IN_TREE_FINALIZER], id="13-6"
        ),
        pytest.param(
            PLUGIN, "Delete", [EXTERNAL_FINALIZER, IN_TREE_FINALIZER], [EXTERNAL_FINALIZER], id="13-7"
        ),
        pytest.param(None, "Delete", [EXTERNAL_FINALIZER], [EXTERNAL_FINALIZER], id="13-10"),
        pytest.param(None, "Delete", [], [], id="13-11"),
        pytest.param(OTHER_PLUGIN, "Retain", [], [], id="13-12"),
        pytest.param(OTHER_PLUGIN, "Recycle", [], [], id="13-13"),
        pytest.param(OTHER_PLUGIN, "Retain", [IN_TREE_FINALIZER], [], id="13-14"),
        pytest.param(OTHER_PLUGIN, "Delete", [IN_TREE_FINALIZER], [IN_TREE_FINALIZER], id="as it should be"),
    ],
)
def test_finalizers_until_the_storage_is_deleted(
    provisioner: str | None, policy: str, before: list[str], after: list[str]
) -> None:
    held = volume("v", persistent_volume_reclaim_policy=policy)
    annotations = {} if provisioner is None else {PROVISIONED_BY: provisioner}
    metadata = structs.replace(held.metadata, annotations=annotations, finalizers=tuple(before))
    held = structs.replace(held, metadata=metadata)
    marked = with_volume_marks(held)
    assert list(marked.metadata.finalizers) == after
    if provisioner != PLUGIN:
        assert (marked is held) == (before == after)


def test_former_plugins_are_known_by_their_drivers() -> None:
    assert [driver_of(each) for each in (PLUGIN, OTHER_PLUGIN, "vendor.example.com")] == [
        DRIVER,
        OTHER_PLUGIN,
        "vendor.example.com",
    ]
    assert [missing_plugin(each) for each in (PLUGIN, OTHER_PLUGIN, "vendor.example.com")] == [
        "",
        f"no volume plugin matched name: {OTHER_PLUGIN}",
        "",
    ]
