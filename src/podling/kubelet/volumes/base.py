"""The interface of volume plugins, and the values that they use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from podling.api.core_v1 import Pod, Volume
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.kubelet.references import References


class VolumeFacts(Struct, frozen=True):
    """Facts for volume files that no API object holds: addresses and the node's resources."""

    host_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)


class VolumeTools(Struct, frozen=True):
    """The collaborators of every plugin."""

    deps: KubeletDeps
    directories: Directories
    references: References

    @property
    def write(self) -> bool:
        """Return whether files are written at all (see ``KubeletConfig.write_files``)."""
        return self.deps.config.write_files


class Mounted(Struct, frozen=True):
    """A volume that is set up. ``read_only`` overrides the mounts."""

    path: Path
    read_only: bool = False
    made_for_container: bool = False
    """The path may be missing: a directory is created when a container mounts the whole volume."""


class VolumePlugin(Protocol):
    """One kind of volume.

    ``set_up`` is called until it succeeds, and again for volumes whose source may change. It must be
    idempotent. It raises ``VolumeFailure``.
    """

    plugin_name: str
    """Kubernetes' name with ``~`` for ``/``: the name of the directory with its volumes."""
    changes: bool
    """True if the source may change while the pod runs, so it is read again."""

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted: ...
