"""Claims whose volumes begin with the content of another claim's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.controllers.volumes.volume_sources import (
    NoVolume,
    check_attributes,
    check_source,
    source_name,
    waits_for,
)

OURS = {"volume.kubernetes.io/storage-provisioner": "ours"}


def claim(name: str = "copy", size: str = "2Gi", **spec: Any) -> PersistentVolumeClaim:
    plain = {
        "metadata": {"name": name, "namespace": "default", "annotations": OURS},
        "spec": {"resources": {"requests": {"storage": size}}, **spec},
    }
    return msgspec.convert(plain, PersistentVolumeClaim)


def volume(size: str = "2Gi", provisioner: str = "ours") -> PersistentVolume:
    metadata = {"name": "pv", "annotations": {"pv.kubernetes.io/provisioned-by": provisioner}}
    return msgspec.convert({"metadata": metadata, "spec": {"capacity": {"storage": size}}}, PersistentVolume)


OF: dict[str, Any] = {"dataSource": {"kind": "PersistentVolumeClaim", "name": "data"}}
OF_REF: dict[str, Any] = {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "data"}}


@pytest.mark.parametrize(("spec", "name"), [({}, ""), (OF, "data"), (OF_REF, "data")])
def test_source_is_the_claim_that_either_field_names(spec: dict[str, Any], name: str) -> None:
    assert source_name(claim(**spec)) == name


def test_sources_of_other_kinds_cannot_be_used() -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    with pytest.raises(NoVolume, match=r"of kind VolumeSnapshot\.snapshot\.storage\.k8s\.io$"):
        source_name(claim(dataSource=source))


@pytest.mark.parametrize(
    ("wanted", "source", "held", "why"),
    [
        (claim(), claim("data"), volume(), None),
        (claim(size="3Gi"), claim("data"), volume(), None),
        (claim(size="1Gi"), claim("data"), volume(), "greater than or equal in size"),
        (claim(), claim("data"), volume(provisioner="theirs"), "by another provisioner"),
        (claim(volumeMode="Block"), claim("data"), volume(), "volumeMode Filesystem does not match"),
    ],
)
def test_source_has_to_fit(
    wanted: PersistentVolumeClaim, source: PersistentVolumeClaim, held: PersistentVolume, why: str | None
) -> None:
    if why is None:
        check_source(wanted, source, held)
        return
    with pytest.raises(NoVolume, match=why):
        check_source(wanted, source, held)


def test_attributes_cannot_be_had() -> None:
    check_attributes(claim())
    with pytest.raises(NoVolume, match='VolumeAttributesClass "gold" is not supported'):
        check_attributes(claim(volumeAttributesClassName="gold"))


def test_claims_wait_for_their_source_until_they_are_bound() -> None:
    waiting, bound = claim("one", **OF), claim("two", **OF, volumeName="pv")
    assert list(waits_for(claim("data"), [waiting, bound, claim("three")])) == [waiting]
