"""``fileKeyRef``: one variable read from a file of ``NAME=value`` lines in a volume of the pod.

An init container writes the file, so it is read when the container that uses it starts. Empty lines and
lines that begin with ``#`` are skipped, values may be quoted. Any other line fails the container: a
variable that is missing without an error would be worse (``pkg/kubelet/util/env``).
"""

from __future__ import annotations

import os
from pathlib import Path

from podling.api.core_v1 import FileKeySelector
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.failures import MissingReference
from podling.runtime.oci.linux import open_file_in_root

MAX_BYTES = 64 * 1024


def parse_env_file(text: str) -> dict[str, str]:
    """Return the variables of a file. Raises ``ValueError`` with the number of the first malformed line."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, value = stripped.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"line {number}: no NAME=value")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[name.strip()] = value
    return found


async def read_env_file(pod_uid: str, volume: Path | None, selector: FileKeySelector) -> str | None:
    """Return the variable that ``selector`` names, None if it is missing and optional.

    Raises ``MissingReference``.
    """
    try:
        text = await blocking_for_pod(pod_uid, _read, volume, selector)
        found = parse_env_file(text)
    except (OSError, ValueError) as error:
        if selector.optional and isinstance(error, FileNotFoundError):
            return None
        raise MissingReference(f"couldn't parse env file {selector.path}: {error}") from error
    if selector.key in found:
        return found[selector.key]
    if selector.optional:
        return None
    raise MissingReference(f"environment variable key {selector.key} not found in file {selector.path}")


def _read(volume: Path | None, selector: FileKeySelector) -> str:
    if volume is None:
        raise FileNotFoundError(f"volume {selector.volume_name} is not mounted")
    with os.fdopen(open_file_in_root(volume, selector.path), "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(f"larger than {MAX_BYTES} bytes")
    return data.decode(errors="surrogateescape")
