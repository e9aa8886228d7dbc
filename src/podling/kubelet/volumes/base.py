"""What a kind of volume has to offer, and what it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from podling.api.core_v1 import Pod, Volume
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.kubelet.references import References


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """What volume files may tell beside the API's objects: addresses and the node's resources."""

    host_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeTools:
    """What every plugin works with."""

    deps: KubeletDeps
    directories: Directories
    references: References

    @property
    def write(self) -> bool:
        """Whether anything is written at all (see ``KubeletConfig.write_files``)."""
        return self.deps.config.write_files


@dataclass(frozen=True, slots=True)
class Mounted:
    """A volume that is there. ``read_only`` holds whatever the mounts say."""

    path: Path
    read_only: bool = False
    made_for_container: bool = False
    """Nothing needs to be at the path: a container that mounts it whole finds a directory there."""


class VolumePlugin(Protocol):
    """One kind of volume.

    ``set_up`` is called until it succeeds, and again for volumes whose source may change: it must find
    work already done and leave it. It raises ``VolumeFailure``.
    """

    plugin_name: str
    """Kubernetes' name with ``/`` made ``~``: the directory that its volumes lie in."""
    changes: bool
    """Whether the source may change while the pod lives, so that it is to be looked at again."""

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted: ...
