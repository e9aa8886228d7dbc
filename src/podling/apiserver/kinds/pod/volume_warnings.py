"""Warnings about valid volumes: sources that no longer work, and files with conflicting paths.

Upstream: ``pkg/api/pod/warnings.go``, ``pkg/api/persistentvolumeclaim/util.go``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from podling.api.core_v1 import ProjectedVolumeSource, Volume, VolumeProjection
from podling.apiserver.kinds.common import checks
from podling.machinery.fields import Path

DEPRECATED = (
    ("photon_persistent_disk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("git_repo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scale_io", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)
"""Attribute, JSON name and text."""

_NO_SOURCE = VolumeProjection()


class _File(NamedTuple):
    """A file in a volume, and its source (empty if there is only one)."""

    path: str
    source: str

    def __str__(self) -> str:
        shown = json.dumps(self.path, ensure_ascii=False)
        return f"{shown} ({self.source})" if self.source else shown


def volume_warnings(path: Path, volumes: tuple[Volume, ...]) -> list[str]:
    """Return the warnings. Volumes of common types are checked for conflicting files only."""
    found: list[str] = []
    overlaps: list[str] = []
    for position, volume in enumerate(volumes):
        if volume.projected is not None:
            overlaps += _projected_overlap_warnings(volume, volume.projected)
        elif volume.config_map is not None or volume.secret is not None or volume.downward_api is not None:
            overlaps += _overlap_warnings(volume)
        elif volume.empty_dir is None:
            found += _deprecation_warnings(path.index(position), volume)
    return found + overlaps


def _deprecation_warnings(path: Path, volume: Volume) -> Iterator[str]:
    for attribute, name, text in DEPRECATED:
        if getattr(volume, attribute) is not None:
            yield f"{path.child(name)}: {text}"
    if volume.ephemeral is not None:
        yield from _claim_warnings(path.child("ephemeral"), volume)


def _claim_warnings(path: Path, volume: Volume) -> Iterator[str]:
    template = volume.ephemeral and volume.ephemeral.volume_claim_template
    if template:
        resources, here = template.spec.resources, path.child("volumeClaimTemplate", "spec", "resources")
        yield from checks.fraction_warnings(here.child("requests"), resources.requests, ("storage",))
        yield from checks.fraction_warnings(here.child("limits"), resources.limits, ("storage",))


def _overlap_warnings(volume: Volume) -> Iterator[str]:
    """Yield warnings about a path of two keys, or of both a file and a directory."""
    if volume.config_map is not None:
        kind, items = f"ConfigMap {_quote(volume.config_map.name)}", volume.config_map.items
        yield from _collision_warnings(volume, kind, [_File(item.path, "") for item in items])
    if volume.secret is not None:
        kind, items = f"Secret {_quote(volume.secret.secret_name)}", volume.secret.items
        yield from _collision_warnings(volume, kind, [_File(item.path, "") for item in items])
    if volume.downward_api is not None:
        files = [_File(item.path, "") for item in volume.downward_api.items]
        yield from _collision_warnings(volume, "DownwardAPI", files)


def _projected_overlap_warnings(volume: Volume, projected: ProjectedVolumeSource) -> list[str]:
    """Return the conflicts between projected files; fast if there are none, as in token volumes."""
    paths: list[str] = []
    for source in projected.sources:
        paths += _paths(source)
    folders = {path.partition("/")[0] for path in paths}
    if len(folders) == len(paths) and _NO_SOURCE not in projected.sources:
        return []
    found: list[str] = []
    files: list[_File] = []
    for source in projected.sources:
        if source == _NO_SOURCE:
            found.append(f"volume {_quote(volume.name)} (Projected) has no sources provided")
        files += _projected_files(source)
    return found + list(_collision_warnings(volume, "Projected", files))


def _paths(source: VolumeProjection) -> list[str]:
    """Return the file paths of a source."""
    keyed = source.config_map or source.secret
    if keyed is not None:
        return [item.path for item in keyed.items]
    if source.downward_api is not None:
        return [item.path for item in source.downward_api.items]
    if source.service_account_token is not None:
        return [source.service_account_token.path]
    return [file.path for file in _projected_files(source)]


def _projected_files(source: VolumeProjection) -> list[_File]:
    """Return the files of a source; if several are set, of the first with explicit paths."""
    if source.config_map is not None and source.config_map.items:
        name = f"ConfigMap {_quote(source.config_map.name)}"
        return [_File(item.path, name) for item in source.config_map.items]
    if source.secret is not None and source.secret.items:
        return [_File(item.path, f"Secret {_quote(source.secret.name)}") for item in source.secret.items]
    if source.downward_api is not None and source.downward_api.items:
        return [_File(item.path, "DownwardAPI") for item in source.downward_api.items]
    if source.service_account_token is not None:
        return [_File(source.service_account_token.path, "ServiceAccountToken")]
    if source.cluster_trust_bundle is not None:
        bundle = source.cluster_trust_bundle
        known_as = bundle.signer_name if bundle.name is None else bundle.name
        return [_File(bundle.path, f"ClusterTrustBundle {_quote(known_as)}")]
    if source.pod_certificate is not None:
        certificate = source.pod_certificate
        files = (
            _File(certificate.certificate_chain_path or "", "PodCertificate chain"),
            _File(certificate.key_path or "", "PodCertificate key"),
            _File(certificate.credential_bundle_path or "", "PodCertificate credential bundle"),
        )
        return [file for file in files if file.path]
    return []


def _collision_warnings(volume: Volume, kind: str, files: Iterable[_File]) -> Iterator[str]:
    before: list[_File] = []
    for given in files:
        file = given._replace(path=given.path.rstrip("/"))
        for other in before:
            if file.path and other.path and _overlaps(file.path, other.path):
                yield f"volume {_quote(volume.name)} ({kind}): overlapping paths: {file} with {other}"
        before.append(file)


def _overlaps(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _quote(name: str | None) -> str:
    return json.dumps(name or "", ensure_ascii=False)
