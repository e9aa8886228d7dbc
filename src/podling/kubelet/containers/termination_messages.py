"""Termination messages of containers.

The message is read once, when the container is first seen to have ended, from the file that was mounted
at its ``terminationMessagePath``. Under ``FallbackToLogsOnError`` a container that failed without a message
gets the end of its log instead (``kuberuntime_container.go`` getTerminationMessage).

A file that is too long is read from its end. Messages share a limit per pod; what exceeds a container's
part of it is cut at the end of the message.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from podling.kubelet import labels
from podling.kubelet.blocking import blocking_for_pod
from podling.runtime.base import Container, KeepsLogs, Runtime

MESSAGE_BYTES_MAX = 4096
LOG_BYTES_MAX = 2048
LOG_LINES_MAX = 80
POD_BYTES_MAX = 12 * 1024
"""The limit for all messages of one pod together; each container gets an equal part."""


def log_tail(data: bytes) -> str:
    """Return the last lines of a log in CRI format, without times and streams, within both limits."""
    texts: list[bytes] = []
    for line in data.splitlines():
        parts = line.split(b" ", 3)
        if len(parts) == 4:
            texts.append(parts[3] + (b"\n" if parts[2].startswith(b"F") else b""))
    text = b"".join(texts)
    lines = text.splitlines(keepends=True)[-LOG_LINES_MAX:]
    return b"".join(lines)[-LOG_BYTES_MAX:].decode(errors="replace")


def join_messages(runtime_message: str, own: str) -> str:
    """Return the runtime's message, then the container's own."""
    return ": ".join(part for part in (runtime_message, own) if part)


async def termination_message(runtime: Runtime, container: Container, containers_in_pod: int = 1) -> str:
    """Return the message of a container that ended, empty if it left none or none can be read."""
    pod_uid = container.labels.get(labels.POD_UID, "")
    path = container.annotations.get(labels.TERMINATION_MESSAGE_HOST_PATH)
    own = await _end_of(pod_uid, Path(path), MESSAGE_BYTES_MAX) if path else b""
    policy = container.annotations.get(labels.TERMINATION_MESSAGE_POLICY)
    text = own.decode(errors="replace")
    if not own and policy == "FallbackToLogsOnError" and container.exit_code:
        text = await _from_log(pod_uid, runtime, container)
    whole = join_messages(container.message, text).encode()
    return whole[: POD_BYTES_MAX // max(containers_in_pod, 1)].decode(errors="ignore")


async def _from_log(pod_uid: str, runtime: Runtime, container: Container) -> str:
    if isinstance(runtime, KeepsLogs):
        buffer = runtime.log(container.log_path)
        return log_tail(buffer.read()) if buffer is not None else ""
    if not container.log_path:
        return ""
    # Enough of the log's end to hold the tail with its prefixes.
    data = await _end_of(pod_uid, Path(container.log_path), 16 * LOG_BYTES_MAX)
    return log_tail(data if len(data) < 16 * LOG_BYTES_MAX else data.partition(b"\n")[2])


async def _end_of(pod_uid: str, path: Path, limit: int) -> bytes:
    """Return the last bytes of a file, none if it cannot be read."""
    try:
        return await blocking_for_pod(pod_uid, _read_end, path, limit)
    except OSError:
        return b""


def _read_end(path: Path, limit: int) -> bytes:
    """Return the last bytes of a regular file. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        file.seek(max(0, status.st_size - limit))
        return file.read(limit)
