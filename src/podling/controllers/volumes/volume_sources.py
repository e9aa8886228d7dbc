"""The data sources of claims: other claims of the namespace, whose content new volumes begin with. Pure.

Upstream counterpart: ``getPVCSource`` of ``kubernetes-csi/external-provisioner``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.controllers.volumes.volume_migration import PROVISIONED_BY, PROVISIONER
from podling.controllers.volumes.volume_rules import capacity, requested

CLAIM = ("", "PersistentVolumeClaim")
SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")


class NoVolume(Exception):
    """The claim wants what can never be had: its data source, or its attributes."""


class NotReady(Exception):
    """The data source of a claim that cannot be used yet."""


def source_of(claim: PersistentVolumeClaim) -> tuple[tuple[str, str], str] | None:
    """Return the group and kind, and the name, of the claim's data source."""
    source = claim.spec.data_source_ref or claim.spec.data_source
    return None if source is None else ((source.api_group or "", source.kind), source.name)


def waits_for(
    source: PersistentVolumeClaim, claims: Iterable[PersistentVolumeClaim]
) -> Iterator[PersistentVolumeClaim]:
    """Yield the unbound claims whose data source is this claim."""
    wanted = (CLAIM, source.metadata.name or "")
    for claim in claims:
        same = claim.metadata.namespace == source.metadata.namespace
        if same and not claim.spec.volume_name and source_of(claim) == wanted:
            yield claim


def source_name(claim: PersistentVolumeClaim) -> str:
    """Return the name of the claim that is the data source; empty without one. Raises ``NoVolume``."""
    found = source_of(claim)
    if found is None:
        return ""
    (group, kind), name = found
    if (group, kind) != CLAIM:
        text = f"{kind}.{group}" if group else kind
        raise NoVolume(f"the provisioner cannot make volumes from data sources of kind {text}")
    return name


def check_attributes(claim: PersistentVolumeClaim) -> None:
    """Raise ``NoVolume`` if the claim wants attributes: only drivers' volumes have them."""
    name = claim.spec.volume_attributes_class_name
    if name:
        raise NoVolume(f'VolumeAttributesClass "{name}" is not supported by the provisioner')


def check_source(
    claim: PersistentVolumeClaim, source: PersistentVolumeClaim, volume: PersistentVolume
) -> None:
    """Raise ``NoVolume`` if the claim's volume cannot begin with the content of ``volume``."""
    name = source.metadata.name
    if volume.metadata.annotations.get(PROVISIONED_BY) != claim.metadata.annotations.get(PROVISIONER):
        raise NoVolume(f"the PVC {name} was provisioned by another provisioner")
    wanted, held = (each.spec.volume_mode or "Filesystem" for each in (claim, source))
    if wanted != held:
        raise NoVolume(f"the source PVC {name} volumeMode {held} does not match the requested {wanted}")
    if requested(claim) < capacity(volume):
        text = "new PVC request must be greater than or equal in size to the specified PVC data source"
        raise NoVolume(f"error, {text}, requested {requested(claim)} but source is {capacity(volume)}")
