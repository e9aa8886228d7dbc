"""Termination messages: what a container leaves behind to say why it ended.

The message is read once, when the container is first seen to have ended, from the file that was mounted
at its ``terminationMessagePath``; under ``FallbackToLogsOnError`` the end of its log stands in when it
failed without writing one (``kuberuntime_container.go`` getTerminationMessage).
"""

from __future__ import annotations

from pathlib import Path

from podling.kubelet import labels
from podling.kubelet.blocking import blocking
from podling.runtime.base import Container, KeepsLogs, Runtime

MESSAGE_BYTES_MAX = 4096
LOG_BYTES_MAX = 2048
LOG_LINES_MAX = 80
POD_BYTES_MAX = 12 * 1024
"""All messages of one pod together; each container gets its even part."""


def log_tail(data: bytes) -> str:
    """The last lines of a log in CRI format, without times and streams, within both limits."""
    texts: list[bytes] = []
    for line in data.splitlines():
        parts = line.split(b" ", 3)
        if len(parts) == 4:
            texts.append(parts[3] + (b"\n" if parts[2].startswith(b"F") else b""))
    text = b"".join(texts)
    lines = text.splitlines(keepends=True)[-LOG_LINES_MAX:]
    return b"".join(lines)[-LOG_BYTES_MAX:].decode(errors="replace")


def joined(runtime_message: str, own: str) -> str:
    """What the runtime says, then what the container said."""
    return ": ".join(part for part in (runtime_message, own) if part)


async def termination_message(runtime: Runtime, container: Container, containers_in_pod: int = 1) -> str:
    """The message of a container that ended; empty if it left none."""
    limit = min(MESSAGE_BYTES_MAX, POD_BYTES_MAX // max(containers_in_pod, 1))
    path = container.annotations.get(labels.TERMINATION_MESSAGE_HOST_PATH)
    own = await blocking(_read_start, Path(path), limit) if path else ""
    policy = container.annotations.get(labels.TERMINATION_MESSAGE_POLICY)
    if not own and policy == "FallbackToLogsOnError" and container.exit_code:
        own = await _from_log(runtime, container)
    return joined(container.message, own)


def _read_start(path: Path, limit: int) -> str:
    try:
        with path.open("rb") as file:
            return file.read(limit).decode(errors="replace")
    except OSError:
        return ""


async def _from_log(runtime: Runtime, container: Container) -> str:
    if isinstance(runtime, KeepsLogs):
        buffer = runtime.log(container.log_path)
        return log_tail(buffer.read()) if buffer is not None else ""
    if not container.log_path:
        return ""
    return log_tail(await blocking(_read_end, Path(container.log_path)))


def _read_end(path: Path) -> bytes:
    """Enough of the file's end to hold the tail with its prefixes."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 16 * LOG_BYTES_MAX))
            data = file.read()
    except OSError:
        return b""
    return data if size <= 16 * LOG_BYTES_MAX else data.partition(b"\n")[2]
