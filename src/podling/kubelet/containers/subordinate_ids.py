"""The IDs that the machine's administrator has given the user ``kubelet``, as ``getsubids`` shows them.

They are read only if there is such a user: the answer may come from a server, so that none is an error
then (``getKubeletMappings`` in ``pkg/kubelet/kubelet_pods.go``).
"""

from __future__ import annotations

import pwd
import shutil
import subprocess

from podling.kubelet.containers.user_ids import Pool, default_pool, given_pool, subordinate_ids

USER = "kubelet"
SECONDS = 30.0


def read_subordinate_ids(user: str = USER, program: str = "getsubids") -> tuple[str, str] | None:
    """Return the output of ``getsubids`` for the user and for its group; None without user or program.

    Raises ``ValueError`` if it fails.
    """
    try:
        pwd.getpwnam(user)
    except KeyError:
        return None
    path = shutil.which(program)
    if path is None:
        return None
    return _output(path, user, "uids"), _output(path, user, "gids", "-g")


def pool_from(outputs: tuple[str, str] | None, count: int, max_pods: int) -> Pool:
    """Return the blocks of ``count`` IDs for the pods. Pure. Raises ``ValueError``."""
    if outputs is None:
        return default_pool(count)
    uids, gids = outputs
    if uids != gids:
        raise ValueError(f'kubelet mappings: mismatched subuids and subgids for user "{USER}"')
    try:
        first, length = subordinate_ids(uids)
    except ValueError as error:
        raise ValueError(f"kubelet mappings: {error}") from error
    return given_pool(first, length, count, max_pods)


def _output(path: str, user: str, what: str, *options: str) -> str:
    try:
        done = subprocess.run(
            [path, *options, user], capture_output=True, text=True, check=True, timeout=SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        code = getattr(error, "returncode", None)
        why = f"exit status {code}" if code is not None else str(error)
        raise ValueError(
            f'kubelet mappings: error retrieving additional {what} for user "{user}": {why}'
        ) from error
    return done.stdout
