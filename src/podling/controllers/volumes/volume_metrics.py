"""Counts of volumes and claims, under Kubernetes' names.

Source: ``pkg/controller/volume/persistentvolume/metrics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.machinery.histograms import gauges

_PLUGINS = {
    "host_path": "kubernetes.io/host-path",
    "local": "kubernetes.io/local-volume",
    "nfs": "kubernetes.io/nfs",
    "iscsi": "kubernetes.io/iscsi",
    "fc": "kubernetes.io/fc",
}
"""Names of what Kubernetes mounts itself, by the field of a volume's source."""


def volume_families(
    volumes: Iterable[PersistentVolume], claims: Iterable[PersistentVolumeClaim]
) -> Iterator[Any]:
    """Yield families of ``prometheus_client``: how many there are, and how many of them are bound."""
    kinds: Counter[tuple[str, ...]] = Counter()
    of_volumes: dict[bool, Counter[tuple[str, ...]]] = {True: Counter(), False: Counter()}
    of_claims: dict[bool, Counter[tuple[str, ...]]] = {True: Counter(), False: Counter()}
    for volume in volumes:
        kinds[plugin_name(volume), volume.spec.volume_mode or "Filesystem"] += 1
        of_volumes[volume.status.phase == "Bound"][volume.spec.storage_class_name or "",] += 1
    for claim in claims:
        spec = claim.spec
        classes = spec.storage_class_name or "", spec.volume_attributes_class_name or ""
        of_claims[claim.status.phase == "Bound"][claim.metadata.namespace or "", *classes] += 1
    text = "total number of persistent volumes"
    yield _family("total_pv_count", text, ("plugin_name", "volume_mode"), kinds)
    for is_bound, name in ((True, "bound"), (False, "unbound")):
        text = f"number of persistent volume currently {name}"
        yield _family(f"{name}_pv_count", text, ("storage_class",), of_volumes[is_bound])
        text = f"number of persistent volume claim currently {name}"
        labels = ("namespace", "storage_class", "volume_attributes_class")
        yield _family(f"{name}_pvc_count", text, labels, of_claims[is_bound])


def plugin_name(volume: PersistentVolume) -> str:
    """Return who mounts a volume, for a CSI driver with its name; ``N/A`` if that is not known."""
    if volume.spec.csi is not None:
        return f"kubernetes.io/csi:{volume.spec.csi.driver}"
    return next((name for field, name in _PLUGINS.items() if getattr(volume.spec, field) is not None), "N/A")


def _family(name: str, text: str, labels: tuple[str, ...], found: Mapping[tuple[str, ...], int]) -> Any:
    values = {key: float(count) for key, count in found.items()}
    return gauges(f"pv_collector_{name}", f"[ALPHA] Gauge measuring {text}", labels, values)
