"""``subPath`` and ``subPathExpr``: mounting only a part of a volume.

The part must lie inside the volume after every symbolic link was followed: a container that can write the
volume must not lead a mount out of it. A missing directory is created here, and a path that leaves the
volume is refused. The runtime resolves the path again when it mounts, since both may have changed by then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from podling.api.core_v1 import VolumeMount
from podling.files.beneath import make_directory_beneath, opened_beneath
from podling.kubelet.expansion import expand, unresolved
from podling.kubelet.failures import StartFailure

CONFIG_ERROR = "CreateContainerConfigError"

logger = logging.getLogger(__name__)


def sub_path(mount: VolumeMount, environment: Mapping[str, str]) -> str:
    """Return the part of the volume that is mounted; empty for all of it. Raises ``StartFailure``."""
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


def prepare_sub_path(volume: Path, part: str, mount: str, container: str) -> None:
    """Create the directory ``part`` of the volume if nothing is there. Raises ``StartFailure``.

    The message does not mention the node's files; only the log has details.
    """
    of = f'for volumeMount "{mount}" of container "{container}"'
    try:
        make_directory_beneath(volume, part)
    except OSError as error:
        logger.warning("failed to create subPath %s in %s: %s", part, volume, error)
        raise StartFailure(CONFIG_ERROR, f"failed to create subPath directory {of}") from error
    try:
        with opened_beneath(volume, part):
            return
    except OSError as error:
        logger.warning("failed to prepare subPath %s in %s: %s", part, volume, error)
        raise StartFailure(CONFIG_ERROR, f"failed to prepare subPath {of}") from error
