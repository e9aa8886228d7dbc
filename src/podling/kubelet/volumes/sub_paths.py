"""``subPath`` and ``subPathExpr``: mounting only a part of a volume.

The part must lie inside the volume, also after every symbolic link on the way was followed: a container
that can write the volume must not be able to point its way out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from podling.api.core_v1 import VolumeMount
from podling.kubelet.expansion import expand, unresolved
from podling.kubelet.failures import StartFailure

CONFIG_ERROR = "CreateContainerConfigError"


def sub_path(mount: VolumeMount, environment: Mapping[str, str]) -> str:
    """The part of the volume that is mounted; empty for all of it. Raises ``StartFailure``."""
    part = mount.sub_path or ""
    if mount.sub_path_expr:
        missing = unresolved(mount.sub_path_expr, environment)
        if missing:
            raise StartFailure(CONFIG_ERROR, f"missing value for {missing[0]!r}".replace("'", '"'))
        part = expand(mount.sub_path_expr, environment)
    if not part:
        return ""
    if Path(part).is_absolute():
        raise StartFailure(CONFIG_ERROR, f"error SubPath `{part}` must not be an absolute path")
    if ".." in Path(part).parts:
        raise StartFailure(CONFIG_ERROR, f"unable to provision SubPath `{part}`: must not contain '..'")
    return part


def prepare_sub_path(volume: Path, part: str) -> Path:
    """The part's place on the node, made as a directory if nothing is there. Raises ``StartFailure``."""
    root = volume.resolve()
    target = (root / part).resolve()
    if not target.is_relative_to(root):
        raise StartFailure(
            CONFIG_ERROR, f"failed to prepare subPath for volumeMount: {part} leaves the volume"
        )
    try:
        if not target.exists():
            target.mkdir(mode=0o750, parents=True)
            target.chmod(root.stat().st_mode & 0o7777)
    except OSError as error:
        raise StartFailure(
            CONFIG_ERROR, f'failed to create subPath directory for volumeMount "{part}": {error}'
        ) from error
    return target
